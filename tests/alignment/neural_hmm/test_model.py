"""The predictions and losses of the model, compared with its formulas."""

import math
from dataclasses import fields

import pytest
import torch
from torch import Tensor

from synmt.alignment.chains import Posteriors
from synmt.alignment.corpus import AlignerCorpus
from synmt.alignment.neural_hmm.config import NeuralHmmConfig
from synmt.alignment.neural_hmm.model import NeuralHmmModel, associations, start
from tests.alignment.corpora import CPU, corpus_of
from tests.alignment.neural_hmm.test_chains import evidence


def model_of(width: int = 6, **options: float) -> tuple[NeuralHmmModel, AlignerCorpus]:
    """Return a random model and four pairs."""
    corpus = corpus_of()
    model = NeuralHmmModel(NeuralHmmConfig(**options), width, 0.0, corpus.vocabularies)  # type: ignore[arg-type]
    torch.manual_seed(2)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return model.eval(), corpus


Written = tuple[Tensor, Tensor, Tensor, Tensor]


def written_out(model: NeuralHmmModel, source: list[int], target: list[int], backward: bool) -> Written:
    """Return the logarithms of linked [I,J] and unlinked [I], without p₀, and moves [J,J] and start [J]."""
    read, said = (target, source) if backward else (source, target)
    tables = list(model.tables)[:: -1 if backward else 1]
    own = model.backward_direction if backward else model.forward_direction
    chances = [(tables[1] @ tables[0][u] + own.bias).softmax(dim=0) for u in read]
    linked = torch.stack([torch.stack([chance[v] for chance in chances]) for v in said]).log()
    unlinked = torch.stack([own.none.softmax(dim=0)[v] for v in said]).log()
    longest, moves = own.longest, []
    for at, u in enumerate(read):
        jumps = own.jumps.weight @ tables[0][u] + own.jumps.bias
        kinds = [max(-longest, min(longest, j - at)) + longest for j in range(len(read))]
        moves.append(torch.stack([jumps[kind] for kind in kinds]).softmax(dim=0))
    begin = torch.tensor([math.exp(-4 * (j + 0.5) / len(read)) for j in range(len(read))])
    return linked, unlinked, torch.stack(moves), begin / begin.sum()


def cut_short(corpus: AlignerCorpus) -> None:
    """Shorten the pairs, so that a sum over all alignments is feasible."""
    for side, most in ((corpus.source, 4), (corpus.target, 3)):
        side.subwords = [each[:most] for each in side.subwords]
        side.read.rows = [{"ids": each, "words": len(each)} for each in side.subwords]
        side.words = [each[:most] for each in side.words]


def with_null(parts: Written, null: float) -> Written:
    return parts[0] + math.log(1 - null), parts[1] + math.log(null), *parts[2:]


def test_the_likelihood_sums_over_all_alignments_in_both_directions() -> None:
    model, corpus = model_of(jump=1, null=0.1)
    expected = 0.0
    for source, target in zip(corpus.source.subwords, corpus.target.subwords, strict=True):
        for backward in (False, True):
            parts = written_out(model, source.tolist()[:4], target.tolist()[:3], backward)
            expected -= float(evidence(*with_null(parts, 0.1)).detach().log())
    cut_short(corpus)
    loss = model.loss(*corpus.batch(range(4), CPU))
    assert float(loss.translation) == pytest.approx(expected, rel=1e-4)
    assert loss.tokens == sum(map(len, [*corpus.source.subwords, *corpus.target.subwords]))


def test_totals_sum_over_all_predictable_subwords() -> None:
    model, _ = model_of()
    directions = model.forward_direction, model.backward_direction
    for found, own, read, table in zip(
        model.totals(), directions, model.tables, reversed(list(model.tables)), strict=True
    ):
        torch.testing.assert_close(found, (read @ table.T + own.bias).exp().sum(dim=1).log())


def on_tensors(found: Posteriors) -> Posteriors:
    return Posteriors(*(torch.as_tensor(getattr(found, each.name)) for each in fields(Posteriors)))


