"""Attention given the word, compared with finite differences of word probabilities; and the diagonal."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from synmt.alignment.aligner import FittedText
from synmt.alignment.corpus import SideBatch
from synmt.alignment.published.attention.weights import first_order_posteriors
from synmt.alignment.published.mask_align.config import MaskAlignConfig, MaskAlignModelConfig
from synmt.alignment.published.mask_align.model import DirectedModel, distances
from synmt.model.source import source_side
from synmt.nn.attention import Recorder
from tests.alignment.corpora import CPU
from tests.alignment.published.mask_align.test_model import CONFIG, aligner


def log_likelihoods(
    directed: DirectedModel, x: SideBatch, y: SideBatch, tables: Any, size: int
) -> tuple[Tensor, Tensor]:
    """Return log p(y_i) of one pair [I], with the whole softmax, and the weights including those of leaks."""
    with Recorder([directed.decoder.last_crossing], cut=True) as recorder:
        queries, words = directed._inputs(y.subwords, tables[1], 0)
        states = directed.decoder(queries, words, y.padding, directed.encode(x, tables[0], 0.0), directed._bias(x, y))
    logits: Tensor = states @ tables[1][:size].T
    return logits.log_softmax(dim=-1)[0, torch.arange(y.subwords.shape[1]), y.subwords[0]], recorder.weights[0].detach()


@pytest.mark.parametrize("options", [{}, {"no_leak": True}, {"no_leak": True, "diagonal": 4.0}, {"diagonal": 1.0}])
def test_posteriors_match_finite_differences(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model, corpus = aligner(**options)
    x, y, _ = corpus.batch([3], CPU)
    tables, vocabulary = tuple(model.tables), model.vocabularies[1]
    found = model.posteriors(x, y)[0][0].detach().numpy()
    directed, size = model.forward_model, len(vocabulary.target)
    _, weights = log_likelihoods(directed, x, y, tables, size)
    step = 3e-3
    gains = np.zeros(weights.shape[2:])
    for i, k in np.ndindex(*gains.shape):
        values = []
        for sign in (1, -1):
            moved = weights.clone()
            moved[0, :, i, k] += sign * step
            monkeypatch.setattr("synmt.nn.attention.attention_weights", lambda *_, moved=moved: moved)
            values.append(float(log_likelihoods(directed, x, y, tables, size)[0][i].detach()))
        gains[i, k] = (values[0] - values[1]) / (2 * step)
    prior = weights.mean(dim=1)[0].numpy()
    gains -= (prior * gains).sum(axis=1, keepdims=True)
    expected = prior * np.exp(gains.clip(-10, 10))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected[:, -x.subwords.shape[1] :], atol=5e-3)
    assert np.abs(expected - prior).max() > 0.01


def test_the_posterior_is_bayesian_if_the_likelihood_is_linear() -> None:
    torch.manual_seed(1)
    weights = torch.randn(2, 3, 4, 5).softmax(dim=-1).requires_grad_()
    gain = torch.randn(2, 4, 5)
    found = first_order_posteriors(weights, (weights.mean(dim=1) * gain).sum())
    joint = weights.mean(dim=1) * gain.exp()
    torch.testing.assert_close(found, joint / joint.sum(dim=2, keepdim=True))
    far = first_order_posteriors(weights, 1e6 * (weights.mean(dim=1) * gain).sum())
    assert far.isfinite().all()


def test_batches_have_the_posteriors_of_single_pairs() -> None:
    model, corpus = aligner(diagonal=2.0)
    x, y, _ = corpus.batch(range(4), CPU)
    both = model.posteriors(x, y)
    for row in range(4):
        x, y, _ = corpus.batch([row], CPU)
        for together, alone in zip(both, model.posteriors(x, y), strict=True):
            rows, columns = alone.shape[1:]
            torch.testing.assert_close(together[row, :rows, :columns], alone[0], atol=1e-5, rtol=1e-4)
            assert float(together[row].detach().sum()) == pytest.approx(float(alone.detach().sum()), abs=1e-4)


def test_a_large_kappa_leaves_only_the_diagonal() -> None:
    real = torch.tensor([[True] * 4, [True, True, False, False]]), torch.tensor([[True] * 2, [True, False]])
    expected = [[0.125, 0.625], [0.125, 0.375], [0.375, 0.125], [0.625, 0.125]]
    torch.testing.assert_close(distances(*real)[0], torch.tensor(expected))
    torch.testing.assert_close(distances(*real)[1, :2, 0], torch.tensor([0.25, 0.25]))
    model, corpus = aligner(no_leak=True, diagonal=1.0)
    x, y, _ = corpus.batch([3], CPU)
    for directed in (model.forward_model, model.backward_model):
        assert directed.diagonal is not None
        torch.nn.init.constant_(directed.diagonal, 1e5)
    forward, _ = model.weights(x, y)
    nearest = distances(y.real, x.real)
    assert torch.equal(forward > 0.1, nearest == nearest.amin(dim=2, keepdim=True))
    model.reset_parameters()
    assert model.forward_model.diagonal is not None and model.forward_model.diagonal.tolist() == [1.0] * CONFIG.heads


def test_folders_older_than_the_diagonal_open() -> None:
    side = source_side({"sequence": {}})
    config = MaskAlignModelConfig(
        MaskAlignConfig(agreement=2.0), False, (side, side), FittedText(("de", "en"), "none"), CONFIG
    )
    fields = config.fields()
    del fields["options"]["diagonal"]
    assert MaskAlignModelConfig.read(fields) == replace(config)
