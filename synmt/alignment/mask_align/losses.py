"""Losses of the attention weights of two directions, in fp32 (see idea.py).

Shapes: B pairs, I target and J source positions; weights are zero where one of the two is padding.
"""

from typing import Literal

import torch
from torch import Tensor

LossForm = Literal["code", "paper"]


def agreement_loss(forward: Tensor, backward: Tensor, cells: Tensor) -> Tensor:
    """Return the mean over cells of their squared difference: forward [B,I,J], backward [B,J,I]."""
    return (forward - backward.transpose(1, 2)).square().sum() / cells.sum()


def entropy_loss(weights: Tensor, cells: Tensor, smoothing: float, form: LossForm) -> Tensor:
    """Return −Σ W̃ log W̃ over the number of rows (`paper`) or of cells (`code`); W̃ = (W + λ) / Σ_j (W + λ).

    weights W [B,I,J]; cells [B,I,J]: True where neither position is padding; λ keeps rows of zeros from counting.
    """
    raised = (weights + smoothing) * cells
    shares = raised / raised.sum(dim=2, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny)
    shares = shares.where(cells, 1.0)  # of which the logarithm and its gradient are finite
    entropy = -(shares * shares.log()).sum()
    return entropy / (cells.sum() if form == "code" else cells.any(dim=2).sum())
