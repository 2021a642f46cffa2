"""The tensors of `fixed-heads`. Shapes: B sentences, n positions."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from synmt.nn.attention import AttentionEdit, HeadEdit
from synmt.nn.encoding import EncoderPass, SourceBatch


class FixedAttention(nn.Module):
    """Gives each of the first heads of all encoder layers the weights of its pattern. No parameters."""

    def __init__(self, layers: int, patterns: Sequence[str]) -> None:
        super().__init__()
        self.layers, self.patterns = layers, patterns

    def forward(self, batch: SourceBatch) -> EncoderPass:
        real = torch.ones_like(batch.ids, dtype=torch.bool) if batch.padding is None else ~batch.padding
        edits = (
            HeadEdit((head,), replace=partial(_regardless, fixed_weights(real, pattern)))
            for head, pattern in enumerate(self.patterns)
        )
        return EncoderPass([AttentionEdit(heads=tuple(edits))] * self.layers)


def _regardless(weights: Tensor, states: Tensor) -> Tensor:
    """Return the weights, independent of the states."""
    return weights


def fixed_weights(real: Tensor, pattern: str) -> Tensor:
    """Return the weights of a pattern, [B,n,n] in fp32, which sum to one for each query; real [B,n]: not padding."""
    position = torch.arange(real.shape[1], device=real.device)
    query, key = position.unsqueeze(1), position.unsqueeze(0)
    after = real.sum(dim=1).view(-1, 1, 1) - key  # 1 for the last token
    allowed, weights = {
        "previous": (key == query - 1, torch.ones_like(after)),
        "self": (key == query, torch.ones_like(after)),
        "next": (key == query + 1, torch.ones_like(after)),
        "left": (key < query - 1, (key + 1) ** 3),
        "right": (key > query + 1, after**3),
        "start": (key >= 0, after**3),
        "end": (key >= 0, (key + 1) ** 3),
    }[pattern]
    weights = (weights * allowed * real.unsqueeze(1)).float()
    alone = torch.where(real.unsqueeze(2), key == query, key == 0)  # padding must not attend to padding
    weights = weights + (weights.sum(dim=2, keepdim=True) == 0) * alone
    return weights / weights.sum(dim=2, keepdim=True)
