"""The tags of words, compared with the tree itself and with strings of transitions."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.decoder.tags import Tag, Tags, read_tag, tags_of, transitions_of_tags
from synmt.text.vocabulary import structural
from synmt.trees.arc_tokens import ArcStyle, is_arc, read_tokens, write_tokens
from synmt.trees.record import ParseRecord
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
    string = read_tokens("Jo@@ hn put LEFT-ARC:nsubj the coals LEFT-ARC:det RIGHT-ARC:obj out RIGHT-ARC:compound:prt")
    words, heads = ["John", "put", "the", "coals", "out"], [2, 0, 4, 2, 2]
    record = ParseRecord(tokens=words, heads=heads, deprels=["nsubj", "root", "det", "obj", "compound:prt"])
    subwords = ["Jo@@", "hn", "put", "the", "coals", "out"]
    labels = Tags().read(record, subwords)["tag"]
    assert [label.removeprefix("ARCS:") for label in labels] == [
        "", "", "nsubj/0/0", "root/1/0", "det/0/0", "obj/1/1", "compound:prt/0/1"
    ]  # fmt: skip
    assert transitions_of_tags(subwords, labels[1:]) == string


@given(tree=trees())
def test_tags_encode_the_tree(tree: tuple[list[list[str]], list[int], list[str]]) -> None:
    """And they can be turned back into transitions."""
    subwords, heads, deprels = tree
    string = transitions(subwords, heads, deprels, ArcStyle())
    tags = tags_of(string)
    assert [tuple(tag) for tag in tags] == tags_of_tree(heads, deprels)
    words = [each for word in subwords for each in word]
    rest = iter(tags)
    labels = [next(rest).label if word == "x" else "" for word in words]
    assert transitions_of_tags(words, labels) == string


@given(
    pairs=st.lists(
        st.tuples(
            st.sampled_from(["x", "x@@"]),
            st.sampled_from(["", *(Tag("a", left, right).label for left in (0, 1, 9) for right in (0, 2))]),
        )
    )
)
def test_invalid_tags_have_no_effect(pairs: list[tuple[str, str]]) -> None:
    """Any subwords and tags become a string of legal transitions with the same subwords."""
    from synmt.trees.transitions import State

    words, labels = [word for word, _ in pairs], [label for _, label in pairs]
    string = transitions_of_tags(words, labels)
    assert [each for each in string if not is_arc(each)] == words
    state = State(ArcStyle())
    for entry in string:
        token = ArcStyle().token(entry)
        assert is_arc(entry) <= bool(token.kind & state.legal())
        state = state.after(token)


@pytest.mark.parametrize("relation", RELATIONS)
def test_tags_are_written_as_arcs(relation: str) -> None:
    tag = Tag(relation, 3, 12)
    entry = structural(tag.label)
    assert read_tag(tag.label) == tag
    assert is_arc(entry) and not is_arc(tag.label)
    assert read_tokens(write_tokens([entry, tag.label])) == [entry, tag.label]


@pytest.mark.parametrize(
    "label", [" ARCS:a/1/2", "ARCS:a", "ARCS:a/1", "ARCS:/1/2", "ARCS:a/x/2", "LEFT-ARC:a", "ARCS:a/¹/2"]
)
def test_labels_that_are_not_tags(label: str) -> None:
    assert read_tag(label) is None
