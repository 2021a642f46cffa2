import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.search.beam import largest


@given(st.integers(1, 3000), st.integers(1, 12), st.integers(0, 2**31))
def test_the_largest_values_come_in_order(length: int, count: int, seed: int) -> None:
    torch.manual_seed(seed)
    count = min(count, length)
    values = torch.randn(2, 3, length)
    values[torch.rand(2, 3, length) < 0.5] = float("-inf")
    found, places = largest(values, count)
    torch.testing.assert_close(found, values.gather(2, places))
    for row, best, own in zip(*(each.flatten(0, 1).tolist() for each in (values, found, places)), strict=True):
        assert best == sorted(row, reverse=True)[:count]
        assert len(set(own)) == count
