"""The forward–backward algorithm, compared with a sum over all alignments, one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.alignment.chains import Chains, Emissions, agreed, independent
from synmt.alignment.hmm.transitions import TransitionCounts, TransitionWeights


def alignments(
    likely: np.ndarray, unlinked: np.ndarray, start: np.ndarray, jumps: np.ndarray, classes: list[int]
) -> list:
    """Return all (places, jumps taken, p(y, a | x)) of one pair; a place is (source word or last one, linked?).

    likely [I,J], unlinked [I], start [J]; jumps: s_c(d) by the class c of the word that is left and d from −K to K.
    start is the distribution of the place before the first word.
    """
    length, size = likely.shape
    longest = jumps.shape[1] // 2

    def s(at: int, to: int) -> float:
        return float(jumps[classes[at], min(max(to - at, -longest), longest) + longest])

    found = []
    for first in range(size):  # the place before the first word, for words that come from none
        for choice in product(range(size + 1), repeat=length):
            at, total, taken, moved = first, float(start[first]), [], False
            for i, j in enumerate(choice):
                if j == size:
                    total *= float(unlinked[i])
                elif i == 0:
                    if j != first:
                        total = 0.0
                        break
                    total *= float(likely[i, j])
                else:
                    total *= s(at, j) / sum(s(at, k) for k in range(size)) * float(likely[i, j])
                    taken.append((at, j))
                    at = j
                moved = moved or j < size
            if total:
                found.append((choice, taken, total))
    return found


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, int, int]:
    return draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(0, 2**32 - 1))


@given(pairs())
@settings(max_examples=40, deadline=None)
def test_posteriors_and_jumps_match_the_sum_over_all_alignments(drawn: tuple[int, int, int]) -> None:
    length, size, seed = drawn
    random = np.random.default_rng(seed)
    likely, unlinked = random.uniform(0.01, 1, (length, size)), random.uniform(0.01, 1, length)
    start, jumps = random.dirichlet(np.ones(size)), random.dirichlet(np.ones(3), 2)
    classes = random.integers(0, 2, size).tolist()
    every = alignments(likely, unlinked, start, jumps, classes)
    total = sum(p for *_, p in every)
    links, none, seen, possible = np.zeros((length, size)), np.zeros(length), np.zeros((2, 3)), np.zeros((2, 3))
    for choice, taken, p in every:
        for i, j in enumerate(choice):
            if j == size:
                none[i] += p / total
            else:
                links[i, j] += p / total
        for at, to in taken:
            seen[classes[at], min(max(to - at, -1), 1) + 1] += p / total
            weights = [jumps[classes[at], min(max(k - at, -1), 1) + 1] for k in range(size)]
            for k in range(size):
                possible[classes[at], min(max(k - at, -1), 1) + 1] += p / total / sum(weights)
    # the same pair, padded, in a batch with another pair
    wide = np.zeros((2, length + 1, size + 2), np.float32)
    wide[0, :length, :size], wide[1] = likely, random.uniform(0.1, 1, wide[1].shape)
    stay = np.ones((2, length + 1), np.float32)
    stay[0, :length], stay[1] = unlinked, 0.3
    begin, real = np.zeros((2, size + 2), np.float32), np.ones((2, size + 2), np.float32)
    begin[0, :size], begin[1], real[0, size:] = start, 1 / (size + 2), 0
    padded = np.zeros((2, size + 2), np.intp)
    padded[0, :size] = classes
    learnt = TransitionWeights(jumps.astype(np.float32))
    both = Chains(Emissions(wide, stay), learnt.between(padded, real).probabilities, begin).posteriors()
    moves = learnt.between(np.array([classes]), np.ones((1, size), np.float32))
    words = Emissions(likely[None].astype(np.float32), unlinked[None].astype(np.float32))
    alone = Chains(words, moves.probabilities, start[None].astype(np.float32)).posteriors()
    taken_alone = moves.counts(alone.expected_transitions())
    for found in (both.links[0, :length, :size], alone.links[0]):
        np.testing.assert_allclose(found, links, atol=1e-5)
    for found in (both.unlinked[0, :length], alone.unlinked[0]):
        np.testing.assert_allclose(found, none, atol=1e-5)
    assert alone.likelihood[0] == pytest.approx(np.log(total), abs=1e-4)
    np.testing.assert_allclose(taken_alone.seen, seen, atol=1e-4)
    np.testing.assert_allclose(taken_alone.possible, possible, atol=1e-4)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_agreement_makes_both_directions_equal(length: int, size: int, seed: int) -> None:
    """The distribution nearest to p among those that agree has the form p(a) e^λ. Every step keeps this form; agreement
    is reached in the end."""
    random = np.random.default_rng(seed)

    def chains(length: int, size: int) -> Chains:
        likely = random.uniform(0.05, 1, (1, length, size)).astype(np.float32)
        moves = TransitionWeights.new(1, 2).between(np.zeros((1, size), np.intp), np.ones((1, size), np.float32))
        begin = np.full((1, size), 1 / size, np.float32)
        return Chains(Emissions(likely, np.full((1, length), 0.2, np.float32)), moves.probabilities, begin)

    forward, backward = chains(length, size), chains(size, length)
    before, after = agreed((forward, backward), 0)
    np.testing.assert_array_equal(before.links, forward.posteriors().links)
    np.testing.assert_array_equal(after.links, backward.posteriors().links)
    there, back = agreed((forward, backward), 400)
    np.testing.assert_allclose(there.links[0], back.links[0].T, atol=5e-3)
    gaps = [
        np.abs(one.links[0] - two.links[0].T).sum()
        for one, two in (agreed((forward, backward), steps) for steps in (0, 2))
    ]
    assert gaps[1] <= gaps[0] + 1e-5


def test_independent_words_have_the_bayesian_posterior() -> None:
    likely = np.array([[[0.2, 0.1], [0.4, 0.0]]], np.float32)
    prior = np.array([[[0.5, 0.5], [0.9, 0.1]]], np.float32)
    unlinked = np.array([[0.05, 0.04]], np.float32)
    found = independent(Emissions(likely, unlinked), prior)
    np.testing.assert_allclose(found.links, [[[0.5, 0.25], [0.9, 0.0]]], atol=1e-6)
    np.testing.assert_allclose(found.unlinked, [[0.25, 0.1]], atol=1e-6)
    assert found.likelihood[0] == pytest.approx(np.log(0.2) + np.log(0.4))


def test_jumps_start_short_and_are_learned() -> None:
    jumps = TransitionWeights.new(2, 2)
    assert jumps.weights.argmax() == 3 and jumps.weights.sum(axis=1) == pytest.approx(1)
    real = np.ones((1, 6), np.float32)
    np.testing.assert_array_equal(jumps.between(np.zeros((1, 6), np.intp), real).places[0, 1], [1, 2, 3, 4, 4, 4])
    np.testing.assert_array_equal(jumps.between(np.ones((1, 6), np.intp), real).places[0, 5], [5, 5, 5, 5, 6, 7])
    seen = np.array([[0, 0, 100, 0, 0], [0, 0, 0, 1e6, 0]], float)
    jumps.estimate(TransitionCounts(seen, np.full((2, 5), 1e6)))
    often, rare = jumps.weights[1], jumps.weights[0]
    assert often[3] > 0.99  # it has enough counts of its own
    assert rare[2] > 0.05 and rare.sum() == pytest.approx(1)
