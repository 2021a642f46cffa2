"""Training runs that start from a trained model."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from errno import ENOSPC
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch
from safetensors.torch import load_file

from synmt.cli.sections import SectionOption
from synmt.cli.train import command
from synmt.model.average import average
from synmt.model.config import ModelConfig
from synmt.model.files import write_config
from synmt.model.folder import ModelFolder
from synmt.model.source import source_side
from synmt.model.target import target_side
from synmt.options import Preset, check_used
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.translation import Translator
from synmt.streams import BadInput, Notes, WrongUsage
from synmt.training.run import PairFiles
from synmt.training.start import RULES, configs_of, model_and_training_of
from tests import tiny
from tests.conftest import Noted
from tests.training.runs import LEARNING, SHORT, run, write_corpus

Folder = ModelFolder[ModelConfig]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("start")


@pytest.fixture(scope="module")
def data(folder: Path) -> PairFiles:
    return write_corpus(folder, 2)


@pytest.fixture(scope="module")
def learnt(folder: Path, data: PairFiles) -> Folder:
    """Return a model that has learnt its pairs by heart."""
    return run(folder / "learnt", data, config=LEARNING, network=tiny.CONFIG)


def other_data(folder: Path, data: PairFiles) -> PairFiles:
    """Return pairs of the same sources, each with the translation of the next source."""
    path = folder / "other.de"
    targets = Path(str(data.target)).read_text().splitlines()
    path.write_text("".join(f"{line}\n" for line in [*targets[1:4], targets[0]] * (len(targets) // 4)))
    return PairFiles(data.source, str(path))


def rows(folder: Folder) -> list[dict[str, str]]:
    header, *lines = (line.split("\t") for line in (folder.path / "log.tsv").read_text().splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


def translations(folder: Folder) -> list[str]:
    translator = Translator.open(folder, torch.device("cpu"), SearchConfig(beam=1), TranslateConfig())
    sources = [translator.features(record) for record in tiny.records()]
    return [best.text for best, *_ in translator.translate(sources)]


def test_validation_comes_before_the_first_update(learnt: Folder, data: PairFiles, tmp_path: Path) -> None:
    begun = run(tmp_path / "begun", data, config=replace(LEARNING, updates=1), start=learnt)
    assert rows(begun)[0]["update"] == "0"
    assert rows(begun)[0]["valid_loss"] == min(
        (row["valid_loss"] for row in rows(learnt) if row["valid_loss"]), key=float
    )
    assert begun.vocabularies == learnt.vocabularies
    assert begun.bpe.codes == learnt.bpe.codes
    assert begun.config == learnt.config


def test_a_model_that_gets_worse_is_left_unchanged(learnt: Folder, data: PairFiles, tmp_path: Path) -> None:
    worse = replace(LEARNING, updates=4, validate_every=2, learning_rate=1.0, warmup=0)
    begun = run(tmp_path / "begun", data, config=worse, start=learnt)
    before, after = load_file(learnt.parameters), load_file(begun.parameters)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_other_data_is_learned(learnt: Folder, data: PairFiles, tmp_path: Path) -> None:
    other = other_data(tmp_path, data)
    begun = run(tmp_path / "begun", other, config=LEARNING, start=learnt)
    assert translations(learnt) == [" ".join(words) for words in tiny.TARGETS]
    assert translations(begun) == [" ".join(words) for words in [*tiny.TARGETS[1:], tiny.TARGETS[0]]]
    assert begun.training["init"] == learnt.checksum()


def test_a_resumed_run_equals_an_uninterrupted_one(learnt: Folder, data: PairFiles, tmp_path: Path) -> None:
    """This includes a run that was stopped before the first checkpoint."""
    other = other_data(tmp_path, data)
    config = replace(SHORT, validate_every=4)
    whole = run(tmp_path / "whole", other, config=config, start=learnt)
    part = run(tmp_path / "part", other, config=replace(config, updates=4), start=learnt)
    early = run(tmp_path / "early", other, config=replace(config, updates=1), start=learnt)
    for path in (*(early.path / "checkpoint").iterdir(), early.path / "log.tsv"):
        path.unlink()
    for stopped in (part, early):
        resumed = run(stopped.path, other, config=config, resume=True, start=learnt)
        first, second = load_file(whole.parameters), load_file(resumed.parameters)
        assert all(torch.equal(first[name], second[name]) for name in first)
        keys = "update", "loss", "valid_loss"
        assert [[row[key] for key in keys] for row in rows(resumed)] == [
            [row[key] for key in keys] for row in rows(whole)
        ]
    with pytest.raises(BadInput, match="was trained with different --init"):
        run(part.path, other, config=config, resume=True, start=whole)


def test_unknown_words_are_counted(learnt: Folder, data: PairFiles, tmp_path: Path, noted: Noted) -> None:
    """жжж has three subwords, none of which occurs in the first training data."""
    other = tmp_path / "other.de"
    other.write_text("жжж\n" + Path(str(data.target)).read_text().partition("\n")[2])
    run(tmp_path / "begun", PairFiles(data.source, str(other)), config=replace(SHORT, updates=1), start=learnt)
    said = noted()
    assert "% of the target tokens are not in the vocabulary, and become unknown tokens" in said
    assert "of the source tokens are not" not in said


SEQUENCE = target_side({"sequence": {}})
PASCAL = ModelConfig(source_side({"pascal": {"heads": 1}}), SEQUENCE, ("en", "de"), "none", tiny.CONFIG)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"model": "mask"}, "--model has no effect with --init"),
        ({"width": 32}, "--width has no effect with --init"),
        ({"width": tiny.CONFIG.width, "pascal-heads": 1, "tree-dropout": 0.0}, ""),
        ({"split-arcs": True}, "--split-arcs has no effect with --init"),
        ({"merges": 3, "dropout": 0.5}, "--merges has no effect with --init"),
        ({"mask-per-layer": True}, r"pascal\+sequence does not use --mask-per-layer; it belongs to mask"),
        ({"tree-dropout": 0.1}, ""),
        ({"pascal-heads": 3}, ""),
    ],
)
def test_settings_fixed_by_the_model_are_refused(given: Mapping[str, Any], cause: str, tmp_path: Path) -> None:
    write_config(tmp_path, {"model": PASCAL.fields(), "training": {}})
    settings = {each.setting.option: each.setting for each in command.params if isinstance(each, SectionOption)}
    with pytest.raises(WrongUsage, match=cause) if cause else nullcontext():
        check_used({"init": tmp_path, **given}, settings, RULES)


@pytest.mark.parametrize("system", ["supervised-heads", "pascal"])
def test_tree_dropout_needs_components_that_read_trees_with_their_options(system: str) -> None:
    teach = {"supervised_heads_teach": "next"} if system == "supervised-heads" else {}
    reads = nullcontext() if system == "pascal" else pytest.raises(ValueError, match="--tree-dropout has no effect")
    with reads:
        configs_of({"model": system, "tree_dropout": 0.1, **teach})


def test_components_must_fit_the_network() -> None:
    with pytest.raises(ValueError, match="pascal takes 3 heads"):
        model_and_training_of(PASCAL, Preset(), {"pascal_heads": 3})


def test_settings_that_may_differ() -> None:
    given = {"dropout": 0.5, "pascal_dropout": 0.25, "target_language": "nl", "epochs": 3, "seed": 7}
    model, training = model_and_training_of(PASCAL, Preset({"patience": 2, "width": 99}), given)
    assert model.network == replace(tiny.CONFIG, dropout=0.5)
    assert model.source == source_side({"pascal": {"heads": 1, "dropout": 0.25}})
    assert model.languages == ("en", "nl")
    assert (training.epochs, training.seed, training.patience) == (3, 7, 2)


def test_averaging_models_averages_their_parameters(
    folder: Path, learnt: Folder, data: PairFiles, tmp_path: Path
) -> None:
    new = other_data(folder, data)
    other = run(tmp_path / "other", new, config=replace(SHORT, seed=4, select="loss"), start=learnt)
    third = run(tmp_path / "third", new, config=replace(SHORT, seed=5, learning_rate=0.1), start=learnt)
    assert len({each.checksum() for each in (learnt, other, third)}) == 3
    notes = Notes()
    average([learnt.path, other.path, third.path, third.path], tmp_path / "mean", notes)
    mean = ModelFolder.open(tmp_path / "mean", ModelConfig)
    parts = [load_file(each.parameters) for each in (learnt, other, third, third)]
    for name, tensor in load_file(mean.parameters).items():
        assert tensor.dtype == parts[0][name].dtype
        torch.testing.assert_close(tensor, sum(part[name] for part in parts) / 4)
    average([third.path, third.path], tmp_path / "same", notes)
    average([other.path, tmp_path / "same"], tmp_path / "mean of a mean", notes)
    assert not notes._said
    assert len(translations(mean)) == 4
    with pytest.raises(BadInput, match="already has a model"):
        average([learnt.path], mean.path, notes)
    with pytest.raises(BadInput, match="was trained with different data"):
        run(mean.path, data, resume=True, network=tiny.CONFIG)


def test_an_average_that_cannot_be_written_is_no_model(
    learnt: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("synmt.model.files.os.fsync", MagicMock(side_effect=OSError(ENOSPC, "No space left on device")))
        with pytest.raises(BadInput, match="No space left"):
            average([learnt.path], tmp_path / "mean", Notes())
    average([learnt.path], tmp_path / "mean", Notes())


def test_a_folder_with_an_invalid_record_of_its_training_cannot_be_averaged(learnt: Folder, tmp_path: Path) -> None:
    average([learnt.path], tmp_path / "spoiled", Notes())
    config = tmp_path / "spoiled" / "config.json"
    fields = json.loads(config.read_text())
    for record in ({"mean_of": 5}, {"init": [1]}):
        config.write_text(json.dumps({**fields, "training": record}))
        with pytest.raises(BadInput, match=r"spoiled/config\.json: "):
            average([learnt.path, tmp_path / "spoiled"], tmp_path / "mean", Notes())


def test_the_average_of_a_model_is_that_model(learnt: Folder, tmp_path: Path) -> None:
    average([learnt.path, learnt.path, learnt.path], tmp_path / "mean", Notes())
    before, after = load_file(learnt.parameters), load_file(tmp_path / "mean" / "model.safetensors")
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_unrelated_models_are_reported(learnt: Folder, data: PairFiles, tmp_path: Path, noted: Noted) -> None:
    stranger = run(tmp_path / "stranger", data, config=replace(SHORT, seed=9, updates=1), network=tiny.CONFIG)
    notes = Notes()
    average([learnt.path, stranger.path], tmp_path / "mean", notes)
    noted()
    average([learnt.path, learnt.path, stranger.path], tmp_path / "of three", notes)
    notes.say()
    said = f"{learnt.path} and {stranger.path} did not start from the same parameters, so their average may be useless"
    assert noted() == said
    drier = run(tmp_path / "drier", data, config=replace(SHORT, updates=1), network=replace(tiny.CONFIG, dropout=0.5))
    average([learnt.path, drier.path], tmp_path / "another", notes)  # dropout is no part of a network
    smaller = run(tmp_path / "smaller", data, "sequence", config=replace(SHORT, updates=1), network=tiny.CONFIG)
    with pytest.raises(BadInput, match="smaller: has a different source than"):
        average([learnt.path, smaller.path], tmp_path / "other", notes)
    more = run(tmp_path / "more", data, config=replace(SHORT, updates=1, merges=1), network=tiny.CONFIG)
    with pytest.raises(BadInput, match="more: has a different vocabulary than"):
        average([learnt.path, more.path], tmp_path / "further", notes)
