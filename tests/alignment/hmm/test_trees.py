"""The inside–outside algorithm on trees, compared with a sum over all alignments, one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.alignment.hmm.transitions import FIRST_WEIGHTS, TransitionProbabilities, TreeChains, relations, upwards


def a_tree(random: np.random.Generator, size: int) -> list[int]:
    """Return heads of words in a random order, −1 for a root; there may be several roots."""
    order = random.permutation(size).tolist()
    heads = [-1] * size
    for place, word in enumerate(order[1:], 1):
        heads[word] = order[random.integers(0, place)] if random.random() < 0.8 else -1
    return heads


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_posteriors_and_moves_match_the_sum_over_all_alignments(length: int, size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    heads, kinds = a_tree(random, length), random.integers(0, 4, (size, size))
    likely, unlinked = random.uniform(0.01, 1, (length, size)), random.uniform(0.01, 1, length)
    start, weights = random.dirichlet(np.ones(size)), random.dirichlet(np.ones(4))
    move = weights[kinds] / weights[kinds].sum(axis=1, keepdims=True)
    links, none, seen, total = np.zeros((length, size)), np.zeros(length), np.zeros(4), 0.0
    for at in product(range(size), repeat=length):  # the place that each word moves to or stays at
        for linked in product((True, False), repeat=length):
            p, taken = 1.0, np.zeros(4)
            for i, head in enumerate(heads):
                if head < 0:
                    p *= start[at[i]]
                elif linked[i]:
                    p *= move[at[head], at[i]]
                    taken[kinds[at[head], at[i]]] += 1
                else:
                    p *= at[head] == at[i]
                p *= likely[i, at[i]] if linked[i] else unlinked[i]
            total += p
            seen += p * taken
            for i in range(length):
                if linked[i]:
                    links[i, at[i]] += p
                else:
                    none[i] += p
    wide = np.zeros((1, length + 2, size + 1), np.float32)
    wide[0, :length, :size] = likely
    stay, begin, real = (
        np.ones((1, length + 2), np.float32),
        np.zeros((1, size + 1), np.float32),
        np.ones((1, size + 1)),
    )
    stay[0, :length], begin[0, :size], real[0, size] = unlinked, start, 0
    places = np.zeros((1, size + 1, size + 1), np.intp)
    places[0, :size, :size] = kinds
    above = np.full((1, length + 2), -1)
    above[0, :length] = heads
    moves = TransitionProbabilities(weights[None].astype(np.float32), places, real.astype(np.float32))
    found = TreeChains(moves, wide, stay, begin, above).posteriors()
    counts = moves.counts(found.expected_transitions())
    np.testing.assert_allclose(found.links[0, :length, :size], links / total, atol=1e-4)
    np.testing.assert_allclose(found.unlinked[0, :length], none / total, atol=1e-4)
    assert found.likelihood[0] == pytest.approx(np.log(total), abs=1e-3)
    np.testing.assert_allclose(counts.seen[0], seen / total, atol=1e-3)
    assert (counts.possible * weights).sum() == pytest.approx(seen.sum() / total, abs=1e-3)


def test_relations_between_words() -> None:
    """the big dogs of old men bark"""
    heads = np.array([[2, 2, 6, 5, 5, 2, -1, -1]])  # the last is padding
    found = relations(heads)[0]
    names = ["itself", "dependent<", "dependent>", "head<", "head>", "sibling<", "sibling>", "below", "above", "near",
             "far", "farther"]  # fmt: skip
    assert len(names) == len(FIRST_WEIGHTS)
    for j, k, name in [(2, 2, "itself"), (2, 0, "dependent<"), (2, 5, "dependent>"), (5, 2, "head<"), (0, 2, "head>"),
                       (1, 0, "sibling<"), (0, 1, "sibling>"), (6, 5, "below"), (5, 6, "above"), (3, 1, "near"),
                       (6, 3, "near"), (6, 0, "below"), (4, 0, "far")]:  # fmt: skip
        assert names[found[j, k]] == name, (j, k, name)
    assert relations(np.full((1, 12), -1))[0, 0, 11] == 11


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_dependents_come_before_heads(size: int, seed: int) -> None:
    heads = a_tree(np.random.default_rng(seed), size)
    order = upwards(np.array([heads]))[0].tolist()
    assert sorted(order) == list(range(size))
    assert all(order.index(word) < order.index(head) for word, head in enumerate(heads) if head >= 0)


def test_long_sentences_do_not_underflow() -> None:
    length, size = 300, 200
    likely = np.full((1, length, size), 1e-9, np.float32)
    likely[0, np.arange(length), np.arange(length) % size] = 0.5
    heads = np.full((1, length), 0)
    heads[0, 0] = -1
    moves = TransitionProbabilities(
        np.ones((1, 1), np.float32), np.zeros((1, size, size), np.intp), np.ones((1, size), np.float32)
    )
    start = np.full((1, size), 1 / size, np.float32)
    found = TreeChains(moves, likely, np.full((1, length), 1e-9, np.float32), start, heads).posteriors()
    assert np.isfinite(found.likelihood).all() and np.isfinite(found.links).all()
    np.testing.assert_allclose(found.links[0, np.arange(length), np.arange(length) % size], 1, atol=1e-3)
