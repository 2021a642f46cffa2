"""Embeddings that know which subwords meet more often than by chance (see idea.py).

With n(u, v) of N pairs those that hold both, M_uv = log(n(u, v) N / (n(u) n(v))), zero where it is less, times
n(u, v) / (n(u, v) + 1) · n / (n + 1) with n the smaller of n(u) and n(v), which keeps rare subwords from seeming sure
(Pantel & Lin 2002, "Discovering Word Senses from Text", KDD). Of RAISED · M, the d greatest singular values and their
vectors U S Vᵀ give e = U √S and f = V √S, as in Levy & Goldberg (2014), "Neural Word Embedding as Implicit Matrix
Factorization", NeurIPS.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from synmt.alignment.corpus import AlignerCorpus, EncodedSide
from synmt.alignment.neural_hmm.model import NeuralHmmModel
from synmt.model.batches import Ids

RAISED = 2.0
CHUNK = 1000  # pairs counted at once
ITERATIONS = 3  # of the randomized decomposition


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
