from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.streams import read_lines
from synmt.trees.dependency import depths, realigned
from synmt.trees.formats import conllu_blocks, read_conllu, written
from synmt.trees.record import ParseRecord, RecordError
from tests.trees.strategies import dependency_records

UD = Path(__file__).parents[2] / ".." / "shared" / "data" / "ud"
KNOW = ParseRecord(
    text="I don't know U.S. steel.",
    tokens=["I", "do", "n't", "know", "U.S.", "steel", "."],
    spaces=[True, False, False, True, True, False, False],
    upos=["PRON", "AUX", "PART", "VERB", "PROPN", "NOUN", "PUNCT"],
    heads=[4, 4, 4, 0, 6, 4, 4],
    deprels=["nsubj", "aux", "advmod", "root", "compound", "obj", "punct"],
)


def columns(words: str) -> list[tuple[str, int, str, str, bool]]:
    found = realigned(KNOW, words.split())
    found.check()
    return list(zip(found.tokens, found.heads, found.deprels, found.upos, found.spaces, strict=True))


def test_a_word_inherits_from_its_highest_token() -> None:
    assert columns("I don't know U.S. steel .")[:3] == [
        ("I", 3, "nsubj", "PRON", True),
        ("don't", 3, "aux", "AUX", False),
        ("know", 0, "root", "VERB", True),
    ]
    assert columns("I don'tknow U.S. steel .")[1] == ("don'tknow", 0, "root", "VERB", True)


def test_overlapping_words_and_tokens() -> None:
    assert columns("I don 't know U.S. steel .")[1:3] == [
        ("don", 4, "aux", "AUX", False),
        ("'t", 4, "advmod", "PART", False),
    ]


def test_further_words_of_a_token_attach_to_the_first() -> None:
    assert columns("I do n't know U. S. steel .")[4:7] == [
        ("U.", 7, "compound", "PROPN", False),
        ("S.", 5, "goeswith", "X", True),
        ("steel", 4, "obj", "NOUN", False),
    ]


def test_other_characters_are_refused() -> None:
    with pytest.raises(RecordError, match="do not spell the same text"):
        realigned(KNOW, ["I"])
    with pytest.raises(RecordError):
        realigned(ParseRecord(tokens=["a", "b"], heads=[2, 1]), ["ab"])
    assert realigned(ParseRecord(tokens=["a", "b"]), ["ab"]) == ParseRecord(tokens=["ab"])


def test_sentences_keep_their_own_words() -> None:
    two = ParseRecord(tokens=["I", "do", "n't", ".", "Ok", "."], heads=[2, 0, 2, 2, 0, 5], sentences=[4, 2])
    found = realigned(two, ["I", "don't", ".", "O", "k", "."])
    assert (found.heads, found.sentences) == ([2, 0, 2, 0, 4, 4], [3, 3])
    found.check()


@st.composite
def other_words(draw: st.DrawFn, tokens: Sequence[str]) -> list[str]:
    characters = "".join(tokens)
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(characters) - 1)))))
    words = [characters[a:b] for a, b in zip([0, *cuts], [*cuts, len(characters)], strict=True)]
    return [word for word in words if word]


@given(record=dependency_records(), data=st.data())
def test_realigned_trees_are_trees(record: ParseRecord, data: st.DataObject) -> None:
    words = data.draw(other_words(record.tokens))
    found = realigned(record, words)
    found.check()
    assert found.tokens == words
    assert realigned(record, record.tokens) == record
    for word, depth in zip(found.tokens, depths(found.heads), strict=True):
        assert depth <= max(depths(record.heads)) + 1, word


@given(record=dependency_records())
def test_spaces_follow_the_last_token_of_a_word(record: ParseRecord) -> None:
    words = written(record).split()
    found = realigned(record, words)
    assert written(found).rstrip() == " ".join(words)


@pytest.mark.skipif(not UD.exists(), reason="needs the treebanks")
def test_moses_words_of_a_treebank() -> None:
    from synmt.text.tokenization import MosesTokenizer

    tokenizer = MosesTokenizer("en")
    changed = 0
    for block in conllu_blocks(read_lines([str(UD / "en_pud" / "en_pud-ud-test.conllu")])):
        record = read_conllu(block.text)
        found = realigned(record, tokenizer.tokenize(record.text))
        assert found.heads.count(0) == 1
        found.check()
        changed += found.tokens != record.tokens
    assert changed > 100
