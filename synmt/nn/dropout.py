"""Dropout (Srivastava et al. 2014) that does not wait for a CPU's random numbers."""

import torch
import torch.nn.functional as F
from torch import Tensor


def dropout(states: Tensor, rate: float, training: bool) -> Tensor:
    """Make each element zero with probability `rate`, or else divide it by 1 − rate; any shape.

    On a CPU four elements share one 64-bit draw, which takes half of PyTorch's time for one draw an element;
    the rate is then exact to 2⁻¹⁷.
    """
    if not training or not rate:
        return states
    if states.device.type != "cpu":
        return F.dropout(states, rate)
    count = states.numel()
    draws = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None)
    keep = draws.view(torch.int16)[:count] >= round(rate * 2**16) - 2**15
    return states * keep.view(states.shape).to(states.dtype).mul_(1.0 / (1.0 - rate))
