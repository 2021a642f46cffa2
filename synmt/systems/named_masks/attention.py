"""The tensors of `named-masks`: learned strengths of the user's own masks."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from synmt.nn.attention import AttentionEdit
from synmt.nn.encoding import EncoderPass, SourceBatch
from synmt.systems.mask.attention import biases_of


class NamedMatrices(nn.Module):
    """−exp of the strengths of all masks that hold of a pair, summed; strengths [H, M]."""

    def __init__(self, heads: int, layers: int, names: Sequence[str]) -> None:
        super().__init__()
        self.layers, self.names = layers, names
        self.strengths = nn.Parameter(torch.zeros(heads, len(names)))

    def forward(self, batch: SourceBatch) -> EncoderPass:
        matrices = self.held(batch)
        with torch.autocast(matrices.device.type, enabled=False):
            values = biases_of(self.strengths)
            bias = (values @ matrices.flatten(2).to(values.dtype)).unflatten(2, matrices.shape[2:])
        return EncoderPass([AttentionEdit(bias=bias)] * self.layers)

    def held(self, batch: SourceBatch) -> Tensor:
        """Return which masks hold of each pair, [B,M,n,n] bool."""
        return torch.stack([batch.matrices[name] for name in self.names], dim=1)
