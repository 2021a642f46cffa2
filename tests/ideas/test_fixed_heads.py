"""Heads with fixed attention, compared with a slow twin by the formulas; and laws."""

from typing import Any

import pytest
import torch

from synmt.ideas.source.fixed_heads import PATTERNS, FixedHeads
from synmt.ideas.source.fixed_heads.attention import fixed_weights
from synmt.model.source import source_side
from synmt.nn.attention import Recorder
from tests import tiny

CPU = torch.device("cpu")


def slow_row(pattern: str, i: int, n: int) -> list[float]:
    """Return the weights of token i, counted from 1, in a sentence of n tokens."""
    others: dict[str, dict[int, float]] = {
        "previous": {i - 1: 1.0},
        "self": {i: 1.0},
        "next": {i + 1: 1.0},
        "left": {j: float(j**3) for j in range(1, i - 1)},
        "right": {j: float((n + 1 - j) ** 3) for j in range(i + 2, n + 1)},
        "start": {j: float((n + 1 - j) ** 3) for j in range(1, n + 1)},
        "end": {j: float(j**3) for j in range(1, n + 1)},
    }
    chosen = {j: weight for j, weight in others[pattern].items() if 1 <= j <= n} or {i: 1.0}
    return [chosen.get(j, 0.0) / sum(chosen.values()) for j in range(1, n + 1)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_weights_equal_the_formulas(pattern: str) -> None:
    """Padding changes nothing, and no token attends to it."""
    lengths = [1, 2, 5, 7]
    real = torch.arange(7) < torch.tensor(lengths).unsqueeze(1)
    found = fixed_weights(real, pattern)
    torch.testing.assert_close(found.sum(dim=2), torch.ones(4, 7))
    for row, n in zip(found, lengths, strict=True):
        torch.testing.assert_close(row[:n, :n], torch.tensor([slow_row(pattern, i + 1, n) for i in range(n)]))
        assert not row[:n, n:].any()


def test_only_the_first_heads_of_every_layer_are_fixed() -> None:
    data, vocabulary = tiny.corpus("fixed heads")
    model = tiny.model("fixed heads", vocabulary)
    source, _ = data.batch([0, 1, 3], CPU)
    assert source.padding is not None
    layers: list[Any] = list(model.network.encoder.layers)
    with Recorder([layer.attention for layer in layers]) as recorder:
        model.encode(source)
    (pattern,) = tiny.SYSTEMS["fixed heads"]["fixed-heads"]["patterns"].split("+")
    for weights in recorder.weights:
        torch.testing.assert_close(weights[:, 0], fixed_weights(~source.padding, pattern))
        assert (weights[:, 1][~source.padding] > 0).sum() > (weights[:, 0][~source.padding] > 0).sum()


@pytest.mark.parametrize("patterns", ["", "parent", "next+", "+"])
def test_unknown_patterns(patterns: str) -> None:
    with pytest.raises(ValueError, match="patterns cannot be"):
        FixedHeads(patterns=patterns)


def test_missing_and_taken_heads() -> None:
    for ideas, cause in (
        ({"fixed-heads": {"patterns": "previous+self+next"}}, "takes 3 heads of layer 1"),
        ({"fixed-heads": {"patterns": "next"}, "lisa": {}}, "both take head 1 of layer 1"),
        ({"fixed-heads": {"patterns": "next"}, "supervised-heads": {}}, "both take head 1 of layer 2"),
    ):
        with pytest.raises(ValueError, match=cause):
            source_side(ideas).check_network(tiny.CONFIG)
