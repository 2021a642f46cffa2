import torch

from tests import tiny


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
    source, target = data.batch([2, 1], torch.device("cpu"))
    assert source.ids.shape == (2, 8)  # (NP (NN fat@@ her)), (S (NP (NN fat@@ her)) (VP (VBZ is)))
    assert source.padding is not None
    assert source.padding.sum(dim=1).tolist() == [4, 0]
    assert source.words.tolist() == [2, 3]
    assert source.columns["parents"][1].tolist() == [-1, 0, 1, 2, 2, 0, 5, 6]
    assert target.inputs[:, 0].tolist() == [vocabulary.begin] * 2
    ids = vocabulary.encode(["vater", "ist"])
    assert target.inputs[1].tolist() == [vocabulary.begin, *ids]
    assert target.gold.tolist() == [ids[0], 0, ids[0], ids[1], 0]
    assert target.positions.tolist() == [0, 1, 3, 4, 5]
