"""The log for TensorBoard, read by TensorBoard."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synmt.streams import BadInput
from synmt.training.log import TENSORBOARD, Events
from tests.training.runs import SHORT, run, write_corpus


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Return the points of each curve in a model folder."""
    events: Any = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    read = events.EventAccumulator(str(folder / TENSORBOARD)).Reload()
    return {name: [(each.step, each.value) for each in read.Scalars(name)] for name in read.Tags()["scalars"]}


def test_each_column_of_the_log_is_a_curve(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    data, config = write_corpus(tmp_path, 4), replace(SHORT, validate_every=3, tensorboard=True)
    run(tmp_path / "model", data, "sequence", replace(config, updates=3), dev=data)
    run(tmp_path / "model", data, "sequence", replace(config, updates=6), dev=data, resume=True)
    with (tmp_path / "model" / "log.tsv").open() as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    found = curves(tmp_path / "model")
    assert {"loss", "rate", "valid_loss", "gradient_norm"} < found.keys()
    for name, points in found.items():
        written = [(int(row["update"]), float(row[name])) for row in rows if row[name]]
        assert [step for step, _ in points] == [step for step, _ in written]
        assert [value for _, value in points] == pytest.approx([value for _, value in written], rel=1e-5)


def test_points_after_the_last_checkpoint_are_dropped(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    for first, loss in ((0, 5.0), (3, 4.0)):
        events = Events(tmp_path, first)
        for update in range(first + 1, 7):
            events.write({"update": update, "loss": loss})
    assert curves(tmp_path) == {"loss": [(1, 5.0), (2, 5.0), (3, 5.0), (4, 4.0), (5, 4.0), (6, 4.0)]}


def test_a_missing_package_is_reported_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synmt.training.log.find_spec", lambda name: None)
    data = write_corpus(tmp_path, 1)
    with pytest.raises(BadInput, match=r"^tensorboard is not installed; pip install tensorboard$"):
        run(tmp_path / "model", data, "sequence", replace(SHORT, tensorboard=True))
    assert not (tmp_path / "model").exists()
