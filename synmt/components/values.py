"""Helpers for the values that hooks return. It imports torch inside functions, because `--help` reads components."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import Value

STRENGTH_LIMIT = 10.0


def in_heads(tensor: "Tensor", heads: tuple[int, ...], count: int, otherwise: float) -> "Tensor":
    """Return a bias or scale for all heads, given one for some: [B, k or 1, …] → [B, count, …]"""
    import torch

    own = dict(zip(heads, tensor.expand(-1, len(heads), -1, -1).split(1, dim=1), strict=True))
    plain = tensor.new_full((), otherwise).expand(len(tensor), 1, *tensor.shape[2:])
    return torch.cat([own.get(head, plain) for head in range(count)], dim=1)


def penalties_of(strengths: "Tensor") -> "Tensor":
    """Return the penalty of a mask of each strength, exp(strength), in fp32 or better; masks are not stronger than 10,
    which hides a key in every precision."""
    import torch

    wide = strengths if strengths.dtype == torch.float64 else strengths.float()
    return wide.clamp(max=STRENGTH_LIMIT).exp()


def shared_or_per_layer(tables: "Tensor", cells: "Tensor") -> "Value":
    """Return table[h, cells[b, q, k]], [B,H,n,n], of the table that all layers share, or of each layer's own.

    tables [1 or layers,H,R]; cells [B,n,n] in 0…R−1.
    """
    import torch

    from synmt.nn.lookup import lookup

    with torch.autocast(cells.device.type, enabled=False):
        found = [lookup(table, cells) for table in tables]
    return found[0] if len(found) == 1 else dict(enumerate(found, 1))
