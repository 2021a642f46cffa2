"""The probabilities of both directions, on two tables of embeddings (see aligner.py).

Learning starts from embeddings that know which subwords meet more often than by chance. With n(u, v) of N pairs those
that hold both, M_uv = log(n(u, v) N / (n(u) n(v))), zero where it is less, times n(u, v) / (n(u, v) + 1) · n / (n + 1)
with n the smaller of n(u) and n(v), which keeps rare subwords from seeming sure (Pantel & Lin 2002, "Discovering Word
Senses from Text", KDD). Of RAISED · M, the d greatest singular values and their vectors U S Vᵀ give e = U √S and
f = V √S, as in Levy & Goldberg (2014), "Neural Word Embedding as Implicit Matrix Factorization", NeurIPS.

Shapes: B pairs, J source and I target subwords, d width, V predictable entries of a vocabulary, m the longest jump.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.alignment.chains import Array, Chains, Found, Scores, agreed
from synmt.alignment.corpus import AlignerCorpus, EncodedSide, SideBatch
from synmt.model.batches import Ids
from synmt.nn.dropout import dropout
from synmt.nn.losses import Loss
from synmt.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from synmt.alignment.neural_hmm.aligner import NeuralHmm

BEGINNING = 4.0  # κ, how much the first subword favours the beginning
NEXT = 0.3  # how much less likely each step away from the next subword makes a jump, at first
RAISED = 2.0
CHUNK = 1000  # pairs counted at once
ITERATIONS = 3  # of the randomized decomposition


@dataclass(frozen=True, slots=True)
class Chances:
    """Logarithms. linked [B,I,J]: p(y_i | x_j); unlinked [B,I]: p(y_i | none); moves [B,J,J]: p(j | j′), −inf where j
    is padded."""

    linked: Tensor
    unlinked: Tensor
    moves: Tensor


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
        """Return log Σ_v e^(f_v · e_u + b_v) for embeddings of u [...,d]."""
        return F.linear(read, table, self.bias).float().logsumexp(dim=-1)

    def forward(
        self, read: Tensor, real: Tensor, words: Tensor, table: Tensor, share: float, totals: Tensor | None
    ) -> Chances:
        """read [B,J,d]: embeddings of x; real [B,J]; words y [B,I], less than V; table [V,d]: embeddings of y; share:
        dropout of what y is predicted from; totals [B,J]: those of x, if they are known."""
        states = dropout(read, share, self.training)
        if totals is None:
            totals = self.totals(states, table)
        scores = (F.embedding(words, table) @ states.transpose(1, 2)).float()
        linked = scores + self.bias[words].unsqueeze(2) - totals.unsqueeze(1)
        unlinked = self.none.log_softmax(dim=0)[words]
        places = torch.arange(read.shape[1], device=read.device)
        kinds = (places - places.unsqueeze(1)).clamp(-self.longest, self.longest) + self.longest
        moves = self.jumps(read).float().gather(2, kinds.expand(len(read), -1, -1))
        moves = moves.masked_fill(~real.unsqueeze(1), float("-inf")).log_softmax(dim=2)
        return Chances(linked, unlinked, moves)


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
        """Return −log p(y | x) − log p(x | y) as `translation`, and what is minimized. There are no links to learn,
        and no smoothing and no unknown words."""
        chances = self._chances(x, y)
        there, back = self._found(*chances, x, y)
        both = there.links * back.links.transpose(1, 2)
        total = chances[0].linked.new_zeros(())
        counts, sides = (both, both.transpose(1, 2)), (y, x)
        for found, each, linked, side in zip((there, back), chances, counts, sides, strict=True):
            taken = found.taken()
            moves = each.moves.masked_fill(taken == 0, 0.0)
            total = total - (linked * each.linked).sum() - (found.unlinked * side.real * each.unlinked).sum()
            total = total - (taken * moves).sum()
        tokens = int(x.real.sum() + y.real.sum())
        return Loss(-(there.likelihood.sum() + back.likelihood.sum()), tokens, total)

    def unknown_totals(self) -> list[Tensor]:
        """Return what `posteriors` is to fill: totals of all that may be read, [V] of source and target."""
        return [table.new_full(table.shape[:1], float("nan"), dtype=torch.float) for table in self.tables]

    @torch.no_grad()
    def posteriors(self, x: SideBatch, y: SideBatch, totals: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return γ [B,I,J] and γ′ [B,J,I], zero where padded.

        totals: of this model, which does not learn any more; those that are not known yet are filled in.
        """
        directions = self.forward_direction, self.backward_direction
        for side, known, own, other, direction in zip(
            (x, y), totals, self.tables, reversed(self.tables), directions, strict=True
        ):
            words = side.subwords[side.real].unique()
            new = words[known[words].isnan()]
            known[new] = direction.totals(own[new], other)
        there, back = self._found(*self._chances(x, y, totals), x, y)
        return there.links, back.links

    def _chances(self, x: SideBatch, y: SideBatch, totals: Sequence[Tensor] = ()) -> tuple[Chances, Chances]:
        words = x.subwords * x.real, y.subwords * y.real  # padding is no row of the tables
        read = [F.embedding(each, table) for each, table in zip(words, self.tables, strict=True)]
        known = [each[own] for each, own in zip(totals, words, strict=True)] if totals else [None, None]
        forward = self.forward_direction(read[0], x.real, words[1], self.tables[1], self.dropout, known[0])
        return forward, self.backward_direction(read[1], y.real, words[0], self.tables[0], self.dropout, known[1])

    @torch.no_grad()
    def _found(self, forward: Chances, backward: Chances, x: SideBatch, y: SideBatch) -> list[Found]:
        chains = self._chains(forward, x, y), self._chains(backward, y, x)
        with torch.autocast(forward.linked.device.type, enabled=False):
            return [_on_tensors(found) for found in agreed(chains, self.options.agreement)]

    def _chains(self, chances: Chances, x: SideBatch, y: SideBatch) -> Chains:
        none = torch.tensor(self.options.null, device=chances.linked.device)
        places = (torch.arange(x.real.shape[1], device=none.device) + 0.5) / x.real.sum(dim=1, keepdim=True)
        start = (-BEGINNING * places).masked_fill(~x.real, float("-inf")).softmax(dim=1)
        linked = (chances.linked + (1 - none).log()).masked_fill(~x.real.unsqueeze(1), float("-inf"))
        words = Scores(*map(_array, (linked, chances.unlinked + none.log(), y.real)))
        return Chains(words, _array(chances.moves.exp()), _array(start))


