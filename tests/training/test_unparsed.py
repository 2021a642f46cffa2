"""Training on sentences some of which have no parse, or are read without their parse."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import torch

from synmt.model.folder import ModelFolder
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.translation import Translator
from synmt.streams import BadInput
from synmt.training.run import PairFiles
from tests import tiny
from tests.conftest import Noted
from tests.training.runs import LEARNING, SHORT, run, write_corpus
from tests.training.test_run import assert_same_tensors, log_rows, newest


def without_trees(data: PairFiles, every: int) -> PairFiles:
    """Return the same data, but with only the words of every nth source."""
    path = Path(data.source)
    lines = path.read_bytes().splitlines()
    lines[::every] = [msgspec.json.encode({"tokens": msgspec.json.decode(line)["tokens"]}) for line in lines[::every]]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return data


@pytest.mark.parametrize("system", ["mask+pascal", "linearized", "multitask", "label-features"])
def test_some_sentences_without_trees(system: str, tmp_path: Path, noted: Noted) -> None:
    data = without_trees(write_corpus(tmp_path), every=4)
    run(tmp_path / "model", data, system, replace(SHORT, updates=3))
    assert "8 of 32 source sentences are read although they have no " in noted()


@pytest.mark.parametrize("system", ["mask", "pascal", "lisa", "label-features", "multitask"])
def test_data_without_any_tree_is_refused(system: str, tmp_path: Path) -> None:
    data = without_trees(write_corpus(tmp_path), every=1)
    with pytest.raises(BadInput, match=rf"train.jsonl: no sentence has .*, and {system} reads them"):
        run(tmp_path / "model", data, system, replace(SHORT, updates=3))


def translated(folder: ModelFolder, without: bool) -> list[list[str]]:
    translator = Translator.open(folder, torch.device("cpu"), SearchConfig(beam=1), TranslateConfig())
    records = [record.without_trees() if without else record for record in tiny.records()]
    return [best.tokens for best, *_ in translator.translate(map(translator.features, records))]


def test_with_tree_dropout_a_model_works_with_and_without_trees(tmp_path: Path) -> None:
    config = replace(LEARNING, tree_dropout=0.5, updates=200, validate_every=200)
    folder = run(tmp_path / "model", write_corpus(tmp_path, 2), "mask+pascal", config, network=tiny.CONFIG)
    assert translated(folder, without=False) == translated(folder, without=True) == tiny.TARGETS


def test_a_resumed_run_drops_the_same_trees(tmp_path: Path) -> None:
    data = without_trees(write_corpus(tmp_path), every=4)
    config = replace(SHORT, validate_every=3, tree_dropout=0.4)
    whole = run(tmp_path / "whole", data, "mask+lisa", config)
    run(tmp_path / "part", data, "mask+lisa", replace(config, updates=3))
    resumed = run(tmp_path / "part", data, "mask+lisa", config, resume=True)
    assert_same_tensors(newest(whole), newest(resumed))
    assert log_rows(whole) == log_rows(resumed)
    other = run(tmp_path / "other", data, "mask+lisa", replace(config, tree_dropout=0.0))
    assert log_rows(whole) != log_rows(other)
