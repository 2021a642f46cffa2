"""Partial trees: which readers accept them, and which refuse."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.contract import SOME_HEADS, check_needs
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.dependency import depths, realigned
from synmt.trees.formats import read_conllu, reader, write_conllu
from synmt.trees.record import (
    UNATTACHED,
    ParseRecord,
    RecordError,
    check_heads,
    read_record,
    read_tree,
    read_words,
    write_record,
)
from synmt.trees.transitions import transitions_of_record
from tests.trees.strategies import dependency_records

LINE = '{"tokens":["a","b","c"],"tree":"(S a b c)","heads":[2,null,2],"deprels":["x","_","y"]}'
RECORD = read_record(LINE, partial=True)


@st.composite
def partial_records(draw: st.DrawFn) -> ParseRecord:
    """Draw a tree in which some words, but not all, are detached from their heads."""
    record = draw(dependency_records())
    off = draw(st.sets(st.integers(0, len(record.heads) - 1), max_size=len(record.heads) - 1))
    return replace(record, heads=[UNATTACHED if word in off else head for word, head in enumerate(record.heads)])


@given(record=partial_records())
def test_partial_trees_survive_writing_and_reading(record: ParseRecord) -> None:
    assert read_record(write_record(record), partial=True) == record
    assert read_conllu(write_conllu(record), partial=True) == record


def test_missing_heads_are_null_or_an_underscore() -> None:
    assert RECORD.heads == [2, UNATTACHED, 2]
    assert write_record(RECORD) == LINE
    assert [line.split("\t")[6] for line in write_conllu(RECORD).splitlines()[1:]] == ["2", "_", "2"]


REFUSING: dict[str, Callable[[], object]] = {
    "a record": lambda: read_record(LINE),
    "records for transitions": lambda: reader("records")(LINE),
    "CoNLL-U for transitions": lambda: reader("conllu")(write_conllu(RECORD)),
    "target strings": lambda: transitions_of_record(RECORD, list, ArcStyle()),
    "other words": lambda: realigned(RECORD, ["ab", "c"]),
    "a target side": lambda: check_needs(RECORD, frozenset({"heads"})),
}


@pytest.mark.parametrize("reading", REFUSING)
def test_partial_trees_are_refused_where_whole_ones_are_needed(reading: str) -> None:
    with pytest.raises(ValueError, match=r"word 2 has no head|some words have a head and some do not"):
        REFUSING[reading]()


def test_readers_that_need_no_heads_accept_them() -> None:
    assert read_words(LINE) == ["a", "b", "c"]
    assert read_tree(LINE) is not None
    check_needs(RECORD, frozenset({SOME_HEADS, "tree"}))


@pytest.mark.parametrize(
    ("heads", "cause"),
    [
        ([2, 1, UNATTACHED], "its own ancestor"),
        ([0, 0, UNATTACHED], "both roots"),
        ([UNATTACHED, 4, 0], "outside its sentence"),
    ],
)
def test_a_partial_tree_consists_of_parts_of_a_tree(heads: list[int], cause: str) -> None:
    with pytest.raises(RecordError, match=cause):
        check_heads(heads, partial=True)


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ('{"tokens": ["a", "b"], "heads": [-1, 0]}', "head -1 of word 1; write null for no head"),
        ('{"tokens": ["a"], "heads": [0], "confidences": [2]}', "outside 0 to 1"),
        (
            '{"tokens": ["a"], "heads": [0], "confidences": ["1"]}',
            r"Expected `float`, got `str` - at `\$.confidences\[0\]`",
        ),
        ('{"tokens": ["a"], "confidences": [0.5]}', "confidences without heads"),
        ('{"tokens": ["a"], "heads": [0], "confidences": [0.5, 1]}', "2 confidences for 1 token"),
    ],
)
def test_bad_heads_and_confidences(line: str, cause: str) -> None:
    with pytest.raises(RecordError, match=cause):
        read_record(line, partial=True)


def test_the_confidence_of_a_sentence_is_the_mean_over_all_words() -> None:
    record = replace(RECORD, confidences=[1.0, 0.9, 0.5])
    assert record.confidence == pytest.approx(0.5)
    assert '"confidences":[1.0,0.9,0.5],"confidence":0.5}' in write_record(record)
    assert ParseRecord().confidence == 0


def test_parts_of_trees_have_depths() -> None:
    assert depths([2, UNATTACHED, 2, 0]) == [2, 1, 2, 1]
