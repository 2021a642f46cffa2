"""The rules of SimAlign and awesome-align, compared with loops over their definitions."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from synmt.alignment.embeddings.config import EmbeddingsConfig
from synmt.alignment.embeddings.rules import argmax_links, itermax_links, linked, softmax_links

Pairs = set[tuple[int, int]]
SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6))
LIKENESS = SHAPES.flatmap(
    lambda shape: arrays(
        np.float32, shape, elements=st.floats(-1, 1, width=32), unique=True
    )  # so that there are no ties
)


def pairs(cells: np.ndarray) -> Pairs:
    return {(int(j), int(i)) for j, i in zip(*cells.nonzero(), strict=True)}


def slow_argmax(likeness: list[list[float]]) -> Pairs:
    rows, columns = range(len(likeness)), range(len(likeness[0]))
    return {
        (j, i)
        for j in rows
        for i in columns
        if likeness[j][i] == max(likeness[j]) and likeness[j][i] == max(likeness[row][i] for row in rows)
    }


def slow_itermax(likeness: list[list[float]], iterations: int, alpha: float) -> Pairs:
    """Algorithm 1 of the paper: weight 1 if neither word has a link, 0 if both have one, else α."""
    least = min(0.0, min(map(min, likeness)))
    links: Pairs = set()
    for _ in range(iterations):
        taken = [
            [(j in {row for row, _ in links}) + (i in {column for _, column in links}) for i in range(len(values))]
            for j, values in enumerate(likeness)
        ]
        weighted = [
            [(value - least) * (1, alpha)[n] if n < 2 else -1 for value, n in zip(*row, strict=True)]
            for row in zip(likeness, taken, strict=True)
        ]
        links |= {(j, i) for j, i in slow_argmax(weighted) if taken[j][i] < 2}
    return links


@given(LIKENESS)
def test_argmax(likeness: np.ndarray) -> None:
    assert pairs(argmax_links(likeness)) == slow_argmax(likeness.tolist())


@given(LIKENESS, st.integers(1, 4), st.sampled_from([0.5, 0.9]))
def test_itermax(likeness: np.ndarray, iterations: int, alpha: float) -> None:
    likeness = np.round(likeness, 3) + np.arange(likeness.size).reshape(likeness.shape).astype(np.float32) * 1e-5
    found = pairs(itermax_links(likeness, iterations, alpha))
    assert found == slow_itermax(likeness.astype(float).tolist(), iterations, alpha)
    assert pairs(argmax_links(likeness)) <= found


@given(LIKENESS, st.sampled_from([0.001, 0.2, 0.5]))
def test_softmax(likeness: np.ndarray, threshold: float) -> None:
    values = (10 * likeness).tolist()
    rows, columns = range(len(values)), range(len(values[0]))
    of_row = [[math.exp(each) / sum(map(math.exp, row)) for each in row] for row in values]
    of_column = [[math.exp(row[i]) / sum(math.exp(values[j][i]) for j in rows) for i in columns] for row in values]
    assume(
        all(abs(each - threshold) > 1e-5 for row in [*of_row, *of_column] for each in row)
    )  # it has single precision
    expected = {(j, i) for j in rows for i in columns if of_row[j][i] > threshold and of_column[j][i] > threshold}
    assert pairs(softmax_links(10 * likeness, threshold)) == expected


@pytest.mark.parametrize("rule", ["argmax", "itermax", "softmax"])
def test_every_rule_links_identical_words(rule: str) -> None:
    states = np.eye(5, 8, dtype=np.float32) * 20
    order = [3, 0, 4, 1, 2]
    found = linked(EmbeddingsConfig(rule=rule), states, states[order])  # type: ignore[arg-type]
    assert pairs(found) == {(source, target) for target, source in enumerate(order)}


def test_empty_sides_have_no_links() -> None:
    assert np.isfinite(
        linked(EmbeddingsConfig(rule="argmax"), np.zeros((2, 3), np.float32), np.zeros((1, 3), np.float32))
    ).all()
