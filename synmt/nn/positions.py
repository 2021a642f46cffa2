"""How the network encodes positions.

Sinusoidal vectors are added to the embeddings (Vaswani et al. 2017, section 3.5). Rotary positions rotate the queries
and keys of self-attention instead, so that their product depends only on the distance between them (Su et al. 2021,
"RoFormer: Enhanced Transformer with Rotary Position Embedding", equation 34).
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

LEAST = 1024  # positions to compute at first


def sinusoids(length: int, width: int) -> Tensor:
    """Return [length,width]: sin and cos interleaved, channel c at frequency 10000^(−2⌊c/2⌋/width), norm √(width/2)."""
    positions = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    frequencies = 10000.0 ** (-2.0 * torch.arange(width // 2, dtype=torch.float64) / width)
    angles = positions * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


def turns(length: int, channels: int) -> Tensor:
    """Return the rotations of positions 0… as complex numbers, cos + √−1·sin of the angles of `sinusoids`,
    [length,channels/2]."""
    sine, cosine = sinusoids(length, channels).unflatten(-1, (-1, 2)).unbind(-1)
    return torch.complex(cosine, sine)


class Sinusoids(nn.Module):
    """Sinusoidal vectors of positions 0…, computed once and extended when a longer sentence needs them.

    make: the function from the number of positions and the width to the vectors.
    """

    vectors: Tensor

    def __init__(self, width: int, make: Callable[[int, int], Tensor] = sinusoids) -> None:
        super().__init__()
        self.width, self.make = width, make
        self.register_buffer("vectors", torch.empty(0, width), persistent=False)

    def forward(self, end: int, start: int = 0) -> Tensor:
        """Return the vectors of positions start…end−1, [end−start,d]."""
        if end > len(self.vectors):
            with torch.inference_mode(False):  # training must be able to use what a search computes
                self.vectors = self.make(max(LEAST, 2 * end), self.width).to(self.vectors.device)
        return self.vectors[start:end]

    def at(self, positions: Tensor) -> Tensor:
        """Return the vectors of the given positions, [..] → [..,d]."""
        return self(int(positions.max()) + 1)[positions]


class Rotation(nn.Module):
    """Rotates each pair of channels (2i, 2i+1) of a query or key at position p by the angle p · 10000^(−2i/c), where c
    is the number of channels per head."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.turns = Sinusoids(channels, turns)

    def forward(self, vectors: Tensor, start: int | Tensor = 0) -> Tensor:
        """vectors [B,n,…,c] at positions start…, or at the positions [B or 1,n or 1] if start is a tensor → the same
        shape. Channels must be adjacent in memory.
        """
        own = self.turns.at(start) if isinstance(start, Tensor) else self.turns(start + vectors.shape[1], start)
        own = own.view(*own.shape[:-1], *[1] * (vectors.ndim - 3), own.shape[-1])
        # One complex product reads and writes each vector once, which takes a fifth of the time of real products.
        pairs = torch.view_as_complex(vectors.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * own).flatten(-2).to(vectors.dtype)
