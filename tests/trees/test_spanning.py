"""Spanning trees, compared with a search through all trees."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.trees.record import RecordError, check_heads
from synmt.trees.spanning import spanning_tree


def is_tree(heads: tuple[int, ...]) -> bool:
    try:
        check_heads(heads)
    except RecordError:
        return False
    return heads.count(0) == 1


def is_projective(heads: tuple[int, ...]) -> bool:
    """Return whether no two arcs cross, including the arc from the root, which starts before the first word."""
    arcs = [(min(word, head), max(word, head)) for word, head in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


TREES = {n: [heads for heads in product(range(n + 1), repeat=n) if is_tree(heads)] for n in range(1, 6)}


def test_the_number_of_trees_is_cayleys() -> None:
    assert [len(trees) for trees in TREES.values()] == [n ** (n - 1) for n in TREES]


def total(scores: np.ndarray, heads: tuple[int, ...] | list[int]) -> float:
    return float(sum(scores[head, word] for word, head in enumerate(heads, 1)))


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """Draw scores for up to five words; small integers cause ties."""
    n = draw(st.integers(1, 5))
    numbers = draw(st.sampled_from([st.integers(0, 2), st.integers(-9, 9), st.floats(-1, 1, width=16)]))
    return np.array(draw(st.lists(numbers, min_size=(n + 1) ** 2, max_size=(n + 1) ** 2)), float).reshape(n + 1, -1)


@pytest.mark.parametrize("projective", [False, True])
@given(scores=matrices())
def test_no_tree_has_a_higher_score(projective: bool, scores: np.ndarray) -> None:
    found = spanning_tree(scores, projective)
    trees = [heads for heads in TREES[len(found)] if is_projective(heads) or not projective]
    assert tuple(found) in trees
    assert total(scores, found) == pytest.approx(max(total(scores, heads) for heads in trees))


@pytest.mark.parametrize("projective", [False, True])
def test_six_words(projective: bool) -> None:
    trees = [heads for heads in product(range(7), repeat=6) if heads.count(0) == 1 and is_tree(heads)]
    trees = [heads for heads in trees if is_projective(heads) or not projective]
    for seed in range(20):
        scores = np.random.default_rng(seed).normal(size=(7, 7))
        best = max(trees, key=lambda heads: total(scores, heads))
        assert tuple(spanning_tree(scores, projective)) == best


def test_an_empty_sentence_has_no_heads() -> None:
    assert spanning_tree(np.zeros((1, 1)), projective=True) == spanning_tree(np.zeros((1, 1)), projective=False) == []


def test_only_nonprojective_trees_may_cross() -> None:
    scores = np.zeros((5, 5))
    for head, word in ((0, 3), (3, 1), (4, 2), (3, 4)):
        scores[head, word] = 1
    assert spanning_tree(scores, projective=False) == [3, 4, 0, 3]
    assert is_projective(tuple(spanning_tree(scores, projective=True)))


def test_long_sentences_have_trees() -> None:
    scores = np.random.default_rng(1).random((151, 151))
    for projective in (False, True):
        check_heads(spanning_tree(scores, projective))
