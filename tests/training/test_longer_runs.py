"""A finished run that is extended equals a run that was longer from the start, or is refused with the reason."""

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.source import source_side
from synmt.streams import BadInput
from synmt.training.checkpoint import checkpoints
from synmt.training.config import TrainingConfig
from synmt.training.fit import Recipe
from synmt.training.loop import CHECKPOINTS
from synmt.training.run import PairFiles, TrainingText, train
from tests import tiny
from tests.inspection.models import write_model
from tests.training.runs import DROPPING, SHORT, run, state, with_target_trees, write_corpus

# Four updates per epoch, with a validation after each; `report_every` divides neither.
BASE = replace(SHORT, batch_tokens=60, epochs=4, report_every=3, warmup=3)
LIMITS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "within an epoch": ([{"updates": 5}], {"updates": 11}),
    "at an epoch's end": ([{"updates": 4}], {"updates": 8}),
    "before the first validation": ([{"updates": 1}], {"updates": 6}),
    "twice": ([{"updates": 2}, {"updates": 7}], {"updates": 9}),
    "to the last epoch": ([{"updates": 6}], {"updates": 0}),
    "by epochs": ([{"epochs": 1}], {"epochs": 3}),
    "by time": ([{"minutes": 1e-9}], {"minutes": 60.0}),
    "to a limit that is not reached": ([{"minutes": 1e-9}], {"updates": 100, "epochs": 2}),
    "by patience": ([{"patience": 1, "validate_every": 1, "learning_rate": 0.0}], {"patience": 4, "validate_every": 1}),
    "again, no longer": ([{"updates": 5}], {"updates": 5}),
}
# For each option of training, a value other than that of BASE.
OTHERS: dict[str, Any] = {
    "merges": 10, "batch_tokens": 40, "batch_by": "sentences", "prefixes": 2, "prefix_tokens": 10, "accumulate": 2,
    "max_length": 900, "learning_rate": 1e-3, "schedule": "inverse-sqrt", "warmup": 0, "adam_beta2": 0.9, "clip": 0.0,
    "label_smoothing": 0.0, "word_dropout": 0.3, "tree_dropout": 0.5, "subword_dropout": 0.2, "epochs": 3,
    "updates": 12, "minutes": 60.0, "patience": 50, "select": "bleu", "validate_every": 3, "validation_beam": 2,
    "average": 4, "checkpoint_minutes": 1e-9, "report_every": 1, "tensorboard": True, "precision": "bf16", "seed": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PairFiles:
    return with_target_trees(write_corpus(tmp_path_factory.mktemp("data"), copies=4))


def extended_and_whole(
    path: Path, data: PairFiles, shorter: list[dict[str, Any]], longer: dict[str, Any], **rest: Any
) -> Iterator[Any]:
    """Yield the result of a run that is extended, then that of one that was as long at once."""
    target = rest.pop("target", "sequence")
    base, longest = replace(BASE, **rest), replace(BASE, **rest, **longer)
    for number, each in enumerate(shorter):
        run(path / "part", data, config=replace(base, **each), resume=number > 0, target=target)
    run(path / "part", data, config=longest, resume=True, target=target)
    yield state(path / "part")
    run(path / "whole", data, config=longest, target=target)
    yield state(path / "whole")


def assert_same(found: Any, expected: Any) -> None:
    (tensors, rows), (expected_tensors, expected_rows) = found, expected
    assert rows == expected_rows
    assert tensors.keys() == expected_tensors.keys()
    for name, tensor in expected_tensors.items():
        assert tensors[name].equal(tensor), name


@pytest.mark.parametrize("average", [1, 3])
@pytest.mark.parametrize("name", LIMITS)
def test_an_extended_run_equals_the_longer_one(name: str, average: int, data: PairFiles, tmp_path: Path) -> None:
    """The parameters that are kept, the last checkpoint and the log are the same."""
    shorter, longer = LIMITS[name]
    learning = {"learning_rate": 0.0} if "by patience" in name else {}
    assert_same(*extended_and_whole(tmp_path, data, shorter, {**longer, **learning}, average=average))


def test_every_option_of_training_is_tried() -> None:
    assert OTHERS.keys() == {each.name for each in fields(TrainingConfig)}
    assert all(getattr(BASE, name) != value for name, value in OTHERS.items())


@pytest.mark.parametrize("name", OTHERS)
def test_an_extended_run_equals_the_longer_one_with_each_option(name: str, data: PairFiles, tmp_path: Path) -> None:
    if name == "tensorboard":
        pytest.importorskip("tensorboard")
    limit = "by epochs" if name == "updates" else "within an epoch"
    target = {"target": "gcn"} if name.startswith("prefix") else {}
    shorter, longer = LIMITS[limit]
    limits = {each for part in (*shorter, longer) for each in part}
    options = {name: OTHERS[name]} if name not in limits else {}
    assert_same(*extended_and_whole(tmp_path, data, shorter, longer, **options, **target))


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("warmup", [0, 100])
def test_a_cosine_is_not_extended_once_its_rates_have_fallen(
    name: str, warmup: int, data: PairFiles, tmp_path: Path
) -> None:
    """During the warm-up, the rates do not depend on the length of the run."""
    shorter, longer = LIMITS[name]
    learning = {"learning_rate": 0.0} if "by patience" in name else {}
    both = extended_and_whole(tmp_path, data, shorter, {**longer, **learning}, schedule="cosine", warmup=warmup)
    same_length = name in ("by time", "by patience", "again, no longer")
    if warmup or same_length:
        assert_same(*both)
        return
    with pytest.raises(BadInput, match=r"part: a cosine schedule for \d+ updates cannot become one for \d+, since"):
        next(both)
    before = state(tmp_path / "part")
    again = replace(BASE, schedule="cosine", warmup=warmup, **shorter[0])
    run(tmp_path / "part", data, config=again, resume=True)  # the refusal has changed nothing
    assert_same(state(tmp_path / "part"), before)


def unvalidated(out: Path, data: PairFiles, config: TrainingConfig, resume: bool = False) -> None:
    model = ModelConfig(source_side({"sequence": {}}), tiny.TARGET_SYSTEMS["sequence"], ("en", "de"), "none", DROPPING)
    train(out, TrainingText(data, model, Recipe(config)), None, resume, "cpu")


def test_a_run_without_validation_data_can_be_extended(data: PairFiles, tmp_path: Path) -> None:
    config = replace(BASE, average=3, select="bleu")
    for updates, resume in ((6, False), (11, True)):
        unvalidated(tmp_path / "part", data, replace(config, updates=updates), resume)
    unvalidated(tmp_path / "whole", data, replace(config, updates=11))
    assert_same(state(tmp_path / "part"), state(tmp_path / "whole"))


def test_a_run_that_starts_from_a_model_can_be_extended(data: PairFiles, tmp_path: Path) -> None:
    start = write_model(tmp_path / "start", "sequence")
    for name, limits in (("part", (5, 11)), ("whole", (11,))):
        for number, updates in enumerate(limits):
            run(tmp_path / name, data, config=replace(BASE, updates=updates), resume=number > 0, start=start)
    assert_same(state(tmp_path / "part"), state(tmp_path / "whole"))


def test_a_model_that_only_the_end_chose_is_not_kept_in_a_longer_run(data: PairFiles, tmp_path: Path) -> None:
    """If the loss rises, the longer run keeps the model of its first validation."""
    config = replace(BASE, validate_every=2, average=1, warmup=0, word_dropout=0.0)
    out = tmp_path / "model"
    run(out, data, config=replace(config, updates=3))
    at_end = state(out)[0]
    assert (out / CHECKPOINTS / "best.safetensors").exists()
    worse = replace(config, updates=4, learning_rate=10.0, clip=0.0)
    run(out, data, config=worse, resume=True)
    first = tmp_path / "first"
    run(first, data, config=replace(config, updates=2))
    kept, expected = state(out)[0], state(first)[0]
    name = next(each for each in kept if each.startswith("0 "))
    assert kept[name].equal(expected[name]) and not kept[name].equal(at_end[name])
    assert next(each.name for each in checkpoints(out / CHECKPOINTS)) == "update-4.safetensors"
    assert ModelFolder.open(out, ModelConfig).training["updates"] == 4
