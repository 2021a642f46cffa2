"""Looking up numbers by kind equals indexing, including the gradient, in blocks of any size."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.nn import lookup as module
from synmt.nn.lookup import lookup


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 6), st.integers(0, 9), st.integers(1, 80))
def test_lookup_equals_indexing(sentences: int, heads: int, kinds: int, length: int, at_once: int) -> None:
    torch.manual_seed(0)
    table = torch.randn(heads, kinds, dtype=torch.float64, requires_grad=True)
    cells = torch.randint(kinds, (sentences, length, length), dtype=torch.uint8)
    weights = torch.randn(sentences, heads, length, length, dtype=torch.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.CELLS_AT_ONCE, "cpu", at_once)
        found = lookup(table, cells)
        (gradient,) = torch.autograd.grad((found * weights).sum(), table)
    expected = table[:, cells.long()].transpose(0, 1)
    assert torch.equal(found, expected) and found.is_contiguous()
    (slow,) = torch.autograd.grad((expected * weights).sum(), table)
    torch.testing.assert_close(gradient, slow)


def test_it_stores_one_byte_per_pair() -> None:
    kept: list[torch.Tensor] = []
    cells = torch.randint(10, (2, 200, 200), dtype=torch.uint8)

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda each: each):
        lookup(torch.randn(4, 10, requires_grad=True), cells)
    assert sum(each.nbytes for each in kept) == 2 * 200 * 200
