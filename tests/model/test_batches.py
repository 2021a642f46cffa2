from collections.abc import Iterable, Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synmt.model.batches import in_windows, token_batches


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 200))
def test_batches_hold_each_sentence_once_within_their_budget(lengths: list[int], budget: int) -> None:
    batches = token_batches(list(range(len(lengths))), np.array(lengths), budget)
    assert [index for batch in batches for index in batch] == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= budget


@given(
    st.lists(st.tuples(st.text(max_size=9), st.booleans()), max_size=40),
    st.integers(1, 12),
    st.integers(1, 30),
    st.integers(0, 3),
)
def test_windows_in_batches_give_what_each_item_gives(
    given_items: list[tuple[str, bool]], size: int, budget: int, ahead: int
) -> None:
    """Whether batches are asked for one by one or some ahead, the longest of a window come first; and what has been
    read is answered where the input pauses behind an item."""
    seen: list[list[str]] = []
    read = 0
    answered: list[str] = []

    def items() -> Iterator[str]:
        nonlocal read
        for item, _ in given_items:
            assert not paused() or len(answered) == read
            read += 1
            yield item

    def paused() -> bool:
        return read > 0 and given_items[read - 1][1]

    def run(batches: Iterable[list[str] | None]) -> Iterator[list[str]]:
        pending: list[list[str]] = []
        for batch in batches:
            if batch is not None:
                seen.append(batch)
                pending.append(batch)
            while pending and (batch is None or len(pending) > ahead):
                yield [item.upper() for item in pending.pop(0)]
        for rest in pending:
            yield [item.upper() for item in rest]

    for item in in_windows(items(), size, len, budget, run, paused):
        answered.append(item)
    assert answered == [item.upper() for item, _ in given_items]
    assert sorted(item for batch in seen for item in batch) == sorted(item for item, _ in given_items)
    for batch in seen:
        assert len(batch) == 1 or max(map(len, batch)) * len(batch) <= budget
        assert [len(item) for item in batch] == sorted(map(len, batch), reverse=True)
