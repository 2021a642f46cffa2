"""The choice and order of prefixes to compute: none is lost, and samples are unbiased."""

import numpy as np
import pytest
import torch

from synmt.data.corpus import Corpus
from synmt.nn.prefixes import PrefixPlan
from tests import tiny

CPU = torch.device("cpu")
LENGTHS = np.array([5, 1, 12, 7])


def test_all_prefixes_in_order_of_length() -> None:
    sentences, lengths, weights = PrefixPlan(0, 1000).choose(np.array([2, 3]))
    assert (sentences.tolist(), lengths.tolist()) == ([0, 1, 0, 1, 1], [1, 1, 2, 2, 3])
    assert weights.tolist() == [1] * 5


@pytest.mark.parametrize("sampled", [1, 3, 4])
def test_all_prefixes_are_equally_likely(sampled: int) -> None:
    torch.manual_seed(0)
    plan = PrefixPlan(sampled, 1000)
    draws = 1000
    weight = [np.zeros(length + 1) for length in LENGTHS]
    for _ in range(draws):
        chosen = list(zip(*plan.choose(LENGTHS), strict=True))
        assert len({(sentence, length) for sentence, length, _ in chosen}) == len(chosen)
        assert len(chosen) == np.minimum(LENGTHS, sampled).sum()
        for sentence, length, each in chosen:
            weight[sentence][length] += each
    for length, found in zip(LENGTHS, weight, strict=True):
        np.testing.assert_allclose(found[1:] / draws, np.ones(length), atol=0.3)


@pytest.mark.parametrize("target", ["bitran", "parent", "gcn"])
def test_the_mean_of_sampled_losses_is_the_exact_loss(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for gradients. A target of t tokens has t different samples, all equally likely."""
    exact, vocabulary = tiny.corpus("sequence", target)
    sampled, _ = tiny.corpus("sequence", target, prefixes=2)
    model = tiny.model("sequence", vocabulary, target=target)

    def loss_and_gradient(corpus: Corpus) -> tuple[torch.Tensor, torch.Tensor]:
        model.zero_grad()
        source, targets = corpus.batch([0], CPU)
        loss = model.loss(source, targets, smoothing=0.1).total
        loss.backward()
        assert model.network.output_bias.grad is not None
        assert targets.tokens == tokens
        return loss.detach(), model.network.output_bias.grad.clone()

    tokens = len(exact.targets[0])
    draws = []
    for number in range(tokens):
        start = torch.tensor([(number + 0.5) / tokens], dtype=torch.float64)
        monkeypatch.setattr(torch, "rand", lambda *_, start=start, **__: start)
        draws.append(loss_and_gradient(sampled))
    losses, gradients = (torch.stack(column) for column in zip(*draws, strict=True))
    assert losses.std() > 0
    loss, gradient = loss_and_gradient(exact)
    torch.testing.assert_close(losses.mean(), loss, atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(gradients.mean(dim=0), gradient, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("positions", [1, 10, 40, 1000])
def test_parts_are_bounded_and_complete(positions: int) -> None:
    plan = PrefixPlan(0, positions)
    parts = plan.parts([3, 1, 0, 2], LENGTHS[[3, 1, 0, 2]])
    assert [index for part in parts for index in part] == [3, 1, 0, 2]
    for part in parts:
        _, lengths, weights = plan.choose(LENGTHS[part])
        assert weights.sum() == pytest.approx(LENGTHS[part].sum())
        assert lengths.sum() <= max(positions, LENGTHS[part].max()) or len(part) == 1
        assert lengths.sum() <= 2 * positions + LENGTHS[part].max()


@pytest.mark.parametrize(("target", "longest"), [("bitran", 6), ("gcn", 12)])
def test_the_parts_of_a_batch_have_its_loss(target: str, longest: int) -> None:
    whole, vocabulary = tiny.corpus("sequence", target)
    assert max(map(len, whole.targets)) == longest
    in_parts, _ = tiny.corpus("sequence", target, prefix_tokens=longest * (longest + 1) // 2)
    model = tiny.model("sequence", vocabulary, target=target)
    parts = in_parts.parts([0, 1, 2, 3])
    assert len(parts) > 1
    batches = [in_parts.batch(part, CPU) for part in parts]
    losses = [model.loss(*batch).translation for batch in batches]
    expected = model.loss(*whole.batch([0, 1, 2, 3], CPU)).translation
    torch.testing.assert_close(torch.stack(losses).sum(), expected, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("positions", [1, 10, 1000])
@pytest.mark.parametrize("target", ["bitran", "parent", "gcn"])
def test_a_whole_plan_computes_all_prefixes_in_bounded_packs(target: str, positions: int) -> None:
    whole, vocabulary = tiny.corpus("sequence", target)
    packed, _ = tiny.corpus("sequence", target, prefix_tokens=positions)
    packed.plan = PrefixPlan(0, positions, whole=True)
    model = tiny.model("sequence", vocabulary, target=target)
    source, targets = packed.batch([0, 1, 2, 3], CPU)
    sizes = [sum(each.sizes) for each in targets.prefixes]
    assert sum(sizes) == sum(len(each) * (len(each) + 1) // 2 for each in whole.targets)
    assert max(sizes) < positions + max(map(len, whole.targets))
    assert (len(sizes) > 1) == (positions < 1000)
    expected = model.loss(*whole.batch([0, 1, 2, 3], CPU)).each
    torch.testing.assert_close(model.loss(source, targets).each, expected, atol=1e-5, rtol=1e-5)
