import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.translation.optimized import contiguity_loss


@given(st.integers(2, 6), st.booleans())
def test_contiguity_favours_runs(length: int, mirrored: bool) -> None:
    """A diagonal, or its mirror image, costs less than the same number of links apart from each other."""
    run = torch.eye(length)
    apart = torch.zeros(length, 3 * length)
    apart[torch.arange(length), 3 * torch.randperm(length)] = 1.0
    real = torch.ones(1, length, dtype=torch.bool)
    cost = contiguity_loss((run.flip(1) if mirrored else run).unsqueeze(0), real)
    assert float(cost) == pytest.approx(2 * math.log(1.5), abs=1e-5)  # both ends lack a neighbour
    assert float(contiguity_loss(apart.unsqueeze(0), real)) == pytest.approx(length * math.log(3), abs=1e-5)
