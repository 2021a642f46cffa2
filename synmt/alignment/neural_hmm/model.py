"""The probabilities of both directions, computed from two tables of embeddings (see aligner.py).

Training starts from counts of links between subwords, found without a network. Let n(u, v) be the number of pairs, out
of N, that contain both u and v, and let n be the smaller of n(u) and n(v). At first,

    p(v | u) ∝ p(v) e^(2 M_uv),   M_uv = max(0, log(n(u, v) N / (n(u) n(v)))) · n(u, v) / (n(u, v) + 1) · n / (n + 1)

where the last two factors discount rare subwords (Pantel & Lin 2002, "Discovering Word Senses from Text", KDD). Then,
ROUNDS times, both directions read all pairs, count c(u, v) = Σ γ_ij γ′_ji, and set p(v | u) = (c(u, v) + p(v)) / (c(u)
+ 1). From the last counts,

    M_uv = log((c(u, v) + SMOOTHING) / (c(u) c(v) / c + SMOOTHING))

Its singular value decomposition, truncated to rank d, U S Vᵀ, gives e = U √S and f = V √S, as in Levy & Goldberg
(2014), "Neural Word Embedding as Implicit Matrix Factorization", NeurIPS.

Shapes: B pairs, J source and I target subwords, of which U and V are distinct; d width; m the longest jump.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import log, log1p
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.alignment import compiled
from synmt.alignment.chains import Array, Chains, LogEmissions, Posteriors, agreed
from synmt.alignment.corpus import AlignerCorpus, EncodedSide, SideBatch
from synmt.data.batches import Ids, token_batches
from synmt.nn.dropout import dropout
from synmt.nn.losses import Loss
from synmt.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from synmt.alignment.neural_hmm.config import NeuralHmmConfig

BEGINNING = 4.0  # κ, how strongly the first subword favours the start of the other side
NEXT = 0.3  # initial penalty on the score of a jump, per step away from the next subword
RAISED = 2.0
CHUNK = 1000  # pairs counted, or subwords normalized, at once
ROWS = 64  # rows of scores computed at once: they fit in a core's cache
ROUNDS = 2  # rounds of counting before the first update
SMOOTHING = 0.1
START_TOKENS = 16384  # sentences × longest side of a batch in counting
ITERATIONS = 3  # subspace iterations of the randomized decomposition


@dataclass(frozen=True, slots=True)
class Distinct:
    """The distinct subwords of one side of a batch. ids [U]; places [B,J]: the index into ids at each position, −1 for
    padding; vectors [U,d]: the embeddings."""

    ids: Tensor
    places: Tensor
    vectors: Tensor

    @classmethod
    def of(cls, side: SideBatch, table: Tensor) -> "Distinct":
        ids, places = side.subwords[side.real].unique(return_inverse=True)
        padded = torch.full_like(side.subwords, -1).masked_scatter_(side.real, places)
        return cls(ids, padded, F.embedding(ids, table))


@dataclass(frozen=True, slots=True)
class LogProbabilities:
    """Log-probabilities of one direction. linked [U,V]: p(v | u); unlinked [V]: p(v | none); jumps [U,2m+1]: the scores
    s_d + w_d · e_u, whose softmax over the subwords of a pair is p(j | j′)."""

    linked: Tensor
    unlinked: Tensor
    jumps: Tensor

    def without_gradient(self, null: float) -> "LogProbabilities":
        """Return the input of forward–backward, with p₀ multiplied in and without gradients."""
        linked, unlinked = self.linked.detach() + log1p(-null), self.unlinked.detach() + log(null)
        return LogProbabilities(linked.contiguous(), unlinked.contiguous(), self.jumps.detach().contiguous())


@dataclass(frozen=True, slots=True)
class NeuralCounts:
    """Expected counts of both directions, summed over a batch. linked [U,V]: Σ γ_ij γ′_ji; for each direction: unlinked
    [V], and jumps [U,2m+1], the gradient of Σ ξ_jj′ log p(j | j′) with respect to the scores of jumps; likelihood:
    log p(y | x) + log p(x | y)."""

    linked: Tensor
    unlinked: tuple[Tensor, Tensor]
    jumps: tuple[Tensor, Tensor]
    likelihood: Tensor

    def plus(self, other: "NeuralCounts") -> "NeuralCounts":
        unlinked, jumps = (
            (one[0] + two[0], one[1] + two[1])
            for one, two in ((self.unlinked, other.unlinked), (self.jumps, other.jumps))
        )
        return NeuralCounts(self.linked + other.linked, unlinked, jumps, self.likelihood + other.likelihood)


class _Totals(torch.autograd.Function):
    """log Σ_v e^(f_v · e_u + b_v) [U] of e [U,d], f [V,d] and b [V]. These scores are the largest matrix of an update;
    to save memory, the backward pass overwrites them with their softmax, a few rows at a time."""

    @staticmethod
    def forward(context: Any, read: Tensor, table: Tensor, bias: Tensor) -> Tensor:
        scores = F.linear(read, table, bias).float()
        totals = scores.logsumexp(dim=1)
        context.save_for_backward(read, table, scores, totals)
        return totals

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        read, table, scores, totals = context.saved_tensors
        for rows, total, gradient in zip(*(each.split(ROWS) for each in (scores, totals, gradients[0])), strict=True):
            rows.sub_(total.unsqueeze(1)).exp_().mul_(gradient.unsqueeze(1))
        return scores @ table, scores.T @ read, scores.sum(dim=0)


class NeuralHmmDirection(nn.Module):
    """The parameters of one direction: b, n, s and w."""

    def __init__(self, width: int, predicted: int, longest: int) -> None:
        super().__init__()
        self.longest = longest
        self.bias, self.none = nn.Parameter(torch.empty(predicted)), nn.Parameter(torch.empty(predicted))
        self.jumps = nn.Linear(width, 2 * longest + 1)

    def reset_parameters(self) -> None:
        """Favour the next position, and set the biases of all subwords to 0."""
        for each in (self.bias, self.none, self.jumps.weight, self.jumps.bias):
            nn.init.zeros_(each)
        with torch.no_grad():
            distances = torch.arange(-self.longest, self.longest + 1, device=self.jumps.bias.device)
            self.jumps.bias.sub_(NEXT * (distances - 1).abs())

    def totals(self, read: Tensor, table: Tensor) -> Tensor:
        """Return log Σ_v e^(f_v · e_u + b_v) for embeddings of u [U,d]."""
        totals: Tensor = _Totals.apply(read, table, self.bias)
        return totals

    def forward(self, x: Distinct, y: Distinct, states: Tensor, totals: Tensor) -> LogProbabilities:
        """Return the log-probabilities of y given x. states [U,d]: vectors of x, after dropout; totals [U]: their
        normalizers."""
        linked = (states @ y.vectors.T).float() + self.bias[y.ids] - totals.unsqueeze(1)
        return LogProbabilities(linked, self.none.log_softmax(dim=0)[y.ids], self.jumps(x.vectors).float())


class NeuralHmmModel(nn.Module):
    """Source x and target y; the forward direction predicts y from x, the backward one x from y."""

    def __init__(
        self, config: "NeuralHmmConfig", width: int, dropout: float, vocabularies: tuple[Vocabulary, Vocabulary]
    ) -> None:
        super().__init__()
        self.config, self.dropout = config, dropout
        sizes = [len(each.target) for each in vocabularies]
        self.tables = nn.ParameterList(torch.empty(size, width) for size in sizes)
        self.forward_direction, self.backward_direction = (
            NeuralHmmDirection(width, size, config.jump) for size in reversed(sizes)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw embeddings from N(0, 1/d)."""
        for table in self.tables:
            nn.init.normal_(table, std=table.shape[1] ** -0.5)
        for direction in self.directions:
            direction.reset_parameters()

    @property
    def directions(self) -> tuple[NeuralHmmDirection, NeuralHmmDirection]:
        return self.forward_direction, self.backward_direction

    def loss(
        self, x: SideBatch, y: SideBatch, links: Tensor | None = None, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        """Return −log p(y | x) − log p(x | y) as `translation`, and as `total` a value with the gradient of L. links,
        smoothing and word_dropout are ignored."""
        sides = self._distinct(x, y)
        logs = self._log_probabilities(sides)
        found = self._e_step(logs, [sides])
        total = -(found.linked * logs[0].linked).sum() - (found.linked.T * logs[1].linked).sum()
        for each, unlinked, jumps in zip(logs, found.unlinked, found.jumps, strict=True):
            total = total - (unlinked * each.unlinked).sum() - (jumps * each.jumps).sum()
        return Loss(-found.likelihood, int(x.real.sum() + y.real.sum()), total)

    @torch.no_grad()
    def totals(self) -> list[Tensor]:
        """Return the normalizers: log Σ_v e^(f_v · e_u + b_v) [U], and for the backward direction
        log Σ_u e^(f_v · e_u + b′_u) [V]."""
        both = zip(self.directions, self.tables, reversed(list(self.tables)), strict=True)
        return [torch.cat([own.totals(rows, table) for rows in read.split(CHUNK)]) for own, read, table in both]

    @torch.no_grad()
    def posteriors(self, x: SideBatch, y: SideBatch, totals: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return γ [B,I,J] and γ′ [B,J,I], zero where padded. totals: the normalizers of this model."""
        sides = self._distinct(x, y)
        found = self._posteriors(self._log_probabilities(sides, totals), sides)
        return torch.as_tensor(found[0].links), torch.as_tensor(found[1].links)

    @torch.no_grad()
    def by_vectors(self) -> tuple[compiled.Vectors, list[compiled.ByVectors]]:
        """Return the parameters of a trained model on the CPU for compiled code. They are computed in fp64, so that all
        processors round to the same fp32 numbers, except for one in millions."""
        forward, backward = self.directions
        vectors = compiled.Vectors(*(_numbers(table) for table in self.tables))
        totals = vectors.totals((_numbers(forward.bias), _numbers(backward.bias)))
        return vectors, [
            compiled.ByVectors(
                _numbers(own.none.double().log_softmax(dim=0) + log(self.config.null)),
                _numbers(F.linear(table.double(), own.jumps.weight.double(), own.jumps.bias.double())),
                _numbers(own.bias.double() + log1p(-self.config.null)),
                total,
            )
            for own, table, total in zip(self.directions, self.tables, totals, strict=True)
        ]

    def _distinct(self, x: SideBatch, y: SideBatch) -> tuple[Distinct, Distinct]:
        return Distinct.of(x, self.tables[0]), Distinct.of(y, self.tables[1])

    def _log_probabilities(
        self, sides: tuple[Distinct, Distinct], totals: Sequence[Tensor] = ()
    ) -> list[LogProbabilities]:
        """Return the log-probabilities of both directions. totals: the model's normalizers; computed if empty."""
        logs = []
        both = zip(self.directions, (sides, sides[::-1]), reversed(list(self.tables)), strict=True)
        for number, (direction, (x, y), table) in enumerate(both):
            states = dropout(x.vectors, self.dropout, self.training)
            of_states = totals[number][x.ids] if totals else direction.totals(states, table)
            logs.append(direction(x, y, states, of_states))
        return logs

    @torch.no_grad()
    def _e_step(self, logs: Sequence[LogProbabilities], batches: Iterable[tuple[Distinct, Distinct]]) -> NeuralCounts:
        """Return the expected counts of both directions, summed over batches that share their distinct subwords."""
        with torch.autocast(logs[0].linked.device.type, enabled=False):
            if logs[0].linked.device.type != "cpu" or not compiled.library():
                return reduce(
                    NeuralCounts.plus, (self._summed(self._posteriors(logs, each), logs, each) for each in batches)
                )
            directions = [
                compiled.ByScores(
                    *(tensor.numpy() for tensor in (each.linked, each.unlinked, each.jumps)),
                    *(np.zeros(tensor.shape, np.float32) for tensor in (each.unlinked, each.jumps)),  # counts
                )
                for each in (own.without_gradient(self.config.null) for own in logs)
            ]
            counts, likelihood = np.zeros(logs[0].linked.shape, np.float32), 0.0
            for x, y in batches:
                likelihood += compiled.e_step(
                    directions, (x.places.numpy(), y.places.numpy()), self.config.agreement, counts
                )[0]
        unlinked, jumps = (
            (torch.from_numpy(one), torch.from_numpy(two))
            for one, two in zip(*((each.unlinked, each.gradient) for each in directions), strict=True)
        )
        return NeuralCounts(torch.from_numpy(counts), unlinked, jumps, torch.tensor(likelihood))

    def _posteriors(self, logs: Sequence[LogProbabilities], sides: tuple[Distinct, Distinct]) -> list[Posteriors]:
        """Return the posteriors of both directions after agreement; on the CPU, as numpy arrays."""
        known = [each.without_gradient(self.config.null) for each in logs]
        forward, backward = self._chains(known[0], *sides), self._chains(known[1], *reversed(sides))
        return agreed((forward, backward), self.config.agreement)

    def _chains(self, logs: LogProbabilities, x: Distinct, y: Distinct) -> Chains:
        real = x.places >= 0, y.places >= 0
        places = (torch.arange(real[0].shape[1], device=x.places.device) + 0.5) / real[0].sum(dim=1, keepdim=True)
        start = (-BEGINNING * places).masked_fill(~real[0], float("-inf")).softmax(dim=1)
        linked = logs.linked[x.places.unsqueeze(1), y.places.unsqueeze(2)]  # padding, −1, gets any score
        linked = linked.masked_fill(~real[0].unsqueeze(1), float("-inf"))
        words = LogEmissions(*map(_array, (linked, logs.unlinked[y.places], real[1])))
        return Chains(words, _array(self._transitions(logs, x)), _array(start))

    def _transitions(self, logs: LogProbabilities, x: Distinct) -> Tensor:
        """Return p(j | j′) [B,J′,J]."""
        transitions = logs.jumps[x.places].gather(2, self._kinds(x))
        return transitions.masked_fill((x.places < 0).unsqueeze(1), float("-inf")).softmax(dim=2)

    def _kinds(self, x: Distinct) -> Tensor:
        """Return the index of the jump from j′ to j, [B,J′,J]."""
        longest, places = self.config.jump, torch.arange(x.places.shape[1], device=x.places.device)
        kinds = (places - places.unsqueeze(1)).clamp(-longest, longest) + longest
        return kinds.expand(len(x.places), -1, -1)

    def _summed(
        self, found: Sequence[Posteriors], logs: Sequence[LogProbabilities], sides: tuple[Distinct, Distinct]
    ) -> NeuralCounts:
        """Return the expected counts of a batch, which compiled code sums as it reads."""
        unlinked, jumps = [], []
        for each, own, (x, y) in zip(found, logs, (sides, sides[::-1]), strict=True):
            expected, real = torch.as_tensor(each.expected_transitions()), y.places >= 0
            none = torch.as_tensor(each.unlinked)[real]
            unlinked.append(torch.zeros_like(own.unlinked).index_add_(0, y.places[real], none))
            gradient = expected - expected.sum(dim=2, keepdim=True) * self._transitions(own, x)
            kinds = own.jumps[x.places].zero_().scatter_add_(2, self._kinds(x), gradient)
            real = x.places >= 0
            jumps.append(torch.zeros_like(own.jumps).index_add_(0, x.places[real], kinds[real]))
        there, back = (torch.as_tensor(each.links) for each in found)
        linked = torch.zeros_like(logs[0].linked)
        x, y = sides
        cells = x.places.unsqueeze(1), y.places.unsqueeze(2)  # links of padding are 0
        linked.index_put_(cells, there * back.transpose(1, 2), accumulate=True)
        likelihood = torch.as_tensor(found[0].likelihood.sum() + found[1].likelihood.sum())
        return NeuralCounts(linked, (unlinked[0], unlinked[1]), (jumps[0], jumps[1]), likelihood)


def _array(tensor: Tensor) -> Array:
    """Return a CPU tensor as a numpy array, since numpy multiplies small matrices several times faster."""
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def _numbers(tensor: Tensor) -> Array:
    """Return a tensor as a contiguous fp32 array for compiled code."""
    return tensor.detach().float().contiguous().numpy()


@torch.no_grad()
def start(model: NeuralHmmModel, corpus: AlignerCorpus) -> None:
    """Initialize the embeddings of a model from links found by counting alone, and the biases from how often each
    subword occurs."""
    sides = corpus.source, corpus.target
    tables = list(model.tables)
    frequencies = []
    for side, table in zip(sides, tables, strict=True):
        seen = torch.bincount(torch.cat([torch.as_tensor(ids) for ids in side.subwords]), minlength=len(table))
        frequencies.append((seen + 0.1) / seen.sum())
    scores = RAISED * associations(sides, [len(table) for table in tables])
    linked = [(scores + frequencies[1].log()).log_softmax(dim=1), (scores.T + frequencies[0].log()).log_softmax(dim=1)]
    unlinked = [frequencies[1], frequencies[0]]
    counts = scores
    for _ in range(ROUNDS):
        counts, none = _links_by(model, corpus, linked, unlinked)
        linked = [
            ((each + frequency) / (each.sum(dim=1, keepdim=True) + 1)).log()
            for each, frequency in zip((counts, counts.T), reversed(frequencies), strict=True)
        ]
        unlinked = [
            (each + frequency) / (each.sum() + 1) for each, frequency in zip(none, reversed(frequencies), strict=True)
        ]
    chance = counts.sum(dim=1, keepdim=True) * counts.sum(dim=0) / counts.sum()
    association = ((counts + SMOOTHING) / (chance + SMOOTHING)).log()
    rank = min(tables[0].shape[1], *association.shape)
    left, values, right = torch.svd_lowrank(association, rank, niter=ITERATIONS)
    for table, vectors in zip(tables, (left, right), strict=True):
        table.zero_()
        table[:, :rank] = vectors * values.sqrt()
    for direction, none_of, frequency in zip(model.directions, unlinked, reversed(frequencies), strict=True):
        direction.bias.copy_(frequency.log())
        direction.none.copy_(none_of.log())


def _links_by(
    model: NeuralHmmModel, corpus: AlignerCorpus, linked: Sequence[Tensor], unlinked: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return Σ γ_ij γ′_ji [U,V] over all pairs, and for each direction how often each subword is unlinked. linked and
    unlinked: as in `LogProbabilities`, but for the whole vocabularies; unlinked holds probabilities, not logarithms."""
    logs = [
        LogProbabilities(each, none.log(), direction.jumps.bias.expand(len(each), -1))
        for each, none, direction in zip(linked, unlinked, model.directions, strict=True)
    ]

    def whole(side: SideBatch) -> Distinct:
        return Distinct(side.subwords, side.subwords.masked_fill(~side.real, -1), side.subwords)

    lengths = corpus.lengths()
    groups = token_batches(lengths.argsort(kind="stable").tolist(), lengths, START_TOKENS)
    read = (corpus.batch(group, torch.device("cpu")) for group in groups)
    found = model._e_step(logs, ((whole(x), whole(y)) for x, y, _ in read))
    return found.linked, found.unlinked


def associations(sides: Sequence[EncodedSide], sizes: Sequence[int]) -> Tensor:
    """Return the first M for all subwords of both vocabularies, [U,V]."""
    joint, (of_source, of_target) = torch.zeros(*sizes), map(torch.zeros, sizes)
    pairs = len(sides[0].subwords)
    for first in range(0, pairs, CHUNK):
        source, target = (
            _present(side.subwords[first : first + CHUNK], size) for side, size in zip(sides, sizes, strict=True)
        )
        joint += source.T @ target
        of_source += source.sum(dim=0)
        of_target += target.sum(dim=0)
    rarer = torch.minimum(of_source.unsqueeze(1), of_target)
    chance = of_source.unsqueeze(1) * of_target / pairs
    gain = (joint / chance).log().clamp(min=0).where(joint > 0, 0.0)
    return gain * joint / (joint + 1) * rarer / (rarer + 1)


def _present(sentences: Sequence[Ids], size: int) -> Tensor:
    """Return 1 where a sentence contains a subword, [n,size]."""
    present = torch.zeros(len(sentences), size)
    for row, ids in zip(present, sentences, strict=True):
        row[torch.as_tensor(ids)] = 1
    return present
