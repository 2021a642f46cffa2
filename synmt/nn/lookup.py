"""Look up one number per head and kind of pair, for all pairs of positions in a batch.

Shapes: B sentences, H heads, R kinds, n positions.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

CELLS_AT_ONCE = {"cpu": 2**15}  # fits a CPU's cache; on other devices, launching kernels costs more than memory
MOST_CELLS_AT_ONCE = 2**24


def lookup(table: Tensor, kinds: Tensor) -> Tensor:
    """Return table[h, kinds[b, q, k]] for each pair: table [H,R], kinds [B,n,n] of any integer type → [B,H,n,n]

    For the gradient it stores only the kinds; uint8 is best, at one byte per pair. The gradient sums over the pairs of
    each kind: in blocks of queries, it multiplies by an indicator of each kind.
    """
    found: Tensor = _Lookup.apply(table, kinds)
    return found


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, table: Tensor, kinds: Tensor) -> Tensor:
        context.save_for_backward(kinds)
        context.size = table.shape
        found = table.new_empty(len(kinds), len(table), *kinds.shape[1:])
        for rows in _blocks(kinds):
            block = kinds[:, rows]
            values = table.index_select(1, block.flatten().int())
            found[:, :, rows] = values.unflatten(1, block.shape).transpose(0, 1)
        return found

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,), (kinds,) = gradients, context.saved_tensors
        total = gradient.new_zeros(context.size)
        every = torch.arange(total.shape[1], dtype=kinds.dtype, device=kinds.device).unsqueeze(1)
        for rows in _blocks(kinds):
            holds = (kinds[:, rows].flatten() == every).to(gradient.dtype)
            total.addmm_(gradient[:, :, rows].transpose(0, 1).flatten(1), holds.t())
        return total, None


def _blocks(kinds: Tensor) -> Iterator[slice]:
    """Yield slices of queries such that the pairs of all sentences in a slice are few enough."""
    sentences, length = kinds.shape[:2]
    size = max(1, CELLS_AT_ONCE.get(kinds.device.type, MOST_CELLS_AT_ONCE) // max(1, sentences * length))
    return (slice(start, start + size) for start in range(0, length, size))
