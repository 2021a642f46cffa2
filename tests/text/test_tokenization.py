import pytest

from synmt.text.tokenization import MosesTokenizer, with_languages


@pytest.fixture(scope="module")
def english() -> MosesTokenizer:
    return MosesTokenizer("en")


def test_moses_splits_punctuation_and_keeps_abbreviations(english: MosesTokenizer) -> None:
    tokens = english.tokenize("Mr. Smith isn't here, e.g. today.")
    assert tokens == ["Mr.", "Smith", "isn", "'t", "here", ",", "e.g.", "today", "."]


def test_nothing_is_escaped_as_html(english: MosesTokenizer) -> None:
    text = '"Q & A" | [x] <y> it\'s &amp;'
    tokens = english.tokenize(text)
    assert "".join(tokens) == text.replace(" ", "")
    assert english.detokenize(["&amp;", "&", "|"]) == "&amp; & |"


def test_detokenizing_undoes_tokenizing(english: MosesTokenizer) -> None:
    text = 'He said, "It is my father\'s (old) house."'
    assert english.detokenize(english.tokenize(text)) == text


@pytest.mark.parametrize("text", ["", "   ", "\t"])
def test_a_blank_line_has_no_tokens(english: MosesTokenizer, text: str) -> None:
    assert english.tokenize(text) == []
    assert english.detokenize([]) == ""


@pytest.mark.parametrize("name", ["a.de", "a.de.gz", "a.de.jsonl", "a.de.jsonl.gz", "dir.fi/a.de"])
def test_the_language_is_the_suffix_of_text_or_records(name: str) -> None:
    assert with_languages({}, name, "a.jsonl") == {"source_language": "de"}
    assert with_languages({"source_language": "fi"}, name, None) == {"source_language": "fi"}
