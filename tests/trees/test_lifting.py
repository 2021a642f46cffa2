"""Trees with crossing arcs: the paper's example worked by hand, and laws for trees of any shape."""

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.dependency import lifted, lowered
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import read_transitions, transitions_of_record
from tests.trees.test_transitions import is_projective


def test_the_example_in_the_paper() -> None:
    """Nivre & Nilsson 2005, figures 1 and 2: Z nich je jen jedna na kvalitu ."""
    heads, deprels = [5, 1, 0, 5, 3, 3, 6, 3], ["AuxP", "Atr", "Pred", "AuxZ", "Sb", "AuxP", "Adv", "AuxK"]
    assert lifted(heads, deprels) == ([3, *heads[1:]], ["AuxP↑Sb", *deprels[1:]])
    assert lowered(*lifted(heads, deprels)) == (heads, deprels)


TREES = st.permutations(range(1, 8)).flatmap(
    lambda order: st.tuples(st.just(order), st.tuples(*(st.integers(0, place) for place in range(6))))
)


def heads_of(tree: tuple[list[int], tuple[int, ...]]) -> list[int]:
    order, choices = tree
    heads = [0] * 7
    for place, choice in enumerate(choices):
        heads[order[place + 1] - 1] = order[choice]
    return heads


@example(([3, 6, 5, 1, 4, 2, 7], (0, 0, 2, 3, 4, 0)))  # word 2 can only go down after word 4
@given(TREES)
def test_lifting_makes_trees_projective_and_can_be_undone(tree: tuple[list[int], tuple[int, ...]]) -> None:
    heads = heads_of(tree)
    deprels = [f"r{word}" if head else "root" for word, head in enumerate(heads, 1)]
    found, relations = lifted(heads, deprels)
    assert is_projective(found)
    assert ((found, relations) == (heads, deprels)) == is_projective(heads)
    assert lowered(found, relations) == (heads, deprels)


@given(TREES, st.lists(st.sampled_from("ab"), min_size=7, max_size=7))
def test_with_any_relations_words_move_down_without_cycles(
    tree: tuple[list[int], tuple[int, ...]], deprels: list[str]
) -> None:
    heads = heads_of(tree)
    found, relations = lifted(heads, deprels)
    back, names = lowered(found, relations)
    assert names == deprels
    assert sorted(back).count(0) == 1
    for word in range(1, 8):  # follow the heads to the root, without a cycle
        for _ in range(7):
            word = back[word - 1] if word else 0
        assert word == 0


@pytest.mark.parametrize("style", [ArcStyle(*flags) for flags in product((False, True), repeat=2)], ids=str)
def test_strings_of_lifted_trees(style: ArcStyle) -> None:
    record = ParseRecord(tokens=list("abcd"), heads=[3, 4, 0, 3], deprels=["x", "y", "root", "z"])
    string = transitions_of_record(record, list, style)
    found = read_transitions(string, style)
    assert (found.heads, found.deprels) == ([3, 3, 0, 3], ["x", "y↑z", "root", "z"])
    assert lowered(found.heads, found.deprels) == (record.heads, record.deprels)
