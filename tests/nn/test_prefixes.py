"""The choice and order of prefixes to compute: none is lost, and samples are unbiased."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from synmt.data.corpus import Corpus
from synmt.model.translation import TranslationModel
from synmt.nn.prefixes import PrefixPlan
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.update import Updater
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

    tokens = len(exact.targets[0]["ids"])
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
        sentences, lengths, weights = plan.choose(LENGTHS[part])
        assert weights.tolist() == [1] * LENGTHS[part].sum()
        assert lengths.sum() <= positions or len(part) == 1
        packs = plan.packs(sentences, lengths, torch.Size((len(part), LENGTHS[part].max())), CPU)
        assert all(sum(each.sizes) < positions + LENGTHS[part].max() for each in packs)
        assert len(packs) == 1 or len(part) == 1


@pytest.mark.parametrize("sampled", [1, 3])
@pytest.mark.parametrize("positions", [1, 10, 40])
def test_samples_keep_their_size(sampled: int, positions: int) -> None:
    """However few positions are computed at a time, each target has the same number of prefixes."""
    for _ in range(20):
        sentences, lengths, _ = PrefixPlan(sampled, positions).choose(LENGTHS)
        assert np.bincount(sentences).tolist() == np.minimum(LENGTHS, sampled).tolist()
        packs = PrefixPlan(sampled, positions).packs(sentences, lengths, torch.Size((4, 12)), CPU)
        assert sum(sum(each.sizes) for each in packs) == lengths.sum()
        assert all(sum(each.sizes) < 2 * positions + 12 for each in packs)


def gradients(corpus: Corpus, model: TranslationModel, word_dropout: float = 0.0) -> dict[str, torch.Tensor]:
    """Return the gradient per target token of an update on all four targets."""
    config = TrainingConfig(word_dropout=word_dropout, clip=0.0)
    updater = Updater(model, corpus, config, Processes(0, 1, CPU))
    model.zero_grad()
    _, tokens, _ = updater(updater.step([[0, 1, 2, 3]], 1), learning_rate=0.0)
    assert tokens == sum(len(row["ids"]) for row in corpus.targets)
    names = [name for name, _ in model.named_parameters()]
    return {name: each / tokens for name, each in zip(names, updater.gradients, strict=True)}


@pytest.mark.parametrize("target", tiny.PREFIX_SYSTEMS)
@pytest.mark.parametrize("system", ["sequence", "lisa", "multitask", "mask+pascal"])
def test_gradients_do_not_depend_on_how_much_is_computed_at_a_time(system: str, target: str) -> None:
    """This holds from a position at a time, where each prefix is a pack, to a batch in one piece."""
    whole, vocabulary = tiny.corpus(system, target)
    model = tiny.model(system, vocabulary, target=target)
    expected = gradients(whole, model)
    for positions in (1, 7, 30, 60):
        in_parts, _ = tiny.corpus(system, target, prefix_tokens=positions)
        for name, gradient in gradients(in_parts, model).items():
            torch.testing.assert_close(gradient, expected[name], atol=1e-6, rtol=1e-5, msg=name)


@pytest.mark.parametrize("target", tiny.PREFIX_SYSTEMS)
def test_packs_computed_twice_draw_the_same_numbers(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With dropout and samples, the gradient equals that of packs which are all kept in memory."""
    _, vocabulary = tiny.corpus("mask", target)
    corpus, _ = tiny.corpus("mask", target, prefixes=3, prefix_tokens=4)
    config = replace(tiny.CONFIG, dropout=0.3, attention_dropout=0.2, activation_dropout=0.1)
    model = tiny.model("mask", vocabulary, config, target=target)
    twice = gradients(corpus, model, word_dropout=0.3)
    monkeypatch.setattr("synmt.nn.prefixes.checkpoint", lambda run, pack, use_reentrant: run(pack))
    once = gradients(corpus, model, word_dropout=0.3)
    for name, gradient in once.items():
        assert torch.equal(gradient, twice[name]), name


@pytest.mark.parametrize("target", tiny.PREFIX_SYSTEMS)
def test_only_one_pack_is_in_memory(target: str) -> None:
    """Before the backward pass, a long target in packs keeps far less than the same target in one piece."""
    side = tiny.TARGET_SYSTEMS[target]
    _, vocabulary = tiny.corpus("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target)

    def kept(positions: int) -> int:
        corpus = Corpus.empty(vocabulary, side, PrefixPlan(0, positions))
        corpus.append(tiny.source_features("sequence")[0], [vocabulary.target[2]] * 80)
        batch, found = corpus.batch([0], CPU), dict[int, int]()

        def note(tensor: torch.Tensor) -> torch.Tensor:
            found[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            model.loss(*batch, 0.1).total.backward()
        return sum(found.values())

    assert kept(100) < kept(10_000) / 4


@pytest.mark.parametrize(("target", "longest"), [("bitran", 6), ("gcn", 12)])
def test_the_parts_of_a_batch_have_its_loss(target: str, longest: int) -> None:
    whole, vocabulary = tiny.corpus("sequence", target)
    assert max(len(row["ids"]) for row in whole.targets) == longest
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
def test_a_plan_computes_all_prefixes_in_bounded_packs(target: str, positions: int) -> None:
    whole, vocabulary = tiny.corpus("sequence", target)
    packed, _ = tiny.corpus("sequence", target, prefix_tokens=positions)
    model = tiny.model("sequence", vocabulary, target=target)
    source, targets = packed.batch([0, 1, 2, 3], CPU)
    sizes = [sum(each.sizes) for each in targets.prefixes]
    lengths = [len(row["ids"]) for row in whole.targets]
    assert sum(sizes) == sum(length * (length + 1) // 2 for length in lengths)
    assert max(sizes) < positions + max(lengths)
    assert (len(sizes) > 1) == (positions < 1000)
    expected = model.loss(*whole.batch([0, 1, 2, 3], CPU)).each
    torch.testing.assert_close(model.loss(source, targets).each, expected, atol=1e-5, rtol=1e-5)
