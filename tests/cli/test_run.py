"""`synmt run` from a file to its table, and again."""

import json
import shutil
from pathlib import Path

import pytest
import sacrebleu

from synmt.model.files import locked
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


def test_what_has_several_values_is_chosen_on_dev(run: Path) -> None:
    text = RUN.replace("beam = 1", "beam = 2\nalpha = [2.0, 0.0, 1.0]").replace("updates = 2", "updates = 12")
    run.write_text(f'seeds = [1, 2]\nmetrics = ["chrf"]\n{text}')
    done = synmt("run", run, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    folder = run.parent / "systems" / "all"
    reference = (run.parent / "train.de").read_text().splitlines()
    for row in map(json.loads, done.stdout.splitlines()):
        means = {}
        for alpha in (2.0, 0.0, 1.0):
            files = [folder / f"{row['system']}.{seed}.dev.alpha-{alpha}" for seed in (1, 2)]
            texts = [file.read_text().splitlines() for file in files]
            means[alpha] = sum(sacrebleu.corpus_chrf(text, [reference]).score for text in texts)
        assert row["alpha"] == max(means, key=lambda alpha: means[alpha])
        model = folder / f"{row['system']}.2"
        of_test = synmt("translate", model, "--beam", 2, "--alpha", row["alpha"], run.parent / "train.jsonl")
        assert (folder / f"{row['system']}.2.seen").read_text() == of_test.stdout
    table = synmt("run", run).stdout
    assert "alpha" in table.splitlines()[1] and "\nalpha: of each system, by the first metric on dev" in table


def test_other_options_of_translate_translate_again(run: Path) -> None:
    synmt("run", run)
    file, model = (run.parent / "systems" / "all" / name for name in ("mask.1.seen", "mask.1/model.safetensors"))
    before = file.stat().st_mtime_ns, model.stat().st_mtime_ns
    run.write_text(RUN.replace("beam = 1", "beam = 2"))
    assert synmt("run", run).returncode == 0
    assert (file.stat().st_mtime_ns > before[0], model.stat().st_mtime_ns) == (True, before[1])


def test_a_model_that_is_trained_anew_translates_anew(run: Path) -> None:
    assert synmt("run", run).returncode == 0
    folder = run.parent / "systems" / "all"
    before = {name: (folder / f"{name}.1.seen").stat().st_mtime_ns for name in ("sequence", "mask")}
    shutil.rmtree(folder / "mask.1")
    run.write_text(RUN.replace("mask = {}", "mask = { updates = 3 }"))
    assert synmt("run", run).returncode == 0
    after = {name: (folder / f"{name}.1.seen").stat().st_mtime_ns for name in ("sequence", "mask")}
    assert after["sequence"] == before["sequence"] and after["mask"] > before["mask"]


def test_two_runs_do_not_share_a_folder(run: Path) -> None:
    (run.parent / "systems").mkdir()
    with locked(run.parent / "systems"):
        done = synmt("run", run)
    assert is_one_line_of_error(done) and "systems: another process writes into this folder" in done.stderr
    assert not (run.parent / "systems" / "all").exists()


def test_options_of_translate_are_checked_before_hours_of_training(run: Path) -> None:
    for wrong, cause in (("max-length = 3", "No such option '--max-length'"), ("alpha = [1.0, 'x']", "'--alpha': 'x'")):
        run.write_text(RUN.replace("beam = 1", wrong))
        done = synmt("run", run)
        assert is_one_line_of_error(done) and "systems.toml: translate: " in done.stderr and cause in done.stderr
    assert not (run.parent / "systems").exists()


def test_records_are_no_reference_to_choose_by(run: Path) -> None:
    targets = "".join(f"{write_record(record)}\n" for record in tiny.target_records() * 2)
    (run.parent / "dev.jsonl").write_text(targets)
    text = RUN.replace("beam = 1", "alpha = [0.0, 1.0]")
    run.write_text(text.replace('dev = ["train.jsonl", "train.de"]', 'dev = ["train.jsonl", "dev.jsonl"]'))
    done = synmt("run", run)
    assert is_one_line_of_error(done)
    assert "dev.jsonl: holds records, and alpha is chosen on dev by a score of text" in done.stderr
    assert not (run.parent / "systems").exists()


def test_parses_of_other_options_are_refused(run: Path) -> None:
    texts = "".join(f"{' '.join(record.tokens)}\n" for record in tiny.records() * 2)
    (run.parent / "train.en").write_text(texts)
    text = RUN.replace("train.jsonl", "train.en").replace("mask = {}", "pascal = {}")
    run.write_text(text)
    done = synmt("run", run)
    assert done.returncode == 0 and "parsing" in done.stderr
    assert synmt("run", run).stdout == done.stdout
    run.write_text(f'{text}[parse]\nlanguage = "de"\n')
    again = synmt("run", run)
    assert is_one_line_of_error(again) and "was parsed with other options; name another --out" in again.stderr


def test_what_a_command_said_is_said(run: Path) -> None:
    (run.parent / "train.jsonl").write_text("{\n")
    done = synmt("run", run)
    assert is_one_line_of_error(done)
    assert "sequence.1.log: synmt train ended with 1: synmt train: " in done.stderr
