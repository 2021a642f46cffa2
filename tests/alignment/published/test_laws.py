"""Laws of all aligners on translation models."""

from collections.abc import Sequence

import pytest
import torch

from synmt.alignment import ALIGNERS
from synmt.alignment.published.attention.method import attention_method
from tests.alignment.published.forced import METHODS, PAIRS, Pair, force, models


def matrices(name: str, pairs: Sequence[Pair]) -> tuple[torch.Tensor, torch.Tensor]:
    aligner = attention_method(name)
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


@pytest.mark.parametrize("name", [name for name in METHODS if ALIGNERS[name].guide])
def test_guided_methods_learn_their_links(name: str) -> None:
    """After some steps on the guided loss, most weight is on the links."""
    aligner = attention_method(name)
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