def _array(tensor: Tensor) -> Array:
    """Return a tensor of the CPU as a numpy array, whose small matrices are multiplied several times faster."""
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def _on_tensors(found: Found) -> Found:
    return Found(*(torch.as_tensor(getattr(found, each.name)) for each in fields(Found)))


@torch.no_grad()
def start(model: NeuralHmmModel, corpus: AlignerCorpus) -> None:
    """Set the embeddings of a model by what meets in the pairs, and biases by how often each subword is there."""
    sides = corpus.source, corpus.target
    tables = list(model.tables)
    association = RAISED * associations(sides, [len(table) for table in tables])
    rank = min(tables[0].shape[1], *association.shape)
    left, values, right = torch.svd_lowrank(association, rank, niter=ITERATIONS)
    for table, vectors in zip(tables, (left, right), strict=True):
        table.zero_()
        table[:, :rank] = vectors * values.sqrt()
    for direction, side in zip((model.backward_direction, model.forward_direction), sides, strict=True):
        seen = torch.cat([torch.as_tensor(ids) for ids in side.subwords])
        counts = torch.bincount(seen, minlength=len(direction.bias))
        logs = ((counts + 0.1) / counts.sum()).log()
        direction.bias.copy_(logs)
        direction.none.copy_(logs)


def associations(sides: Sequence[EncodedSide], sizes: Sequence[int]) -> Tensor:
    """Return M, of all subwords of either vocabulary, [U,V]."""
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
