"""Learned masks over the nine relations between nodes of a tree, as biases of attention (synmt.systems.mask)."""

import torch
from torch import Tensor, nn

from synmt.nn.attention import AttentionEdit
from synmt.nn.encoding import EncoderPass, SourceBatch
from synmt.trees.relations import RELATIONS

STRENGTH_LIMIT = 10.0  # exp(10) hides a key in every precision; more would only risk an overflow


class TreeMasks(nn.Module):
    """−exp of the strength of each pair's relation; strengths [1 or layers, H, 9]."""

    def __init__(self, heads: int, layers: int, per_layer: bool) -> None:
        super().__init__()
        self.layers = layers
        self.strengths = nn.Parameter(torch.zeros(layers if per_layer else 1, heads, len(RELATIONS)))

    def forward(self, batch: SourceBatch) -> EncoderPass:
        edits = [AttentionEdit(bias=bias) for bias in self.biases(batch)]
        return EncoderPass(edits * self.layers if len(edits) == 1 else edits)

    def biases(self, batch: SourceBatch) -> list[Tensor]:
        """[B,H,n,n] for each set of strengths."""
        cells = relations(batch.vectors["parents"], batch.vectors["ends"])
        one_hot = cells.unsqueeze(1) == torch.arange(len(RELATIONS), device=cells.device).view(1, -1, 1, 1)
        with torch.autocast(cells.device.type, enabled=False):
            values = -self.strengths.float().clamp(max=STRENGTH_LIMIT).exp()
            flat = one_hot.flatten(2).to(values.dtype)
            return [(layer @ flat).unflatten(2, cells.shape[1:]) for layer in values]


def relations(parents: Tensor, ends: Tensor) -> Tensor:
    """Ids of synmt.trees.relations.RELATIONS for a batch, row = query, column = key.

    parents and ends [B,n] int64 (a root's parent is −1), padded with anything → [B,n,n] uint8.
    """
    length = parents.shape[1]
    index = torch.arange(length, device=parents.device)
    query, key = index.view(1, length, 1), index.view(1, 1, length)
    parent_of_query, parent_of_key = parents.unsqueeze(2), parents.unsqueeze(1)
    after = key > query
    cells = 7 + after.to(torch.uint8).expand(len(parents), -1, -1)
    below = after & (key < ends.unsqueeze(2))
    cells = cells.masked_fill(below, 6).masked_fill_(below.transpose(1, 2), 5)
    siblings = parent_of_query == parent_of_key
    cells.masked_fill_(siblings & after, 4).masked_fill_(siblings & (key < query), 3)
    cells.masked_fill_(parent_of_key == query, 2).masked_fill_(parent_of_query == key, 1)
    return cells.masked_fill_(query == key, 0)
