"""Links as latent variables, against sums written out."""

from typing import Any

import pytest
import torch

from synmt.alignment.mask_align.marginal import Origins
from tests.alignment.mask_align.test_model import CPU, aligner


def test_likelihood_and_posterior_are_those_of_a_sum_over_origins() -> None:
    torch.manual_seed(1)
    origins = Origins(4)
    table, encoded, asked = torch.randn(7, 4), torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    words, real = torch.randint(0, 7, (2, 5)), torch.tensor([[True] * 3, [True, True, False]])
    prior = torch.rand(2, 5, 3) / 3 * real.unsqueeze(1)
    found = origins(prior, encoded, asked, words, table, real)
    for b in range(2):
        for i in range(5):
            joint = []
            for j in range(3):
                chances = (table @ origins.linked(encoded[b, j])).softmax(dim=0).detach()
                joint.append(float(prior[b, i, j] * chances[words[b, i]]) if real[b, j] else 0.0)
            chances = (table @ origins.unlinked(asked[b, i])).softmax(dim=0).detach()
            total = sum(joint) + float((1 - prior[b, i].sum()) * chances[words[b, i]])
            assert float(found.likelihood[b, i].detach().exp()) == pytest.approx(total, rel=1e-4)
            assert found.posterior[b, i].tolist() == pytest.approx([each / total for each in joint], abs=1e-5)


@pytest.mark.parametrize("options", [{}, {"no_leak": True, "diagonal": 4.0}, {"causal": True}, {"no_agreement": True}])
def test_losses_of_a_batch_are_finite_and_those_of_its_pairs(options: dict[str, Any]) -> None:
    model, corpus = aligner(marginal=True, **options)
    model.reset_parameters()
    x, y, _ = corpus.batch(range(4), CPU)
    loss = model.loss(x, y, None)
    loss.total.backward()
    assert all(each.grad is None or bool(each.grad.isfinite().all()) for each in model.parameters())
    posteriors = model.posteriors(x, y)
    alone = 0.0
    for row in range(4):
        x, y, _ = corpus.batch([row], CPU)
        alone += float(model.loss(x, y, None).translation)
        for together, each in zip(posteriors, model.posteriors(x, y), strict=True):
            rows, columns = each.shape[1:]
            torch.testing.assert_close(together[row, :rows, :columns], each[0], atol=1e-5, rtol=1e-4)
    assert float(loss.translation) == pytest.approx(alone, rel=1e-4)


def test_agreement_of_posteriors_counts() -> None:
    losses = []
    for agreement in (0.0, 2.0):
        model, corpus = aligner(marginal=True, agreement=agreement, entropy=0.0)
        x, y, _ = corpus.batch(range(4), CPU)
        losses.append(model.loss(x, y, None))
    cells = y.real.unsqueeze(2) & x.real.unsqueeze(1)
    expected = 0.0
    for read in (model.weights, model.posteriors):
        forward, backward = read(x, y)
        apart = (forward - backward.transpose(1, 2)).detach() * cells
        expected += 2.0 * float(apart.square().sum() / cells.sum())
    gained = float((losses[1].total - losses[0].total).detach()) / losses[0].tokens
    assert gained == pytest.approx(expected, rel=1e-3)
