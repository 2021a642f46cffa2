"""`synmt run` from a file to its table, and again."""

import json
from pathlib import Path

import pytest

from synmt.trees.record import write_record
from tests import tiny
from tests.cli.commands import is_one_line_of_error, synmt

RUN = """
[data]
train = ["train.jsonl", "train.de"]
dev = ["train.jsonl", "train.de"]
[tests]
seen = ["train.jsonl", "train.de"]
[train]
preset = "small"
width = 16
feedforward = 32
encoder-layers = 1
decoder-layers = 1
heads = 2
merges = 20
updates = 2
select = "loss"
[translate]
beam = 1
[systems]
sequence = {}
mask = {}
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    records = tiny.records() * 2
    (tmp_path / "train.jsonl").write_text("".join(f"{write_record(record)}\n" for record in records))
    (tmp_path / "train.de").write_text("".join(f"{record.text}\n" for record in tiny.target_records() * 2))
    (tmp_path / "systems.toml").write_text(RUN)
    return tmp_path / "systems.toml"


def test_one_file_becomes_a_table_and_is_not_run_twice(run: Path) -> None:
    done = synmt("run", run, "--jobs", 2, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["system"], row["metric"], row["test"], row["size"]) for row in rows] == [
        (system, metric, "seen", None) for system in ("sequence", "mask") for metric in ("BLEU", "chrF2")
    ]
    assert all(row["cpu_minutes"] > 0 for row in rows)
    folder = run.parent / "systems"
    assert len((folder / "all" / "mask.1.seen").read_text().splitlines()) == len(tiny.records() * 2)
    command = json.loads((folder / "all/mask.1/config.json").read_text())["training"]["command"]
    assert command[command.index("--seed") + 1] == "1"

    made = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    again = synmt("run", run, "--format", "json")
    assert again.stdout == done.stdout
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == made

    run.write_text(RUN.replace("updates = 2", "updates = 3"))
    changed = synmt("run", run)
    assert is_one_line_of_error(changed) and "trained with other options" in changed.stderr


def test_what_a_command_said_is_said(run: Path) -> None:
    (run.parent / "train.jsonl").write_text("{\n")
    done = synmt("run", run)
    assert is_one_line_of_error(done)
    assert "sequence.1.log: synmt train ended with 1: synmt train: " in done.stderr
