"""What models learn from the links of another aligner.

Shapes: B pairs, I target and J source positions.
"""

from collections.abc import Sequence, Set

import numpy as np
import torch
from torch import Tensor

from synmt.model.batches import Ids
from synmt.text.links import Link


def guided_loss(weights: Tensor, links: Tensor) -> Tensor:
    """Return −Σ G log A: cross-entropy of attention with links, summed over target positions (Garg et al. 2019, eq. 4).

    weights A [B,I,J], rows sum to at most 1; links [k,3] of sentence, target and source position. G is uniform
    over the links of a position; a position without links is not in the sum.
    """
    sentence, target, source = links.unbind(dim=1)
    counts = torch.zeros(weights.shape[:2], device=weights.device)
    counts.index_put_((sentence, target), torch.ones_like(sentence, dtype=counts.dtype), accumulate=True)
    linked = weights.float()[sentence, target, source].clamp(min=torch.finfo(torch.float32).tiny)
    return -(linked.log() / counts[sentence, target]).sum()


def weights_of_words(weights: Tensor, words: Tensor) -> Tensor:
    """Return what the word of each source subword gets in all: weights [B,I,J], words [B,J] → [B,I,J]

    words: the number of the word that a subword is of, less than J; where padded, the weights are zero.
    """
    index = words.unsqueeze(1).expand_as(weights)
    return torch.zeros_like(weights).scatter_add(2, index, weights).gather(2, index)


def links_of_subwords(links: Set[Link], source_words: Sequence[int], target_words: Sequence[int]) -> Ids:
    """Return the subwords of linked words, (target, source), [k,2], by the word that each subword is of."""
    linked = [(i, j) for i, v in enumerate(target_words) for j, u in enumerate(source_words) if (u, v) in links]
    return np.array(linked, np.int32).reshape(-1, 2)
