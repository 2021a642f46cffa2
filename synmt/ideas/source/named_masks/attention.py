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
        marked = torch.stack([batch.matrices[name] for name in self.names], dim=1)  # [B,M,n,n]
        with torch.autocast(marked.device.type, enabled=False):
            if self.form == "paper":
                edit = AttentionEdit(penalty=-biases_of(_sums(self.strengths, marked)))
            else:
                edit = AttentionEdit(_sums(biases_of(self.strengths), marked))
        return EncoderPass([edit] * self.layers)


def _sums(values: Tensor, marked: Tensor) -> Tensor:
    """Return the sums of values [H,M] over the masks that mark each pair, [B,H,n,n]."""
    return (values @ marked.flatten(2).to(values.dtype)).unflatten(2, marked.shape[2:])
