import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.training.data import token_batches
from tests import tiny


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 200))
def test_batches_hold_each_sentence_once_within_their_budget(lengths: list[int], budget: int) -> None:
    batches = token_batches(list(range(len(lengths))), np.array(lengths), budget)
    assert [index for batch in batches for index in batch] == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= budget


def test_order_is_a_function_of_seed_and_epoch() -> None:
    data, _ = tiny.corpus("sequence")
    data.sources.ids *= 20
    data.targets *= 20
    first = data.shuffled_batches(16, seed=1, epoch=0)
    assert data.shuffled_batches(16, seed=1, epoch=0) == first
    assert data.shuffled_batches(16, seed=1, epoch=1) != first
    assert data.shuffled_batches(16, seed=2, epoch=0) != first
    assert sorted(index for batch in first for index in batch) == list(range(80))


def test_a_batch_by_hand() -> None:
    data, vocabulary = tiny.corpus("mask")
    source, target = data.batch([2, 1], vocabulary, torch.device("cpu"))
    assert source.ids.shape == (2, 8)  # (NP (NN fat@@ her)), (S (NP (NN fat@@ her)) (VP (VBZ is)))
    assert source.padding is not None
    assert source.padding.sum(dim=1).tolist() == [4, 0]
    assert source.words.tolist() == [2, 3]
    assert source.vectors["parents"][1].tolist() == [-1, 0, 1, 2, 2, 0, 5, 6]
    assert target.inputs[:, 0].tolist() == [vocabulary.begin] * 2
    ids = vocabulary.encode(["vater", "ist"])
    assert target.inputs[1].tolist() == [vocabulary.begin, *ids]
    assert target.gold.tolist() == [ids[0], 0, ids[0], ids[1], 0]
    assert target.positions.tolist() == [0, 1, 3, 4, 5]
