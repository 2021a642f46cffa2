"""Sinusoidal position vectors (Vaswani et al. 2017, section 3.5)."""

import torch
from torch import Tensor


def sinusoids(length: int, width: int) -> Tensor:
    """[length,width]: sin and cos interleaved, channel c at frequency 10000^(−2⌊c/2⌋/width), norm √(width/2)."""
    positions = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    frequencies = 10000.0 ** (-2.0 * torch.arange(width // 2, dtype=torch.float64) / width)
    angles = positions * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()
