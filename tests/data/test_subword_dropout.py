"""Training on several segmentations of each pair."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synmt.data.bitext import Bitext
from synmt.data.corpus import Corpus
from synmt.data.preparation import SEGMENTATIONS, Frequencies, encode_corpus, training_examples
from synmt.model.config import ModelConfig
from synmt.model.source import source_side
from synmt.streams import BadInput, Notes
from synmt.text.bpe import join_subwords
from synmt.text.vocabulary import is_structural
from tests import tiny
from tests.data.test_prepared import masked
from tests.training.runs import SHORT, run, write_corpus
from tests.training.test_run import assert_same_tensors, log_rows, newest


@pytest.mark.parametrize("system", tiny.SYSTEMS)
def test_all_segmentations_of_a_pair_have_the_same_words_and_columns(system: str) -> None:
    config = ModelConfig(
        source_side(tiny.SYSTEMS[system]), tiny.TARGET_SYSTEMS["sequence"], ("en", "de"), "none", tiny.CONFIG
    )
    pairs = Bitext(masked(3))
    bpe = pairs.joint_bpe(40, 1)
    state = random.getstate()
    for example in training_examples(pairs, config, bpe, bare=True, dropout=0.5):
        forms = [example, *example.others]
        assert len(forms) == 1 + SEGMENTATIONS
        assert len({tuple(form.source.tokens) for form in forms}) > 1
        for form in forms:
            assert form.bare is not None
            for one, other in ((form.source, example.source), (form.bare, example.bare)):
                assert other is not None
                assert words_in(one.tokens) == words_in(other.tokens)
                assert {len(values) for values in one.values.values()} <= {len(one.tokens)}
            assert words_in(form.target) == words_in(example.target)
    assert random.getstate() == state


def words_in(entries: list[str]) -> list[str]:
    return join_subwords([entry for entry in entries if not is_structural(entry)])


def test_segmentations_take_turns_in_the_same_batches() -> None:
    """Each pair occurs once per epoch, in the batches of the first segmentation. It never has this segmentation itself,
    and another one in each epoch."""
    config = ModelConfig(
        source_side({"sequence": {}}), tiny.TARGET_SYSTEMS["sequence"], ("en", "de"), "none", tiny.CONFIG
    )
    pairs = Bitext(masked(11))
    bpe = pairs.joint_bpe(40, 1)

    def corpus(dropout: float) -> Corpus:
        examples = list(training_examples(pairs, config, bpe, dropout=dropout))
        return encode_corpus(examples, config, Frequencies.of(examples).vocabulary(config.target), 20, Notes())

    plain, dropping = corpus(0.0), corpus(0.3)
    assert len(dropping) == len(plain)
    rows: Counter[int] = Counter()
    for epoch in range(SEGMENTATIONS):
        batches = dropping.shuffled_batches(30, 5, epoch)
        in_pairs = [[row // (1 + SEGMENTATIONS) for row in batch] for batch in batches]
        assert in_pairs == list(plain.shuffled_batches(30, 5, epoch))
        rows.update(row for batch in batches for row in batch)
    firsts = np.arange(len(plain)) * (1 + SEGMENTATIONS)
    assert set(rows.values()) == {1} and len(rows) == SEGMENTATIONS * len(firsts) and not rows.keys() & {*firsts}


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    """This also holds if several processes prepare the data, and with prepared data. The run keeps its initial rate."""
    data = write_corpus(tmp_path)
    config = replace(SHORT, validate_every=10, epochs=2, subword_dropout=0.3)
    whole = run(tmp_path / "whole", data, "mask+lisa", config, jobs=2)
    run(tmp_path / "part", data, "mask+lisa", replace(config, updates=10))
    resumed = run(tmp_path / "part", data, "mask+lisa", config, resume=True, prepared=tmp_path / "kept")
    assert_same_tensors(newest(whole), newest(resumed))
    assert log_rows(whole) == log_rows(resumed)
    other = run(tmp_path / "other", data, "mask+lisa", replace(config, subword_dropout=0.0))
    assert log_rows(whole) != log_rows(other)
    with pytest.raises(BadInput, match=r"was trained with --subword-dropout 0\.3, not 0\.1"):
        run(tmp_path / "part", data, "mask+lisa", replace(config, subword_dropout=0.1), resume=True)
