"""Laws of the aligners that read translation models."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.choice import used_by
from synmt.alignment.published.add_sgd import AddSgd
from synmt.alignment.published.attention.aligner import attention_aligner
from synmt.alignment.published.attention.prediction import Prediction, descend
from synmt.alignment.published.bao import Bao, contiguity_loss
from synmt.alignment.published.mtl_fullc import MtlFullc
from synmt.alignment.published.naive_att import NaiveAtt
from synmt.alignment.published.naive_att_last import NaiveAttLast
from synmt.alignment.published.shift_att import ShiftAtt
from synmt.nn.attention import Recorder
from synmt.nn.config import TransformerConfig
from synmt.streams import BadInput
from tests import tiny
from tests.alignment.published.forced import METHODS, PAIRS, WORDS, Pair, force, models


def matrices(name: str, pairs: Sequence[Pair]) -> tuple[torch.Tensor, torch.Tensor]:
    aligner = attention_aligner(name)
    return aligner.matrices(*force(aligner, models(aligner), pairs))


@pytest.mark.parametrize("name", METHODS)
def test_batches_equal_single_pairs(name: str) -> None:
    together = matrices(name, PAIRS)
    for number, (source, target) in enumerate(PAIRS):
        forward, backward = matrices(name, [(source, target)])
        x, y = len(source), len(target)
        torch.testing.assert_close(together[0][number, :y, :x], forward[0], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(together[1][number, :x, :y], backward[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", METHODS)
def test_rows_are_distributions_over_the_source(name: str) -> None:
    forward, _ = matrices(name, PAIRS)
    for number, (source, target) in enumerate(PAIRS):
        row_sums = forward[number, : len(target)].sum(dim=1)
        torch.testing.assert_close(row_sums, torch.ones(len(target)))
        assert forward[number, : len(target), len(source) :].count_nonzero() == 0


def rows_that_change(name: str, place: int) -> set[int]:
    """Return the rows of x → y that change if the target word at `place` is replaced."""
    source, target = PAIRS[0]
    other = [*target[:place], next(word for word in WORDS if word not in target), *target[place + 1 :]]
    before, after = matrices(name, [(source, target)])[0], matrices(name, [(source, other)])[0]
    return {row for row in range(len(target)) if not torch.allclose(before[0, row], after[0, row], atol=1e-6)}


@pytest.mark.parametrize("place", range(4))
def test_target_words_that_each_row_sees(place: int) -> None:
    """In naive-att, a row knows the words before its own; in shift-att and shift-aet, also its own; else all words."""
    assert rows_that_change("naive-att", place) == set(range(place + 1, 4))
    assert rows_that_change("naive-att-last", place) == set(range(place + 1, 4))
    assert rows_that_change("shift-att", place) == set(range(place, 4))
    assert rows_that_change("shift-aet", place) == set(range(place, 4))
    assert rows_that_change("mtl-fullc", place) == set(range(4))
    assert rows_that_change("bao-guided", place) == set(range(4))


def test_shift_att_is_naive_att_shifted_by_one_row() -> None:
    aligner = NaiveAtt(layer=2)
    forced, _ = force(aligner, models(aligner))
    torch.testing.assert_close(ShiftAtt().weights(forced)[:, :-1], aligner.weights(forced)[:, 1:])


def test_default_layers_are_the_published_ones() -> None:
    six = decoder_of(6)
    assert NaiveAtt().fixed_layer(six) == MtlFullc().fixed_layer(six) == 5
    assert NaiveAtt(layer=2).fixed_layer(six) == 2
    assert NaiveAttLast().fixed_layer(six) == 6
    assert NaiveAtt().fixed_layer(decoder_of(5)) == 0  # the layer whose directions agree best
    assert NaiveAtt().fixed_layer(decoder_of(1)) == 1
    assert NaiveAtt(layer=2).fixed_layer(decoder_of(3)) == MtlFullc().fixed_layer(decoder_of(3)) == 2


def decoder_of(layers: int) -> TransformerConfig:
    return replace(tiny.CONFIG, decoder_layers=layers)


def test_only_the_last_layer_of_naive_att_last_sees_the_source() -> None:
    aligner = NaiveAttLast()
    forced, _ = force(aligner, models(aligner), layer=2)
    crossing = [layer.cross is not None for layer in forced.model.network.decoder]
    assert crossing == [False, True]


@pytest.mark.parametrize("steps", [1, 3])
def test_add_sgd_lowers_the_loss_of_each_pair(steps: int) -> None:
    aligner = AddSgd(rate=0.5)
    for pair in PAIRS:
        if len(pair[0]) == 1:
            continue  # one source word has all the weight
        prediction = Prediction(force(aligner, models(aligner), [pair])[0])
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


@pytest.mark.parametrize("name", ["shift-aet", "bao-guided", "mtl-fullc"])
def test_guided_methods_learn_their_links(name: str) -> None:
    """After some steps on the guided loss, most weight is on the links."""
    aligner = attention_aligner(name)
    made = models(aligner)
    model, part = made[0]
    links = [(pair, i, i % len(source)) for pair, (source, target) in enumerate(PAIRS) for i in range(len(target))]
    learning = model if aligner.trains_model else part
    assert learning is not None
    optimizer = torch.optim.Adam(learning.parameters(), lr=0.02)
    for _ in range(40):
        forced, _ = force(aligner, made)
        forced.target.links = torch.tensor(links)
        loss = aligner.loss(forced)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    weights, _ = aligner.matrices(*force(aligner, made))
    assert torch.stack([weights[link] for link in links]).mean() > 0.6


@pytest.mark.parametrize("option", ["steps", "rate"])
@pytest.mark.parametrize("name", ["add-sgd", "bao"])
def test_options_have_bounds(name: str, option: str) -> None:
    with pytest.raises(ValueError, match=option):
        attention_aligner(name, {option: -1})
    with pytest.raises(ValueError, match="does not read translation models"):
        attention_aligner("nothing")


@pytest.mark.parametrize("name", ["naive-att", "naive-att-last"])
def test_posteriors_match_finite_differences(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The differences are of log p(y_i), with the whole softmax, by the weights of the last layer in the step that
    predicts y_i."""
    aligner = attention_aligner(name)
    last = aligner.network(tiny.CONFIG).decoder_layers
    forced, _ = force(aligner, models(aligner), PAIRS[3:4], layer=last)
    found = aligner.posteriors(forced)[0].detach().numpy()
    network, words = forced.model.network, forced.target.inputs[0, 1:]
    cross, weights = network.decoder_layers[-1].cross, forced.weights().detach()
    assert cross is not None

    def likelihoods(moved: torch.Tensor) -> torch.Tensor:
        with Recorder([cross]) as recorder:
            monkeypatch.setattr(recorder, "see", lambda call: setattr(call, "cut", moved))
            logits = forced.states()[0, :-1] @ network.output_weight.T + network.output_bias
        return logits.log_softmax(dim=1)[torch.arange(len(words)), words].detach()

    step, gains = 3e-3, np.zeros((len(words), weights.shape[3]))
    for i, j in np.ndindex(*gains.shape):
        change = torch.zeros_like(weights)
        change[0, :, i, j] = step  # the row that predicts word i, counted from 0
        gains[i, j] = float((likelihoods(weights + change) - likelihoods(weights - change))[i]) / (2 * step)
    prior = weights.mean(dim=1)[0, :-1].numpy()
    expected = prior * np.exp((gains - (prior * gains).sum(axis=1, keepdims=True)).clip(-10, 10))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=5e-3)
    assert np.abs(expected - prior).max() > 0.01


def test_posteriors_need_the_last_layer_and_predicting_attention() -> None:
    aligner = attention_aligner("naive-att")
    with pytest.raises(BadInput, match="not layer 1"):
        aligner.posteriors(force(aligner, models(aligner), layer=1)[0])
    assert [name for name in METHODS if "links-by" in used_by(name, {})] == ["naive-att", "naive-att-last"]


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
