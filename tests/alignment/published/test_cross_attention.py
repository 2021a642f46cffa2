"""The words that each row of the attention sees, the layers that are read, and the posterior."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from synmt.alignment.choice import used_by
from synmt.alignment.published.attention.method import attention_method
from synmt.alignment.published.mtl_fullc import MtlFullc
from synmt.alignment.published.naive_att import NaiveAtt
from synmt.alignment.published.naive_att_last import NaiveAttLast
from synmt.alignment.published.shift_att import ShiftAtt
from synmt.nn.attention import Recorder
from synmt.nn.config import TransformerConfig
from synmt.streams import BadInput
from tests import tiny
from tests.alignment.published.forced import METHODS, PAIRS, WORDS, force, models
from tests.alignment.published.test_laws import matrices


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


@pytest.mark.parametrize("name", ["naive-att", "naive-att-last"])
def test_posteriors_match_finite_differences(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The differences are of log p(y_i), with the whole softmax, by the weights of the last layer in the step that
    predicts y_i."""
    aligner = attention_method(name)
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
    aligner = attention_method("naive-att")
    with pytest.raises(BadInput, match="not layer 1"):
        aligner.posteriors(force(aligner, models(aligner), layer=1)[0])
    assert [name for name in METHODS if "links-by" in used_by(name, {})] == ["naive-att", "naive-att-last"]
