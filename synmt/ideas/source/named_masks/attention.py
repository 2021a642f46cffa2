"""The tensors of `named-masks`: learned strengths of the user's own masks."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from synmt.ideas.source.mask.attention import biases_of
from synmt.nn.attention import AttentionEdit
from synmt.nn.encoding import EncoderPass, SourceBatch

Form = Literal["paper", "sum"]


class NamedMatrices(nn.Module):
    """−exp(Σ s) or −Σ exp(s) over the masks that mark a pair, as NamedMasks explains; strengths [H, M]."""

    def __init__(self, heads: int, layers: int, names: Sequence[str], form: Form) -> None:
        super().__init__()
        self.layers, self.names, self.form = layers, names, form
        self.strengths = nn.Parameter(torch.zeros(heads, len(names)))

    def forward(self, batch: SourceBatch) -> EncoderPass:
        (bias,) = self.biases(batch)
        return EncoderPass(
            [AttentionEdit(penalty=-bias) if self.form == "paper" else AttentionEdit(bias)] * self.layers
        )

    def biases(self, batch: SourceBatch) -> list[Tensor]:
        """Return a bias [B,H,n,n] for the single set of strengths."""
        matrices = self.held(batch)
        with torch.autocast(matrices.device.type, enabled=False):
            values = self.strengths if self.form == "paper" else biases_of(self.strengths)
            sums = (values @ matrices.flatten(2).to(values.dtype)).unflatten(2, matrices.shape[2:])
            return [biases_of(sums) if self.form == "paper" else sums]

    def held(self, batch: SourceBatch) -> Tensor:
        """Return which masks mark each pair, [B,M,n,n] bool."""
        return torch.stack([batch.matrices[name] for name in self.names], dim=1)
