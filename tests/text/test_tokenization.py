from functools import cache

import pytest
import sacremoses
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_detokenizing_reverses_tokenizing(english: MosesTokenizer) -> None:
    text = 'He said, "It is my father\'s (old) house."'
    assert english.detokenize(english.tokenize(text)) == text


@pytest.mark.parametrize("text", ["", "   ", "\t"])
def test_a_blank_line_has_no_tokens(english: MosesTokenizer, text: str) -> None:
    assert english.tokenize(text) == []
    assert english.detokenize([]) == ""


@pytest.mark.parametrize("name", ["a.de", "a.de.gz", "a.de.jsonl", "a.de.jsonl.gz", "dir.fi/a.de"])
def test_file_suffixes_determine_the_language(name: str) -> None:
    assert with_languages({}, name, "a.jsonl") == {"source_language": "de"}
    assert with_languages({"source_language": "fi"}, name, None) == {"source_language": "fi"}


RULED = st.text(
    st.one_of(st.sampled_from("aA. ,'-5\t"), st.sampled_from('sdzéß0"`()%…/&@\x07\u3000\u00a0x中'), st.characters()),
    max_size=40,
)
CHUNKS = [
    *["Mr.", "No.", "e.g.", "U.S.", "DOTMULTI", "isn't", "'s", "'", "''", "...", "1,000", "5,", "Hello,", "well."],
    *["z.B.", "l'eau,", "x-y.", "(No.", "5)", "xQx.", "“Ja”,", "d.h."],
]


@cache
def tokenizers(language: str) -> tuple[MosesTokenizer, sacremoses.MosesTokenizer]:
    return MosesTokenizer(language), sacremoses.MosesTokenizer(lang=language)


@pytest.mark.parametrize("language", ["en", "de", "fr", "fi", "zh"])
@settings(max_examples=100)
@given(data=st.data())
def test_cached_words_follow_the_rules(language: str, data: st.DataObject) -> None:
    """The reference is sacremoses on each whole text."""
    remembering, rules = tokenizers(language)
    chunk = st.one_of(st.sampled_from(CHUNKS), RULED, st.sampled_from(rules.NONBREAKING_PREFIXES).map("{}.".format))
    for text in data.draw(st.lists(st.lists(chunk).map(" ".join), min_size=1, max_size=4)):
        assert remembering.tokenize(text) == rules.tokenize(text, escape=False)
