"""Forward–backward against a sum over all alignments, one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.alignment.hmm.chains import Jumps, forward_backward, independent


def alignments(likely: np.ndarray, unlinked: np.ndarray, start: np.ndarray, jump: np.ndarray) -> list:
    """Return all (places, jumps taken, p(y, a | x)) of one pair; a place is (source word or last one, linked?).

    likely [I,J], unlinked [I], start [J]; jump: s(d) by d from −K to K. Before the first word, one is at start.
    """
    length, size = likely.shape
    longest = len(jump) // 2

    def s(distance: int) -> float:
        return float(jump[min(max(distance, -longest), longest) + longest])

    found = []
    for first in range(size):  # where one is before the first word, for words that come from none
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
                    total *= s(j - at) / sum(s(k - at) for k in range(size)) * float(likely[i, j])
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
def test_posteriors_and_jumps_are_those_of_all_alignments(drawn: tuple[int, int, int]) -> None:
    length, size, seed = drawn
    random = np.random.default_rng(seed)
    likely, unlinked = random.uniform(0.01, 1, (length, size)), random.uniform(0.01, 1, length)
    start, jump = random.dirichlet(np.ones(size)), random.dirichlet(np.ones(3))
    every = alignments(likely, unlinked, start, jump)
    total = sum(p for *_, p in every)
    links, none, seen, expected = np.zeros((length, size)), np.zeros(length), np.zeros(3), np.zeros(3)
    for choice, taken, p in every:
        for i, j in enumerate(choice):
            if j == size:
                none[i] += p / total
            else:
                links[i, j] += p / total
        for at, to in taken:
            seen[min(max(to - at, -1), 1) + 1] += p / total
            weights = [jump[min(max(k - at, -1), 1) + 1] for k in range(size)]
            for k, weight in enumerate(weights):
                expected[min(max(k - at, -1), 1) + 1] += p / total * weight / sum(weights)
    # the same, padded, beside another pair
    wide = np.zeros((2, length + 1, size + 2), np.float32)
    wide[0, :length, :size], wide[1] = likely, random.uniform(0.1, 1, wide[1].shape)
    stay = np.ones((2, length + 1), np.float32)
    stay[0, :length], stay[1] = unlinked, 0.3
    begin, real = np.zeros((2, size + 2), np.float32), np.ones((2, size + 2), np.float32)
    begin[0, :size], begin[1], real[0, size:] = start, 1 / (size + 2), 0
    jumps = Jumps(jump.astype(np.float32))
    both, _ = forward_backward(wide, stay, begin, real, jumps)
    alone, taken_alone = forward_backward(
        likely[None].astype(np.float32),
        unlinked[None].astype(np.float32),
        start[None].astype(np.float32),
        np.ones((1, size), np.float32),
        jumps,
    )
    for found in (both.links[0, :length, :size], alone.links[0]):
        np.testing.assert_allclose(found, links, atol=1e-5)
    for found in (both.unlinked[0, :length], alone.unlinked[0]):
        np.testing.assert_allclose(found, none, atol=1e-5)
    assert alone.likelihood == pytest.approx(np.log(total), abs=1e-4)
    np.testing.assert_allclose(taken_alone.seen, seen, atol=1e-4)
    np.testing.assert_allclose(taken_alone.expected, expected, atol=1e-4)


def test_words_that_do_not_depend_on_each_other_have_the_posterior_of_bayes() -> None:
    likely = np.array([[[0.2, 0.1], [0.4, 0.0]]], np.float32)
    prior = np.array([[[0.5, 0.5], [0.9, 0.1]]], np.float32)
    unlinked = np.array([[0.05, 0.04]], np.float32)
    found = independent(likely, unlinked, prior)
    np.testing.assert_allclose(found.links, [[[0.5, 0.25], [0.9, 0.0]]], atol=1e-6)
    np.testing.assert_allclose(found.unlinked, [[0.25, 0.1]], atol=1e-6)
    assert found.likelihood == pytest.approx(np.log(0.2) + np.log(0.4))


def test_jumps_that_are_taken_more_often_than_expected_gain() -> None:
    jumps = Jumps.new(2)
    assert jumps.weights.argmax() == 3 and jumps.weights.sum() == pytest.approx(1)
    np.testing.assert_array_equal(jumps.places(4)[1], [1, 2, 3, 4])
    assert jumps.places(6)[0, 5] == 4
    before = jumps.weights.copy()
    row = np.ones((1, 2), np.float32)
    _, same = forward_backward(np.ones((1, 1, 2), np.float32), row[:, :1], row, row, jumps)
    jumps.learn(same)  # nothing has been taken
    np.testing.assert_allclose(jumps.weights, before, atol=1e-6)
