"""The tags of words, compared with the tree itself and with strings of transitions."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.decoder.tags import Tag, read_tag, tagged, transitions_of_tags
from synmt.trees.arc_tokens import ArcStyle, is_arc, read_entries, write_entries
from synmt.trees.transitions import transitions
from tests.trees.strategies import projective_heads

RELATIONS = ["nsubj", "a/b", "compound:prt", "1/2/3", "root", "/"]


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[list[str]], list[int], list[str]]:
    heads = draw(projective_heads())
    subwords = [["x@@"] * draw(st.integers(0, 2)) + ["x"] for _ in heads]
    return subwords, heads, [draw(st.sampled_from(RELATIONS)) for _ in heads]


def tags_of_tree(heads: Sequence[int], deprels: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return the tags of a tree. An arc to the left is written after its head; an arc to the right is written after the
    last word in the subtree of its dependent."""
    words = range(1, len(heads) + 1)

    def above(word: int) -> set[int]:
        found = set()
        while word:
            found.add(word)
            word = heads[word - 1]
        return found

    last = {word: max(other for other in words if word in above(other)) for word in words}
    return [
        (
            deprels[word - 1] if heads[word - 1] else "root",
            sum(heads[other - 1] == word for other in range(1, word)),
            sum(0 < heads[other - 1] < other and last[other] == word for other in words),
        )
        for word in words
    ]


def test_an_example_worked_by_hand() -> None:
    string = read_entries("Jo@@ hn put LEFT-ARC:nsubj the coals LEFT-ARC:det RIGHT-ARC:obj out RIGHT-ARC:compound:prt")
    found = tagged(string)
    assert write_entries(found) == (
        "Jo@@ hn ARCS:nsubj/0/0 put ARCS:root/1/0 the ARCS:det/0/0 coals ARCS:obj/1/1 out ARCS:compound:prt/0/1"
    )
    assert transitions_of_tags(found) == string


@given(tree=trees())
def test_tags_encode_the_tree(tree: tuple[list[list[str]], list[int], list[str]]) -> None:
    subwords, heads, deprels = tree
    entries = tagged(transitions(subwords, heads, deprels, ArcStyle()))
    assert [tuple(tag) for tag in map(read_tag, entries) if tag] == tags_of_tree(heads, deprels)
    assert [entry for entry in entries if read_tag(entry) is None] == [each for word in subwords for each in word]
    ends = [place for place, entry in enumerate(entries) if entry == "x"]
    assert [place + 1 for place in ends] == [place for place, entry in enumerate(entries) if read_tag(entry)]


@given(tree=trees())
def test_tags_can_be_turned_back_into_transitions(tree: tuple[list[list[str]], list[int], list[str]]) -> None:
    string = transitions(*tree, ArcStyle())
    assert transitions_of_tags(tagged(string)) == string


@given(
    entries=st.lists(
        st.sampled_from(["x", "x@@", *(Tag("a", left, right).entry for left in (0, 1, 9) for right in (0, 2))])
    )
)
def test_invalid_tags_have_no_effect(entries: list[str]) -> None:
    """Any string of words and tags becomes a string of legal transitions with the same words."""
    from synmt.trees.transitions import State

    string = transitions_of_tags(entries)
    assert [each for each in string if not is_arc(each)] == [each for each in entries if not is_arc(each)]
    state = State(ArcStyle())
    for entry in string:
        token = ArcStyle().token(entry)
        assert is_arc(entry) <= bool(token.kind & state.legal())
        state = state.after(token)


@pytest.mark.parametrize("relation", RELATIONS)
def test_tags_are_arcs_in_the_vocabulary(relation: str) -> None:
    tag = Tag(relation, 3, 12)
    assert read_tag(tag.entry) == tag
    assert is_arc(tag.entry) and not is_arc(tag.entry[1:])
    assert read_entries(write_entries([tag.entry, tag.entry[1:]])) == [tag.entry, tag.entry[1:]]


@pytest.mark.parametrize(
    "entry", ["ARCS:a/1/2", " ARCS:a", " ARCS:a/1", " ARCS:/1/2", " ARCS:a/x/2", " LEFT-ARC:a", " ARCS:a/¹/2"]
)
def test_entries_that_are_not_tags(entry: str) -> None:
    assert read_tag(entry) is None
