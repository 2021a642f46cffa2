"""Rows of tensors that grow step by step, of which some have waited. Tensors only."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor


def joined_rows(own: Tensor, held: Tensor, rows: Tensor, missing: Sequence[int], value: float = 0.0) -> Tensor:
    """Return the rows [R] of `own` [A,…] followed by those of `held` [C,…], padded with a value: [R,…]

    missing: what rows of `held` lack, as in `torch.nn.functional.pad`. Where few rows are of `held`, this is faster
    than to join both first.
    """
    waits = rows >= len(own)
    joined = own[rows.masked_fill(waits, 0)]
    places = waits.nonzero().squeeze(1)
    if len(places):
        joined[places] = F.pad(held[rows[places] - len(own)], list(missing), value=value)
    return joined
