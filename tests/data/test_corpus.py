from collections.abc import Callable
from itertools import product
from typing import get_args

import pytest
import torch

from synmt.data.bitext import Bitext
from synmt.data.corpus import Corpus
from synmt.data.preparation import build_vocabulary, encode_corpus, training_examples
from synmt.data.records import SentencePair
from synmt.model.config import BatchBy, ModelConfig
from synmt.model.source import source_side
from synmt.streams import Line, Notes
from synmt.text.bpe import Bpe
from tests import tiny


def test_the_order_depends_only_on_seed_and_epoch() -> None:
    data, _ = tiny.corpus("sequence")
    data.sources.rows, data.targets = [*data.sources.rows] * 20, [*data.targets] * 20
    first = list(data.shuffled_batches(16, seed=1, epoch=0))
    assert list(data.shuffled_batches(16, seed=1, epoch=0)) == first
    assert list(data.shuffled_batches(16, seed=1, epoch=1)) != first
    assert list(data.shuffled_batches(16, seed=2, epoch=0)) != first
    assert sorted(index for batch in first for index in batch) == list(range(80))


@pytest.mark.parametrize("by", get_args(BatchBy))
def test_batches_are_within_the_counted_budget(by: BatchBy) -> None:
    (data, _), (plain, _) = tiny.corpus("mask"), tiny.corpus("sequence")
    lengths: dict[BatchBy, Callable[[int], int]] = {
        "tokens": lambda pair: max(len(side[pair]["ids"]) for side in (data.sources.rows, data.targets)),
        "target-tokens": lambda pair: len(data.targets[pair]["ids"]),
        "subwords": lambda pair: max(len(side[pair]["ids"]) for side in (plain.sources.rows, plain.targets)),
        "sentences": lambda pair: 1,
    }
    for limit in (1, 3, 12, 1000):
        batches = data.shuffled_batches(limit, seed=1, epoch=0, by=by)
        assert sorted(pair for batch in batches for pair in batch) == list(range(len(data)))
        assert all(len(batch) * max(map(lengths[by], batch)) <= limit or len(batch) == 1 for batch in batches)


def test_batches_by_sentences_are_equal_for_all_systems() -> None:
    systems = [tiny.corpus(system)[0] for system in ("sequence", "mask", "linearized")]
    assert len({tuple(map(len, data.shuffled_batches(3, 1, 0, "sentences"))) for data in systems}) == 1
    assert len({len(data.shuffled_batches(12, 1, 0)) for data in systems}) > 1


def corpus_of(system: str, target: str, bitext: Bitext, bpe: Bpe, max_length: int) -> Corpus:
    """Return the corpus that a system learns from."""
    sides = source_side(tiny.SYSTEMS[system]), tiny.TARGET_SYSTEMS[target]
    config = ModelConfig(*sides, ("en", "de"), "none", tiny.CONFIG)
    vocabulary = build_vocabulary(bitext, config, bpe)
    return encode_corpus(training_examples(bitext, config, bpe), config, vocabulary, max_length, Notes())


def test_batches_of_subwords_are_the_same_for_all_systems() -> None:
    """Any encoder with any decoder has the batches of a plain Transformer, which counts all of its tokens. So do the
    pairs over a maximum length. Only multi-task systems differ, which learn more than the pairs."""
    here = Line("", "pairs", 1), Line("", "pairs", 1)
    bitext = Bitext(
        SentencePair(*pair, here) for pair in zip(tiny.records() * 9, tiny.target_records() * 9, strict=True)
    )
    bpe, plain = bitext.joint_bpe(9), {}
    for limit in (3, 12, 99):
        data = plain[limit] = corpus_of("sequence", "sequence", bitext, bpe, limit)
        assert list(data.shuffled_batches(12, 1, 0, "subwords")) == list(data.shuffled_batches(12, 1, 0, "tokens"))
    assert len(plain[3]) < len(plain[12]) < len(plain[99])
    same = 0
    for system, target in product(tiny.SYSTEMS, tiny.TARGET_SYSTEMS):
        if len(source_side(tiny.SYSTEMS[system]).tasks) > 1:
            continue
        limit = (3, 12, 99)[same % 3]
        data = corpus_of(system, target, bitext, bpe, limit)
        for size, epoch in ((1, 0), (12, 0), (12, 1), (500, 0)):
            expected = list(plain[limit].shuffled_batches(size, 1, epoch, "subwords"))
            assert list(data.shuffled_batches(size, 1, epoch, "subwords")) == expected, (system, target)
        same += 1
    assert same > 400


def test_a_batch_worked_by_hand() -> None:
    data, vocabulary = tiny.corpus("mask")
    source, target = data.batch([2, 1], torch.device("cpu"))
    assert source.ids.shape == (2, 8)  # (NP (NN fat@@ her)), (S (NP (NN fat@@ her)) (VP (VBZ is)))
    assert source.padding is not None
    assert source.padding.sum(dim=1).tolist() == [4, 0]
    assert source.words.tolist() == [2, 3]
    assert source.fields["parents"][1].tolist() == [-1, 0, 1, 2, 2, 0, 5, 6]
    assert target.inputs[:, 0].tolist() == [vocabulary.begin] * 2
    ids = vocabulary.encode(["vater", "ist"])
    assert target.inputs[1].tolist() == [vocabulary.begin, *ids]
    assert target.gold.tolist() == [ids[0], 0, ids[0], ids[1], 0]
    assert target.positions.tolist() == [0, 1, 3, 4, 5]