@pytest.mark.parametrize("agreement", [0, 2])
def test_links_supported_by_both_directions_are_learned(agreement: int) -> None:
    model, corpus = model_of(agreement=agreement)

    def gradient(total: Tensor) -> Tensor:
        return torch.cat([each.flatten() for each in torch.autograd.grad(total, list(model.parameters()))])

    gradients = []
    for number in range(4):
        x, y, _ = corpus.batch([number], CPU)
        sides = model._distinct(x, y)
        there, back = map(on_tensors, model._posteriors(model._log_probabilities(sides), sides))
        loss = model.loss(x, y)
        expected = torch.zeros(())
        for found, backward in ((there, False), (back, True)):
            linked, unlinked, moves, _ = written_out(model, x.subwords[0].tolist(), y.subwords[0].tolist(), backward)
            both = there.links[0] * back.links[0].T
            expected = expected - ((both.T if backward else both) * linked).sum() - (found.unlinked[0] * unlinked).sum()
            expected = expected - (found.expected_transitions()[0] * moves.log()).sum()
        gradients.append(gradient(expected))
        torch.testing.assert_close(gradient(loss.total), gradients[-1], atol=1e-4, rtol=1e-3)
    together = gradient(model.loss(*corpus.batch(range(4), CPU)).total)
    torch.testing.assert_close(together, torch.stack(gradients).sum(dim=0), atol=1e-3, rtol=1e-3)


def test_cooccurrence_above_chance_means_association() -> None:
    model, corpus = model_of()
    sets = [
        (set(source.tolist()), set(target.tolist()))
        for source, target in zip(corpus.source.subwords, corpus.target.subwords, strict=True)
    ]
    found = associations((corpus.source, corpus.target), [len(table) for table in model.tables])
    for u in range(found.shape[0]):
        for v in range(found.shape[1]):
            of_u, of_v, both = (
                sum(u in x for x, _ in sets), sum(v in y for _, y in sets), sum(u in x and v in y for x, y in sets)
            )  # fmt: skip
            rarer = min(of_u, of_v)
            expected = max(0.0, math.log(4 * both / (of_u * of_v))) if both else 0.0
            expected *= both / (both + 1) * rarer / (rarer + 1)
            assert float(found[u, v]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("rounds", [1, 2])
def test_embeddings_start_as_factors_of_links_from_counts(rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """γ is the gradient of the sum over all alignments; everything else is written out."""
    monkeypatch.setattr("synmt.alignment.neural_hmm.model.ROUNDS", rounds)
    model, corpus = model_of(width=64, agreement=0, null=0.1, jump=2)
    cut_short(corpus)
    sides = corpus.source, corpus.target
    shares = []
    for side, table in zip(sides, model.tables, strict=True):
        seen = torch.bincount(torch.cat([torch.as_tensor(each) for each in side.subwords]), minlength=len(table))
        shares.append((seen + 0.1) / seen.sum())
    scores = 2 * associations(sides, [len(table) for table in model.tables])
    chances = [
        ((own + share.log()).softmax(dim=1), share) for own, share in ((scores, shares[1]), (scores.T, shares[0]))
    ]
    for _ in range(rounds):
        linked, none = torch.zeros_like(scores), [torch.zeros_like(shares[1]), torch.zeros_like(shares[0])]
        for source, target in zip(*(side.subwords for side in sides), strict=True):
            found = []
            for number, (x, y) in enumerate(((source, target), (target, source))):
                table, unlinked = chances[number]
                begin = torch.tensor([math.exp(-4 * (j + 0.5) / len(x)) for j in range(len(x))])
                jumps = (model.backward_direction if number else model.forward_direction).jumps.bias
                kinds = [[max(-2, min(2, k - j)) + 2 for k in range(len(x))] for j in range(len(x))]
                logs = [table[x][:, y].T.log() + math.log(0.9), unlinked[y].log() + math.log(0.1)]
                given = [each.detach().requires_grad_() for each in logs]
                total = evidence(
                    given[0], given[1], jumps.detach()[torch.tensor(kinds)].softmax(dim=1), begin / begin.sum()
                ).log()
                found.append(torch.autograd.grad(total, given))
                none[number].index_add_(0, torch.as_tensor(y).long(), found[-1][1])
            for i, v in enumerate(target.tolist()):
                for j, u in enumerate(source.tolist()):
                    linked[u, v] += found[0][0][i, j] * found[1][0][j, i]
        chances = [
            ((each + share) / (each.sum(dim=1, keepdim=True) + 1), (own + share) / (own.sum() + 1))
            for each, own, share in zip((linked, linked.T), none, reversed(shares), strict=True)
        ]
    chance = linked.sum(dim=1, keepdim=True) * linked.sum(dim=0) / linked.sum()
    start(model, corpus)
    expected = ((linked + 0.1) / (chance + 0.1)).log()
    torch.testing.assert_close(model.tables[0] @ model.tables[1].T, expected, atol=2e-3, rtol=1e-3)
    for direction, (_, unlinked), share in zip(
        (model.forward_direction, model.backward_direction), chances, reversed(shares), strict=True
    ):
        torch.testing.assert_close(direction.none.detach(), unlinked.log(), atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(direction.bias.detach(), share.log())
