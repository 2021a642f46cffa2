"""The vocabulary: what the target side can generate comes first."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.text.vocabulary import END, END_TOKEN, UNKNOWN, UNKNOWN_TOKEN, Vocabulary, structural

WORDS = st.text(st.characters(exclude_characters="\n ", exclude_categories=["Cs"]), min_size=1)
COUNTS = st.dictionaries(WORDS, st.integers(1, 9)).map(Counter)


def small() -> Vocabulary:
    return Vocabulary.build(
        source=Counter({"haus": 1, "house": 2, structural("NP"): 3}), target=Counter({"haus": 2, "NP": 3})
    )


def test_ids_of_a_small_vocabulary() -> None:
    vocabulary = small()
    assert vocabulary.target == [END_TOKEN, UNKNOWN_TOKEN, "NP", "haus"]
    assert vocabulary.source == [" NP", "house"]
    assert (vocabulary.padding, vocabulary.begin, len(vocabulary)) == (6, 7, 8)
    assert vocabulary.encode(["haus", "house", "NP", structural("NP"), "new"]) == [3, 5, 2, 4, UNKNOWN]


def test_the_target_side_does_not_know_source_only_tokens() -> None:
    assert small().encode_target(["NP", "house", structural("NP"), "haus"]) == [2, UNKNOWN, UNKNOWN, 3, END]


def test_ends_and_unknowns_are_no_words() -> None:
    assert small().decode([UNKNOWN, 3, 2, END]) == ["haus", "NP"]


@given(COUNTS, COUNTS)
def test_every_target_word_is_decoded_as_it_was_encoded(source: Counter[str], target: Counter[str]) -> None:
    vocabulary = Vocabulary.build(source, target)
    assert vocabulary.decode(vocabulary.encode_target(target)) == list(target)
    assert UNKNOWN not in vocabulary.encode(source)


@given(COUNTS, COUNTS)
def test_files_give_the_vocabulary_back(source: Counter[str], target: Counter[str]) -> None:
    vocabulary = Vocabulary.build(source, target)
    with TemporaryDirectory() as folder:
        for name, text in vocabulary.files().items():
            (Path(folder) / name).write_bytes(text.encode())
        assert Vocabulary.load(Path(folder)) == vocabulary


@pytest.mark.parametrize("target", [[], ["a", "b"], [END_TOKEN, UNKNOWN_TOKEN, "a", "a"]])
def test_what_is_no_vocabulary(target: list[str]) -> None:
    with pytest.raises(ValueError, match="vocabulary"):
        Vocabulary(target, [])
