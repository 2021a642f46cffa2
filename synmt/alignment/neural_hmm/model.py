"""The probabilities of both directions, on two tables of embeddings (see aligner.py).

Learning starts from counts of links between subwords, without a network. At first, with n(u, v) of N pairs those that
hold both, p(v | u) ∝ p(v) e^(2M), M_uv = log(n(u, v) N / (n(u) n(v))), zero where it is less, times n(u, v) / (n(u, v)
+ 1) · n / (n + 1) with n the smaller of n(u) and n(v), which keeps rare subwords from seeming certain (Pantel & Lin
2002, "Discovering Word Senses from Text", KDD). Then, ROUNDS times, both directions read all pairs, c(u, v) = Σ γ_ij
γ′_ji, and p(v | u) = (c(u, v) + p(v)) / (c(u) + 1). From the last counts,

    M_uv = log((c(u, v) + SMOOTHING) / (c(u) c(v) / c + SMOOTHING))

and its d greatest singular values and their vectors U S Vᵀ give e = U √S and f = V √S, as in Levy & Goldberg (2014),
"Neural Word Embedding as Implicit Matrix Factorization", NeurIPS.

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
from synmt.alignment.chains import Array, Chains, Found, Scores, agreed
from synmt.alignment.corpus import AlignerCorpus, EncodedSide, SideBatch
from synmt.data.batches import Ids, token_batches
from synmt.nn.dropout import dropout
from synmt.nn.losses import Loss
from synmt.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from synmt.alignment.neural_hmm.aligner import NeuralHmm

BEGINNING = 4.0  # κ, how much the first subword favours the beginning
NEXT = 0.3  # how much less likely each step away from the next subword makes a jump, at first
RAISED = 2.0
CHUNK = 1000  # pairs counted at once, or subwords whose totals are
ROWS = 64  # of scores that are worked on at once, which stay in a core's cache
ROUNDS = 2  # of counting before the first update
SMOOTHING = 0.1
START_TOKENS = 16384  # sentences × longest side of a batch that is counted
ITERATIONS = 3  # of the randomized decomposition


@dataclass(frozen=True, slots=True)
class Distinct:
    """The subwords of one side of a batch, each once. ids [U]; places [B,J]: which of them stands where, −1 of padding;
    vectors [U,d]: their embeddings."""

    ids: Tensor
    places: Tensor
    vectors: Tensor

    @classmethod
    def of(cls, side: SideBatch, table: Tensor) -> "Distinct":
        ids, places = side.subwords[side.real].unique(return_inverse=True)
        padded = torch.full_like(side.subwords, -1).masked_scatter_(side.real, places)
        return cls(ids, padded, F.embedding(ids, table))


@dataclass(frozen=True, slots=True)
class Chances:
    """Logarithms of what one direction reads and predicts. linked [U,V]: p(v | u); unlinked [V]: p(v | none); jumps
    [U,2m+1]: s_d + w_d · e_u, of which the softmax over the subwords of a pair is p(j | j′)."""

    linked: Tensor
    unlinked: Tensor
    jumps: Tensor

    def without_gradient(self, null: float) -> "Chances":
        """Return what forward–backward reads, with p₀ and without gradients."""
        linked, unlinked = self.linked.detach() + log1p(-null), self.unlinked.detach() + log(null)
        return Chances(linked.contiguous(), unlinked.contiguous(), self.jumps.detach().contiguous())


@dataclass(frozen=True, slots=True)
class Expected:
    """What both directions find in a batch, summed. linked [U,V]: Σ γ_ij γ′_ji; of each direction: unlinked [V], and
    jumps [U,2m+1], the gradient of Σ ξ_jj′ log p(j | j′) with respect to the scores of jumps; likelihood: log p(y | x)
    + log p(x | y)."""

    linked: Tensor
    unlinked: tuple[Tensor, Tensor]
    jumps: tuple[Tensor, Tensor]
    likelihood: Tensor

    def plus(self, other: "Expected") -> "Expected":
        unlinked, jumps = (
            (one[0] + two[0], one[1] + two[1])
            for one, two in ((self.unlinked, other.unlinked), (self.jumps, other.jumps))
        )
        return Expected(self.linked + other.linked, unlinked, jumps, self.likelihood + other.likelihood)


class _Totals(torch.autograd.Function):
    """log Σ_v e^(f_v · e_u + b_v) [U] of e [U,d], f [V,d] and b [V]: the largest product of an update, so that its
    softmax takes the place of the scores in memory, a few rows at a time."""

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


class Direction(nn.Module):
    """What one direction has of its own: b, n, s and w."""

    def __init__(self, width: int, predicted: int, longest: int) -> None:
        super().__init__()
        self.longest = longest
        self.bias, self.none = nn.Parameter(torch.empty(predicted)), nn.Parameter(torch.empty(predicted))
        self.jumps = nn.Linear(width, 2 * longest + 1)

    def reset_parameters(self) -> None:
        """Favour the next place, and no subword."""
        for each in (self.bias, self.none, self.jumps.weight, self.jumps.bias):
            nn.init.zeros_(each)
        with torch.no_grad():
            distances = torch.arange(-self.longest, self.longest + 1, device=self.jumps.bias.device)
            self.jumps.bias.sub_(NEXT * (distances - 1).abs())

    def totals(self, read: Tensor, table: Tensor) -> Tensor:
        """Return log Σ_v e^(f_v · e_u + b_v) for embeddings of u [U,d]."""
        totals: Tensor = _Totals.apply(read, table, self.bias)
        return totals

    def forward(self, x: Distinct, y: Distinct, states: Tensor, totals: Tensor) -> Chances:
        """states [U,d]: what y is predicted from; totals [U]: of these."""
        linked = (states @ y.vectors.T).float() + self.bias[y.ids] - totals.unsqueeze(1)
        return Chances(linked, self.none.log_softmax(dim=0)[y.ids], self.jumps(x.vectors).float())


class NeuralHmmModel(nn.Module):
    """Source x and target y; the forward direction predicts y from x, the backward one x from y."""

    def __init__(
        self, options: "NeuralHmm", width: int, dropout: float, vocabularies: tuple[Vocabulary, Vocabulary]
    ) -> None:
        super().__init__()
        self.options, self.dropout = options, dropout
        sizes = [len(each.target) for each in vocabularies]
        self.tables = nn.ParameterList(torch.empty(size, width) for size in sizes)
        self.forward_direction, self.backward_direction = (
            Direction(width, size, options.jump) for size in reversed(sizes)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw embeddings from N(0, 1/d)."""
        for table in self.tables:
            nn.init.normal_(table, std=table.shape[1] ** -0.5)
        for direction in (self.forward_direction, self.backward_direction):
            direction.reset_parameters()

    def loss(
        self, x: SideBatch, y: SideBatch, links: Tensor | None = None, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        """Return −log p(y | x) − log p(x | y) as `translation`, and what has the gradient of L as `total`. There are no
        links to learn, and no smoothing and no unknown words."""
        sides = self._distinct(x, y)
        chances = self._chances(sides)
        found = self._expected(chances, [sides])
        total = -(found.linked * chances[0].linked).sum() - (found.linked.T * chances[1].linked).sum()
        for each, unlinked, jumps in zip(chances, found.unlinked, found.jumps, strict=True):
            total = total - (unlinked * each.unlinked).sum() - (jumps * each.jumps).sum()
        return Loss(-found.likelihood, int(x.real.sum() + y.real.sum()), total)

    @torch.no_grad()
    def totals(self) -> list[Tensor]:
        """Return log Σ_v e^(f_v · e_u + b_v) [U], and the same of the backward direction, [V]."""
        directions = self.forward_direction, self.backward_direction
        both = zip(directions, self.tables, reversed(list(self.tables)), strict=True)
        return [torch.cat([own.totals(rows, table) for rows in read.split(CHUNK)]) for own, read, table in both]

    @torch.no_grad()
    def posteriors(self, x: SideBatch, y: SideBatch, totals: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return γ [B,I,J] and γ′ [B,J,I], zero where padded; totals: of this model, which does not learn any more."""
        sides = self._distinct(x, y)
        found = self._found(self._chances(sides, totals), sides)
        return torch.as_tensor(found[0].links), torch.as_tensor(found[1].links)

    @torch.no_grad()
    def by_vectors(self) -> tuple[compiled.Vectors, list[compiled.ByVectors]]:
        """Return what compiled code reads of a model on the CPU that does not learn any more. In fp64, whose rounding
        leaves the same fp32 numbers on all processors but for one in millions."""
        directions = self.forward_direction, self.backward_direction
        vectors = compiled.Vectors(*(_numbers(table) for table in self.tables))
        totals = vectors.totals((_numbers(directions[0].bias), _numbers(directions[1].bias)))
        return vectors, [
            compiled.ByVectors(
                _numbers(own.none.double().log_softmax(dim=0) + log(self.options.null)),
                _numbers(F.linear(table.double(), own.jumps.weight.double(), own.jumps.bias.double())),
                _numbers(own.bias.double() + log1p(-self.options.null)),
                total,
            )
            for own, table, total in zip(directions, self.tables, totals, strict=True)
        ]

    def _distinct(self, x: SideBatch, y: SideBatch) -> tuple[Distinct, Distinct]:
        return Distinct.of(x, self.tables[0]), Distinct.of(y, self.tables[1])

    def _chances(self, sides: tuple[Distinct, Distinct], totals: Sequence[Tensor] = ()) -> list[Chances]:
        """Return those of both directions; totals: those of the model, or none."""
        chances = []
        directions = self.forward_direction, self.backward_direction
        for number, (x, y, table) in enumerate(((*sides, self.tables[1]), (*sides[::-1], self.tables[0]))):
            direction, states = directions[number], dropout(x.vectors, self.dropout, self.training)
            of_states = totals[number][x.ids] if totals else direction.totals(states, table)
            chances.append(direction(x, y, states, of_states))
        return chances

    @torch.no_grad()
    def _expected(self, chances: Sequence[Chances], batches: Iterable[tuple[Distinct, Distinct]]) -> Expected:
        """Return what both directions find in batches, which share their distinct subwords."""
        with torch.autocast(chances[0].linked.device.type, enabled=False):
            if not _is_compiled(chances[0].linked):
                return reduce(
                    Expected.plus, (self._summed(self._found(chances, each), chances, each) for each in batches)
                )
            directions = self._compiled([each.without_gradient(self.options.null) for each in chances])
            counts, likelihood = np.zeros(chances[0].linked.shape, np.float32), 0.0
            for x, y in batches:
                likelihood += compiled.read(
                    directions, (x.places.numpy(), y.places.numpy()), self.options.agreement, counts
                )[0]
        unlinked, jumps = (
            (torch.from_numpy(one), torch.from_numpy(two))
            for one, two in zip(*((each.unlinked, each.taken) for each in directions), strict=True)
        )
        return Expected(torch.from_numpy(counts), unlinked, jumps, torch.tensor(likelihood))

    def _compiled(self, chances: Sequence[Chances]) -> list[compiled.ByScores]:
        """Return both directions as compiled code reads them."""
        return [
            compiled.ByScores(
                *(tensor.numpy() for tensor in (each.linked, each.unlinked, each.jumps)),
                *(np.zeros(tensor.shape, np.float32) for tensor in (each.unlinked, each.jumps)),
            )
            for each in chances
        ]

    def _found(self, chances: Sequence[Chances], sides: tuple[Distinct, Distinct]) -> list[Found]:
        """Return what both directions find, as numpy arrays where they are on the CPU."""
        known = [each.without_gradient(self.options.null) for each in chances]
        forward, backward = self._chains(known[0], *sides), self._chains(known[1], *reversed(sides))
        return agreed((forward, backward), self.options.agreement)

    def _chains(self, chances: Chances, x: Distinct, y: Distinct) -> Chains:
        real = x.places >= 0, y.places >= 0
        places = (torch.arange(real[0].shape[1], device=x.places.device) + 0.5) / real[0].sum(dim=1, keepdim=True)
        start = (-BEGINNING * places).masked_fill(~real[0], float("-inf")).softmax(dim=1)
        linked = chances.linked[x.places.unsqueeze(1), y.places.unsqueeze(2)]  # padding is the last subword, unread
        linked = linked.masked_fill(~real[0].unsqueeze(1), float("-inf"))
        words = Scores(*map(_array, (linked, chances.unlinked[y.places], real[1])))
        return Chains(words, _array(self._moves(chances, x)), _array(start))

    def _moves(self, chances: Chances, x: Distinct) -> Tensor:
        """Return p(j | j′) [B,J′,J]."""
        moves = chances.jumps[x.places].gather(2, self._kinds(x))
        return moves.masked_fill((x.places < 0).unsqueeze(1), float("-inf")).softmax(dim=2)

    def _kinds(self, x: Distinct) -> Tensor:
        """Return which jump leads from j′ to j, [B,J′,J]."""
        longest, places = self.options.jump, torch.arange(x.places.shape[1], device=x.places.device)
        kinds = (places - places.unsqueeze(1)).clamp(-longest, longest) + longest
        return kinds.expand(len(x.places), -1, -1)

    def _summed(self, found: Sequence[Found], chances: Sequence[Chances], sides: tuple[Distinct, Distinct]) -> Expected:
        """Return what compiled code returns at once."""
        unlinked, jumps = [], []
        for each, own, (x, y) in zip(found, chances, (sides, sides[::-1]), strict=True):
            taken, real = torch.as_tensor(each.taken()), y.places >= 0
            none = torch.as_tensor(each.unlinked)[real]
            unlinked.append(torch.zeros_like(own.unlinked).index_add_(0, y.places[real], none))
            gradient = taken - taken.sum(dim=2, keepdim=True) * self._moves(own, x)
            kinds = own.jumps[x.places].zero_().scatter_add_(2, self._kinds(x), gradient)
            real = x.places >= 0
            jumps.append(torch.zeros_like(own.jumps).index_add_(0, x.places[real], kinds[real]))
        there, back = (torch.as_tensor(each.links) for each in found)
        linked = torch.zeros_like(chances[0].linked)
        x, y = sides
        cells = x.places.unsqueeze(1), y.places.unsqueeze(2)  # what padding links is 0
        linked.index_put_(cells, there * back.transpose(1, 2), accumulate=True)
        likelihood = torch.as_tensor(found[0].likelihood.sum() + found[1].likelihood.sum())
        return Expected(linked, (unlinked[0], unlinked[1]), (jumps[0], jumps[1]), likelihood)


def _is_compiled(tensor: Tensor) -> bool:
    """Return whether compiled code reads what is on the device of a tensor."""
    return tensor.device.type == "cpu" and compiled.library() is not None


def _array(tensor: Tensor) -> Array:
    """Return a tensor of the CPU as a numpy array, whose small matrices are multiplied several times faster."""
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def _numbers(tensor: Tensor) -> Array:
    """Return a tensor in fp32 as compiled code reads it."""
    return tensor.detach().float().contiguous().numpy()


@torch.no_grad()
def start(model: NeuralHmmModel, corpus: AlignerCorpus) -> None:
    """Set the embeddings of a model by the links that counts alone find in the pairs, and biases by how often each
    subword is there."""
    sides = corpus.source, corpus.target
    tables = list(model.tables)
    shares = []
    for side, table in zip(sides, tables, strict=True):
        seen = torch.bincount(torch.cat([torch.as_tensor(ids) for ids in side.subwords]), minlength=len(table))
        shares.append((seen + 0.1) / seen.sum())
    scores = RAISED * associations(sides, [len(table) for table in tables])
    linked = [(scores + shares[1].log()).log_softmax(dim=1), (scores.T + shares[0].log()).log_softmax(dim=1)]
    unlinked = [shares[1], shares[0]]
    counts = scores
    for _ in range(ROUNDS):
        counts, none = _links_by(model, corpus, linked, unlinked)
        linked = [
            ((each + share) / (each.sum(dim=1, keepdim=True) + 1)).log()
            for each, share in zip((counts, counts.T), reversed(shares), strict=True)
        ]
        unlinked = [(each + share) / (each.sum() + 1) for each, share in zip(none, reversed(shares), strict=True)]
    chance = counts.sum(dim=1, keepdim=True) * counts.sum(dim=0) / counts.sum()
    association = ((counts + SMOOTHING) / (chance + SMOOTHING)).log()
    rank = min(tables[0].shape[1], *association.shape)
    left, values, right = torch.svd_lowrank(association, rank, niter=ITERATIONS)
    for table, vectors in zip(tables, (left, right), strict=True):
        table.zero_()
        table[:, :rank] = vectors * values.sqrt()
    directions = model.forward_direction, model.backward_direction
    for direction, none_of, share in zip(directions, unlinked, reversed(shares), strict=True):
        direction.bias.copy_(share.log())
        direction.none.copy_(none_of.log())


def _links_by(
    model: NeuralHmmModel, corpus: AlignerCorpus, linked: Sequence[Tensor], unlinked: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return Σ γ_ij γ′_ji [U,V] of all pairs, and how often each subword has no link in either direction; linked and
    unlinked: as in `Chances`, but of the whole vocabularies and without logarithms of the latter."""
    chances = [
        Chances(each, none.log(), direction.jumps.bias.expand(len(each), -1))
        for each, none, direction in zip(
            linked, unlinked, (model.forward_direction, model.backward_direction), strict=True
        )
    ]

    def whole(side: SideBatch) -> Distinct:
        return Distinct(side.subwords, side.subwords.masked_fill(~side.real, -1), side.subwords)

    lengths = corpus.lengths()
    groups = token_batches(lengths.argsort(kind="stable").tolist(), lengths, START_TOKENS)
    read = (corpus.batch(group, torch.device("cpu")) for group in groups)
    found = model._expected(chances, ((whole(x), whole(y)) for x, y, _ in read))
    return found.linked, found.unlinked


def associations(sides: Sequence[EncodedSide], sizes: Sequence[int]) -> Tensor:
    """Return the first M, of all subwords of either vocabulary, [U,V]."""
    together, (of_source, of_target) = torch.zeros(*sizes), map(torch.zeros, sizes)
    pairs = len(sides[0].subwords)
    for first in range(0, pairs, CHUNK):
        source, target = (
            _present(side.subwords[first : first + CHUNK], size) for side, size in zip(sides, sizes, strict=True)
        )
        together += source.T @ target
        of_source += source.sum(dim=0)
        of_target += target.sum(dim=0)
    rarer = torch.minimum(of_source.unsqueeze(1), of_target)
    chance = of_source.unsqueeze(1) * of_target / pairs
    gain = (together / chance).log().clamp(min=0).where(together > 0, 0.0)
    return gain * together / (together + 1) * rarer / (rarer + 1)


def _present(sentences: Sequence[Ids], size: int) -> Tensor:
    """Return 1 where a sentence holds a subword, [n,size]."""
    present = torch.zeros(len(sentences), size)
    for row, ids in zip(present, sentences, strict=True):
        row[torch.as_tensor(ids)] = 1
    return present
