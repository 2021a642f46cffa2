import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.parsers.parser import SpacyTokenizer, Tokenized, split_sentences, tokenize
from synmt.text.tokenization import spaces_after

ENGLISH = SpacyTokenizer("en")
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
    st.lists(st.sampled_from(["Mr.", "don't", "a,b", '"', "(", "!", ".", "U.S.", "\u2028", "\t", " ", "😀"])).map(
        "".join
    ),
)


def spelt(line: Tokenized) -> str:
    tokens = [token for tokens in line.sentences for token in tokens]
    return "".join(token + " " * space for token, space in zip(tokens, line.spaces, strict=True))


@given(text=TEXTS)
def test_tokens_and_spaces_spell_the_text(text: str) -> None:
    line = tokenize(text, ENGLISH.split)
    assert spelt(line) == " ".join(text.split())
    assert all(token.split() == [token] for tokens in line.sentences for token in tokens)
    assert all(line.sentences)


@given(text=TEXTS, tokens=st.lists(st.text(max_size=3), max_size=5))
def test_a_tokenizer_that_loses_text_is_ignored(text: str, tokens: list[str]) -> None:
    line = tokenize(text, lambda _: [tokens])
    assert spelt(line) == " ".join(text.split())


def test_english_tokens() -> None:
    line = tokenize(" “Don't,”  she said (softly). ", ENGLISH.split)
    assert line.sentences == [["“", "Do", "n't", ",", "”", "she", "said", "(", "softly", ")", "."]]
    assert line.sentence_spaces() == [[False, False, False, False, True, True, True, False, False, False, False]]
    assert line.text == " “Don't,”  she said (softly). "


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("He is here. She is not.", ["He is here .", "She is not ."]),
        ("Mr. Smith left the U.S. yesterday.", ["Mr. Smith left the U.S. yesterday ."]),
        ('"Stop!" he said.', ['" Stop ! " he said .']),
        ("“Stop!” He left.", ["“ Stop ! ”", "He left ."]),
        ("See no . 5 here", ["See no . 5 here"]),
        ("Who? (Nobody.) I?", ["Who ?", "( Nobody . )", "I ?"]),
        (". . A", [". .", "A"]),
        ("no end", ["no end"]),
        ("the end . ", ["the end ."]),
    ],
)
def test_sentences_end_only_before_a_capital(text: str, sentences: list[str]) -> None:
    assert tokenize(text, ENGLISH.split).sentences == [sentence.split() for sentence in sentences]


def test_no_sentence_ends_without_a_space() -> None:
    assert split_sentences(["Yahoo", "!", "Inc"], [False, False, False]) == [["Yahoo", "!", "Inc"]]


def test_tokens_that_do_not_spell_the_text_have_unknown_spaces() -> None:
    assert spaces_after(["a", "b"], "a b") == [True, False]
    for tokens in (["a"], ["a", "c"], ["a", "b", "c"], ["a", "", "b"], ["a b"]):
        assert spaces_after(tokens, "a b") is None


def test_a_line_of_tokens_is_one_sentence() -> None:
    line = tokenize(["Stop", "!", "He", "left", "", " "], ENGLISH.split)
    assert line == Tokenized("Stop ! He left", [["Stop", "!", "He", "left"]], [True, True, True, False])


@pytest.mark.parametrize("text", ["a\0b", "a\ud800"])
def test_text_that_is_not_valid_unicode_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        tokenize(text, ENGLISH.split)
    with pytest.raises(ValueError):
        tokenize([text], ENGLISH.split)
