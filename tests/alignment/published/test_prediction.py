"""The layer that predicts each word again: add-sgd and bao."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.published.add_sgd import AddSgd
from synmt.alignment.published.attention.method import attention_method
from synmt.alignment.published.attention.prediction import LayerPredictions, descend
from synmt.alignment.published.bao import Bao, contiguity_loss
from tests.alignment.published.forced import PAIRS, force, models


@pytest.mark.parametrize("steps", [1, 3])
def test_add_sgd_lowers_the_loss_of_each_pair(steps: int) -> None:
    aligner = AddSgd(rate=0.5)
    for pair in PAIRS:
        if len(pair[0]) == 1:
            continue  # one source word has all the weight
        prediction = LayerPredictions(force(aligner, models(aligner), [pair])[0])
        after = descend(prediction.logits, prediction.loss, steps, aligner.rate)
        assert prediction.loss(after) < prediction.loss(prediction.logits)


def test_the_layer_predicts_only_from_previous_words() -> None:
    """Before the first step, the logits for y_i do not depend on y_i."""
    aligner = AddSgd(steps=0)
    source, target = PAIRS[0]
    made = models(aligner)
    before = aligner.weights(force(aligner, made, [(source, target)])[0])
    after = aligner.weights(force(aligner, made, [(source, [*target[:2], "old", target[3]])])[0])
    torch.testing.assert_close(after[:, :3], before[:, :3])
    assert not torch.allclose(after[:, 3], before[:, 3])


def test_bao_ties_both_directions() -> None:
    """W_xy and W_yx are softmaxes of the same matrix: their logarithms differ only by one term per row and column."""
    aligner = Bao(rate=0.5)
    forward, backward = aligner.matrices(*force(aligner, models(aligner), PAIRS[:1]))
    difference = (forward[0].log() - backward[0].T.log()).detach()
    rank_one = difference - difference[:1] - difference[:, :1] + difference[0, 0]
    torch.testing.assert_close(rank_one, torch.zeros_like(rank_one), atol=1e-4, rtol=0)


@pytest.mark.parametrize("option", ["steps", "rate"])
@pytest.mark.parametrize("name", ["add-sgd", "bao"])
def test_options_have_bounds(name: str, option: str) -> None:
    with pytest.raises(ValueError, match=option):
        attention_method(name, {option: -1})
    with pytest.raises(ValueError, match="does not read translation models"):
        attention_method("nothing")


@given(st.integers(2, 6), st.booleans())
def test_contiguity_favours_runs(length: int, mirrored: bool) -> None:
    """A diagonal, or its mirror image, costs less than the same number of links apart from each other."""
    run = torch.eye(length)
    apart = torch.zeros(length, 3 * length)
    apart[torch.arange(length), 3 * torch.randperm(length)] = 1.0
    real = torch.ones(1, length, dtype=torch.bool)
    cost = contiguity_loss((run.flip(1) if mirrored else run).unsqueeze(0), real)
    assert float(cost) == pytest.approx(2 * math.log(1.5), abs=1e-5)  # both ends lack a neighbour
    assert float(contiguity_loss(apart.unsqueeze(0), real)) == pytest.approx(length * math.log(3), abs=1e-5)


def test_descent_follows_the_gradient() -> None:
    start = torch.tensor([[3.0, -2.0]])
    end = descend(start, lambda logits: (logits**2).sum(), steps=2, rate=0.1)
    torch.testing.assert_close(end, start * 0.8**2)
    assert not end.requires_grad
