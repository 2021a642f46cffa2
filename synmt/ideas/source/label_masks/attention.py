"""The tensors of `label-masks`: learned strengths of labels and sides, as biases of attention."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.ideas.source.mask.attention import UNMASKED, biases_of, pass_of
from synmt.nn.encoding import EncoderPass, SourceBatch
from synmt.nn.lookup import lookup

FARTHEST = 2**62  # above every node


class LabelStrengths(nn.Module):
    """−exp of the strength of each pair's label and side.

    strengths [1 or layers, H, 3+2L]: first the strength of a token with itself; then, for unknown labels and each of L
    labels, the strength of keys on the right and of keys on the left.
    """

    names: Sequence[str]

    def __init__(self, heads: int, layers: int, labels: Sequence[str], per_layer: bool) -> None:
        super().__init__()
        self.layers, self.labels = layers, 1 + len(labels)
        sides = (f"{label} {side}" for label in ("unknown", *labels) for side in ("right", "left"))
        self.names = ["self", *sides]
        self.strengths = nn.Parameter(torch.zeros(layers if per_layer else 1, heads, len(self.names)))

    def forward(self, batch: SourceBatch) -> EncoderPass:
        cells = kinds(batch.columns["lowest_depths"], batch.columns["lowest"], self.labels)
        tables = F.pad(biases_of(self.strengths), (0, 1), value=UNMASKED)
        with torch.autocast(cells.device.type, enabled=False):
            return pass_of([lookup(table, cells) for table in tables], self.layers)


def kinds(depths: Tensor, labels: Tensor, count: int) -> Tensor:
    """Return the index of each pair's strength, row = query, column = key. Pairs without a mask get the number of
    strengths.

    depths, labels [B,n] int64: of the lowest node above each token and the next one, as in LabelMasks; labels are below
    `count` → [B,n,n] uint8, or int16 for many labels.
    """
    length = depths.shape[1]
    index = torch.arange(length, device=depths.device)
    query, key = index.view(1, -1, 1), index.view(1, 1, -1)
    is_none = depths < 0
    nodes = (depths * count + labels).masked_fill(is_none, FARTHEST).unsqueeze(1)
    nodes = nodes.expand(-1, length, -1).masked_fill(key < query, FARTHEST)
    highest = F.pad(nodes.cummin(dim=2).values[:, :, :-1], (1, 0))  # from the query up to just before the key
    most = 2 * count + 1
    cells = (1 + 2 * (highest % count)).to(torch.uint8 if most < 2**8 else torch.int16)
    cells = torch.where(key > query, cells, cells.transpose(1, 2) + 1).masked_fill_(key == query, 0)
    return cells.masked_fill_(is_none.unsqueeze(1) | is_none.unsqueeze(2), most)
