"""Attention that keeps close to a token's parent, as factors on the logits (synmt.systems.pascal)."""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.attention import PLAIN, AttentionEdit
from synmt.nn.config import TransformerConfig
from synmt.nn.encoding import EncoderPass, SourceBatch

Weighting = Literal["multiply", "add-log-density", "parent-only"]


class ParentScaling(nn.Module):
    """Scales `heads` heads of encoder layer `layer`, counted from 1. No parameters."""

    def __init__(
        self,
        config: TransformerConfig,
        layer: int,
        heads: int,
        variance: float,
        ignoring: float,
        weighting: Weighting,
    ) -> None:
        super().__init__()
        self.layers, self.layer, self.heads = config.encoder_layers, layer, heads
        self.other_heads = config.heads - heads
        self.variance, self.ignoring, self.weighting = variance, ignoring, weighting

    def forward(self, batch: SourceBatch) -> EncoderPass:
        doubled = batch.vectors["parent_positions"]
        factors = parent_factors(doubled / 2, self.variance, self.weighting)
        plain = self._plain_rows(doubled)
        if self.weighting == "add-log-density":
            shift = factors.unsqueeze(1).masked_fill(plain, 0.0)
            edit = AttentionEdit(bias=F.pad(shift, (0, 0, 0, 0, self.other_heads, 0)))
        else:
            edit = AttentionEdit(scale=factors.unsqueeze(1).masked_fill(plain, 1.0))
        return EncoderPass([edit if layer == self.layer else PLAIN for layer in range(1, self.layers + 1)])

    def _plain_rows(self, doubled: Tensor) -> Tensor:
        """Rows that keep their own attention, [B,heads,n,1]."""
        plain = (doubled < 0)[:, None, :, None].expand(-1, self.heads, -1, -1)
        if self.training and self.ignoring:
            return plain | (torch.rand(plain.shape, device=plain.device) < self.ignoring)
        return plain


def parent_factors(positions: Tensor, variance: float, weighting: Weighting = "multiply") -> Tensor:
    """D[b,t,j] for parents at `positions` [B,n]; its logarithm with add-log-density → [B,n,n]."""
    keys = torch.arange(positions.shape[1], device=positions.device)
    distance = keys - positions.unsqueeze(2)
    if weighting == "parent-only":
        return (distance.abs() < 1).to(positions.dtype)
    log_density = -(distance**2) / (2 * variance) - 0.5 * math.log(2 * math.pi * variance)
    return log_density if weighting == "add-log-density" else log_density.exp()
