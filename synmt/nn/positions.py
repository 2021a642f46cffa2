"""Sinusoidal position vectors (Vaswani et al. 2017, section 3.5)."""

import torch
from torch import Tensor, nn

LEAST = 1024  # positions, at first


def sinusoids(length: int, width: int) -> Tensor:
    """Return [length,width]: sin and cos interleaved, channel c at frequency 10000^(−2⌊c/2⌋/width), norm √(width/2)."""
    positions = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    frequencies = 10000.0 ** (-2.0 * torch.arange(width // 2, dtype=torch.float64) / width)
    angles = positions * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


class Sinusoids(nn.Module):
    """The vectors of positions 0…, kept once a sentence has asked for them; a longer one makes more of them."""

    vectors: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("vectors", torch.empty(0, width), persistent=False)

    def forward(self, end: int, start: int = 0) -> Tensor:
        """Return those of positions start…end−1, [end−start,d]."""
        if end > len(self.vectors):
            self.vectors = sinusoids(max(LEAST, 2 * end), self.width).to(self.vectors)
        return self.vectors[start:end]

    def at(self, positions: Tensor) -> Tensor:
        """Return those of any positions, [..] → [..,d]."""
        return self(int(positions.max()) + 1)[positions]
