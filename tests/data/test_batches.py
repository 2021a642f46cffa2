from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.data.batches import cuts, in_windows, order_by_lengths, shuffled_batches, token_batches


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 200))
def test_batches_contain_each_sentence_once_within_their_budget(lengths: list[int], budget: int) -> None:
    batches = token_batches(list(range(len(lengths))), np.array(lengths), budget)
    assert [index for batch in batches for index in batch] == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= budget


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 200))
def test_batches_are_as_full_as_possible(lengths: list[int], budget: int) -> None:
    ends = list[int]()
    begin = 0
    for place in range(1, len(lengths)):
        if max(lengths[begin : place + 1]) * (place + 1 - begin) > budget:
            ends.append(begin := place)
    assert cuts(np.array(lengths, np.int64), budget) == [*ends, *[len(lengths)] * bool(lengths)]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=40), st.integers(0, 3))
def test_shuffled_batches_equal_those_of_lists(pairs: list[tuple[int, int]], epoch: int) -> None:
    """Batches are cut from a random order sorted by length, and then shuffled themselves."""
    source, target = (np.array([each[side] for each in pairs], np.int64) for side in (0, 1))
    random = np.random.default_rng([5, epoch])
    drawn = random.permutation(len(pairs))
    order = drawn[order_by_lengths(source[drawn], target[drawn])].tolist()
    expected = token_batches(order, np.maximum(source, target), 20)
    expected = [expected[place] for place in random.permutation(len(expected))]
    found = shuffled_batches(source, target, "tokens", 20, 5, epoch)
    assert list(found) == expected and found[1:3] == expected[1:3] and len(found) == len(expected)


@given(
    st.lists(st.tuples(st.text(max_size=9), st.booleans()), max_size=40),
    st.integers(1, 12),
    st.integers(1, 30),
    st.integers(0, 3),
)
def test_batched_windows_equal_single_items(
    given_items: list[tuple[str, bool]], size: int, budget: int, ahead: int
) -> None:
    """The longest items of a window come first, whether batches are taken one by one or ahead. When the input pauses
    after an item, all items read so far are answered."""
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


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=30))
def test_the_order_of_pairs_is_complete_and_stable(lengths: list[tuple[int, int]]) -> None:
    source, target = np.array(lengths, np.int64).reshape(-1, 2).T
    order = order_by_lengths(source, target)
    assert sorted(order) == list(range(len(lengths)))
    found = [lengths[index] for index in order]
    for index, pair in zip(order, found, strict=True):
        same = [other for other, each in zip(order, found, strict=True) if each == pair]
        assert same == sorted(same) and index in same


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=30), st.sampled_from([1, 10**9]))
def test_pairs_are_sorted_by_their_longer_side_and_then_to_and_fro(lengths: list[tuple[int, int]], scale: int) -> None:
    """The twin sorts all pairs; long ones have too many possible lengths to sort these instead."""
    source, target = np.array(lengths, np.int64).reshape(-1, 2).T * scale
    scaled = source * (target.sum() / max(1, source.sum()))
    longer = [round(max(each)) for each in zip(scaled.tolist(), target.tolist(), strict=True)]
    excess = scaled - target

    def key(index: int) -> tuple[float, float]:
        return longer[index], -excess[index] if longer[index] % 2 else excess[index]

    assert order_by_lengths(source, target).tolist() == sorted(range(len(lengths)), key=key)


@pytest.mark.parametrize("longer", [1, 2])
def test_neighbours_have_similar_lengths_on_both_sides(longer: int) -> None:
    """The test compares with an order by sources and then targets; sources with labels are twice as long."""
    random = np.random.default_rng(0)
    words = random.lognormal(2.9, 0.5, 20_000)
    source = (longer * words * random.lognormal(0, 0.1, 20_000) + 1).astype(np.int64)
    target = (words * random.lognormal(0, 0.2, 20_000) + 1).astype(np.int64)

    def padded(order: np.ndarray) -> int:
        batches = token_batches(order.tolist(), np.maximum(source, target), 4096)
        return sum(len(batch) * int(side[batch].max()) for batch in batches for side in (source, target))

    by_source = padded(np.lexsort((target, source)))
    assert padded(order_by_lengths(source, target)) < 0.95 * by_source
