import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synmt.model.batches import token_batches


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 200))
def test_batches_hold_each_sentence_once_within_their_budget(lengths: list[int], budget: int) -> None:
    batches = token_batches(list(range(len(lengths))), np.array(lengths), budget)
    assert [index for batch in batches for index in batch] == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= budget
