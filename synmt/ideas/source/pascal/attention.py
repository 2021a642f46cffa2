"""The tensors of `pascal`: factors on the logits of some heads.

Shapes: B sentences, k heads, n positions.
"""

import math
from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from synmt.nn.attention import PLAIN, AttentionEdit, HeadEdit
from synmt.nn.encoding import EncoderPass, SourceBatch

Weighting = Literal["multiply", "add-log-density", "parent-only"]


class ParentScaling(nn.Module):
    """Scales the logits of some heads of some encoder layers, counted from 1. No parameters."""

    def __init__(
        self, layers: int, heads: Mapping[int, tuple[int, ...]], variance: float, dropout: float, weighting: Weighting
    ) -> None:
        super().__init__()
        self.layers, self.heads = layers, heads
        self.variance, self.dropout, self.weighting = variance, dropout, weighting

    def forward(self, batch: SourceBatch) -> EncoderPass:
        doubled = batch.columns["parent_positions"]
        factors = parent_factors(doubled / 2, self.variance, self.weighting).unsqueeze(1)
        edits = [PLAIN] * self.layers
        for layer, heads in self.heads.items():
            edits[layer - 1] = AttentionEdit(heads=(self._edit(heads, factors, self._plain_rows(doubled, len(heads))),))
        return EncoderPass(edits)

    def _edit(self, heads: tuple[int, ...], factors: Tensor, plain: Tensor) -> HeadEdit:
        if self.weighting == "add-log-density":
            return HeadEdit(heads, bias=factors.masked_fill(plain, 0.0))
        return HeadEdit(heads, scale=factors.masked_fill(plain, 1.0))

    def _plain_rows(self, doubled: Tensor, heads: int) -> Tensor:
        """Return the rows whose attention is not scaled, [B,k,n,1]."""
        plain = (doubled < 0)[:, None, :, None].expand(-1, heads, -1, -1)
        if self.training and self.dropout:
            return plain | (torch.rand(plain.shape, device=plain.device) < self.dropout)
        return plain


def parent_factors(positions: Tensor, variance: float, weighting: Weighting = "multiply") -> Tensor:
    """Return D[b,t,j] for parents at `positions` [B,n], or log D with add-log-density: [B,n,n]"""
    keys = torch.arange(positions.shape[1], device=positions.device)
    distance = keys - positions.unsqueeze(2)
    if weighting == "parent-only":
        return (distance.abs() < 1).to(positions.dtype)
    log_density = -(distance**2) / (2 * variance) - 0.5 * math.log(2 * math.pi * variance)
    return log_density if weighting == "add-log-density" else log_density.exp()
