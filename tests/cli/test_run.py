"""`synmt run` from a run file to the table, and repeated runs."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import sacrebleu

from synmt.citations import papers
from synmt.model.files import locked
from synmt.options import settings_of
from synmt.parsers.config import CITES
from synmt.parsers.parser import DEPENDENCY, embedded_model
from synmt.runs import steps
from synmt.runs.file import OWN
from synmt.runs.steps import RunFolder
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.streams import BadInput, WrongUsage
from synmt.trees.record import read_record, write_record
from tests import tiny
from tests.cli.commands import HANGS, is_one_line_of_error, is_wrong_usage, output_of, synmt, warm_command

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


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the commands of a run from a process that has already imported their libraries."""
    monkeypatch.setattr(steps, "PROGRAM", warm_command("synmt.cli.step"))


def rows_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output_of("run", run, "--format", "jsonl").splitlines()]


def test_a_run_file_becomes_a_table_and_is_not_run_twice(run: Path) -> None:
    done = synmt("run", run, "--jobs", 2, "--format", "jsonl")
    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["system"], row["metric"], row["test"], row["size"]) for row in rows] == [
        (system, metric, "seen", None) for system in ("sequence", "mask") for metric in ("BLEU", "chrF2")
    ]
    assert all(row["cpu_minutes"] > 0 for row in rows)
    folder = run.parent / "systems"
    assert len((folder / "all" / "mask.1.seen").read_text().splitlines()) == len(tiny.records() * 2)
    command = json.loads((folder / "all/mask.1/config.json").read_text())["training"]["command"]
    assert command[0] == "train" and "--seed=1" in command
    assert len([path for path in folder.rglob("*") if path.is_file()]) < 30

    made = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    again = synmt("run", run, "--format", "jsonl", "--report", run.parent / "report.html")
    nothing = "synmt run: seen, trained on all pairs: every BLEU is below 1, so nothing was learned\n"
    assert (again.stdout, again.stderr) == (done.stdout, f"synmt run: scoring seen\n{nothing}")
    report = (run.parent / "report.html").read_text()
    assert '"systems":["sequence","mask"]' in report
    assert {key for key in papers() if f"{{{key}," in report} == {
        "synmt", "vaswani2017attention", "mcdonald2021syntax", "papineni2002bleu", "popovic2015chrf", "post2018call",
    }  # fmt: skip
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == made

    run.write_text(RUN.replace("updates = 2", "updates = 3"))
    assert is_one_line_of_error(synmt("run", run), "was made with updates 2, not 3; name another --out, or remove it")


def test_all_systems_learn_from_the_same_batches(run: Path, warm: None, capfd: pytest.CaptureFixture[str]) -> None:
    """Linearized trees and arcs among words lengthen no batch. A pair that one decoder leaves out, since its target has
    two roots, is announced; so is the choice of other batches."""
    targets = [*tiny.target_records(), *tiny.target_records()]
    text = RUN.replace('["train.jsonl", "train.de"]', '["train.jsonl", "target.jsonl"]', 2)
    text = text.replace("updates = 2", "epochs = 2\nbatch-tokens = 12\nvalidate-every = 1000")
    text = text.replace("mask = {}", 'mask = {}\nparent = { model = "linearized" }\ntransitions = {}\ntags = {}')

    def made(out: str, text: str) -> tuple[set[Any], set[Any], list[str]]:
        (run.parent / "target.jsonl").write_text("".join(f"{write_record(each)}\n" for each in targets))
        run.write_text(text)
        lines = output_of("run", run, "--out", run.parent / out).decode().splitlines()
        rows = json.loads(output_of("run", run, "--out", run.parent / out, "--format", "json"))
        line = "parent: encoder linearized, decoder sequence"
        assert f"synmt run: {line}" in capfd.readouterr().err.splitlines() and line in lines
        return {row["updates"] for row in rows}, {row["examples"] for row in rows}, lines

    updates, examples, said = made("same", text)
    assert (len(updates), examples) == (1, {8}) and not any("differ:" in line for line in said)
    updates, _, said = made("tokens", text.replace("epochs = 2", 'epochs = 2\nbatch-by = "tokens"'))
    assert len(updates) > 1 and any(line.startswith("training updates differ: sequence ") for line in said)
    two = targets[3]
    two.heads, two.deprels, two.sentences = [0, 1, 0, 3, 3], ["root", "rel1", "root", "rel0", "rel1"], [2, 3]
    _, examples, said = made("roots", text)
    assert examples == {7, 8}
    assert "training examples differ: sequence 8, mask 8, parent 8, transitions 7, tags 7" in said


def test_systems_can_be_compared_with_one_that_is_not_the_first(run: Path, warm: None) -> None:
    """The run prints the same table as without the systems above it."""
    run.write_text(f"{RUN}pascal = {{}}\n")
    table = output_of("run", run, "--against", "mask", "--report", run.parent / "report.html")
    assert '"systems":["mask","pascal"]' in (run.parent / "report.html").read_text()
    run.write_text(RUN.replace("sequence = {}\n", "") + "pascal = {}\n")
    assert output_of("run", run, "--out", run.parent / "systems") == table
    refused = synmt("run", run, "--against", "sequence")
    assert is_one_line_of_error(refused, "systems.toml: has no system 'sequence', only mask, pascal")


def test_options_with_several_values_are_chosen_on_dev(run: Path) -> None:
    text = RUN.replace("beam = 1", "beam = 2\nalpha = [2.0, 0.0, 1.0]").replace("updates = 2", "updates = 12")
    run.write_text(f'seeds = [1, 2]\nmetrics = ["chrf"]\n{text}')
    done = synmt("run", run, "--format", "jsonl")
    assert done.returncode == 0
    folder = run.parent / "systems" / "all"
    reference = (run.parent / "train.de").read_text().splitlines()
    for row in map(json.loads, done.stdout.splitlines()):
        means = {}
        for alpha in (2.0, 0.0, 1.0):
            files = [folder.parent / "data/dev/all" / f"{row['system']}.{seed}" / f"alpha-{alpha}" for seed in (1, 2)]
            texts = [file.read_text().splitlines() for file in files]
            means[alpha] = sum(sacrebleu.corpus_chrf(text, [reference]).score for text in texts)
        assert row["alpha"] == max(means, key=lambda alpha: means[alpha])
        model = folder / f"{row['system']}.2"
        of_test = synmt("translate", model, "--beam", 2, "--alpha", row["alpha"], run.parent / "train.jsonl")
        assert (folder / f"{row['system']}.2.seen").read_text() == of_test.stdout
    table = synmt("run", run).stdout
    assert "alpha" in table.splitlines()[1] and "\nalpha: chosen for each system by its mean score on dev" in table


def test_scores_of_another_program_join_the_table(run: Path, warm: None) -> None:
    output_of("run", run)
    outputs = [f"systems/all/{system}.1.seen" for system in ("mask", "sequence")]
    scores = [(0.5 + 0.01 * number, 0.81 - 0.002 * number**2) for number in range(8)]
    table = run.parent / "comet.tsv"
    table.write_text("\n".join("\t".join(map(str, row)) for row in [outputs, *scores]) + "\n")
    run.write_text(f'{RUN}[segments.comet]\nseen = "comet.tsv"\n')
    page = run.parent / "report.html"
    rows = [json.loads(line) for line in output_of("run", run, "--format", "jsonl", "--report", page).splitlines()]
    found = {row["system"]: row["mean"] for row in rows if row["metric"] == "comet"}
    means = [sum(column) / 8 for column in zip(*scores, strict=True)]
    assert found == {"mask": pytest.approx(means[0]), "sequence": pytest.approx(means[1])}
    assert f"{means[1]:.4f}" in output_of("run", run).decode()
    assert '{"name":"comet","higher":true,"digits":4}' in page.read_text()
    os.utime(table, (0, 0))
    with pytest.raises(
        BadInput, match=r"comet\.tsv: is older than all/sequence\.1\.seen: score this translation again"
    ):
        output_of("run", run)


def test_other_translate_options_cause_new_translations(run: Path) -> None:
    synmt("run", run)
    file, model = (run.parent / "systems" / "all" / name for name in ("mask.1.seen", "mask.1/model.safetensors"))
    before = file.stat().st_mtime_ns, model.stat().st_mtime_ns
    run.write_text(RUN.replace("beam = 1", "beam = 2"))
    assert synmt("run", run).returncode == 0
    assert (file.stat().st_mtime_ns > before[0], model.stat().st_mtime_ns) == (True, before[1])


def test_a_retrained_model_translates_again(run: Path) -> None:
    assert synmt("run", run).returncode == 0
    folder = run.parent / "systems" / "all"
    before = {name: (folder / f"{name}.1.seen").stat().st_mtime_ns for name in ("sequence", "mask")}
    shutil.rmtree(folder / "mask.1")
    run.write_text(RUN.replace("mask = {}", "mask = { updates = 3 }"))
    assert synmt("run", run).returncode == 0
    after = {name: (folder / f"{name}.1.seen").stat().st_mtime_ns for name in ("sequence", "mask")}
    assert after["sequence"] == before["sequence"] and after["mask"] > before["mask"]


@pytest.mark.parametrize(
    ("page", "cause"),
    [
        ("systems/report.html", "/systems is missing"),
        ("no/report.html", "/no is missing"),
        ("folder", "--report folder: expected a file, found a folder"),
        ("train.de", "--report train.de would write over the input train.de"),
        ("systems.toml", "--report systems.toml would write over the input systems.toml"),
        ("codes.new", "--report codes.new would write over the input codes.new"),
    ],
)
def test_unwritable_reports_are_refused_before_all_work(
    run: Path, monkeypatch: pytest.MonkeyPatch, page: str, cause: str
) -> None:
    monkeypatch.chdir(run.parent)
    Path("folder").mkdir()
    Path("codes.new").touch()
    run.write_text(RUN.replace("merges = 20", 'codes = "codes.new"'))
    with pytest.raises(WrongUsage) as error:
        output_of("run", "systems.toml", "--report", page)
    assert cause in str(error.value)
    assert not (run.parent / "systems").exists()


def test_two_runs_do_not_share_a_folder(run: Path) -> None:
    (run.parent / "systems").mkdir()
    with locked(run.parent / "systems"):
        done = synmt("run", run)
    assert is_one_line_of_error(done) and "systems: another process is writing to this folder" in done.stderr
    assert not (run.parent / "systems" / "all").exists()


def test_translate_options_are_checked_before_training(run: Path) -> None:
    for wrong, cause in (
        ("max-length = 3", "unknown option --max-length"),
        ("alpha = [1.0, 'x']", "Invalid value for '--alpha': 'x' is not a valid float"),
    ):
        run.write_text(RUN.replace("beam = 1", wrong))
        assert is_one_line_of_error(synmt("run", run), "systems.toml: system sequence: translate: ", cause)
    assert not (run.parent / "systems").exists()


def test_records_cannot_be_references_for_tuning(run: Path) -> None:
    targets = "".join(f"{write_record(record)}\n" for record in tiny.target_records() * 2)
    (run.parent / "dev.jsonl").write_text(targets)
    text = RUN.replace("beam = 1", "alpha = [0.0, 1.0]")
    run.write_text(text.replace(DEV, 'dev = ["train.jsonl", "dev.jsonl"]'))
    done = synmt("run", run)
    assert is_one_line_of_error(done)
    assert "dev.jsonl: has records, but translations are scored to choose alpha as text" in done.stderr
    assert not (run.parent / "systems").exists()


def without_costs(table: str) -> list[list[str]]:
    return [line.split("\t")[:-3] for line in table.splitlines()]


def test_pairs_that_cannot_be_scored_have_no_cost(run: Path, warm: None) -> None:
    sources, text = (run.parent / "train.jsonl").read_text().splitlines(), RUN.replace("mask = {}", "")
    (run.parent / "some.jsonl").write_bytes("\n".join(["{}", *sources[1:]]).encode().replace(b"\n", b"\n\xff\n", 1))
    (run.parent / "rest.jsonl").write_text("\n".join(sources[1:]) + "\n")
    targets = (run.parent / "train.de").read_text().splitlines()
    (run.parent / "rest.de").write_text("\n".join(targets[1:]) + "\n")
    (run.parent / "some.de").write_text("\n".join([targets[0], *targets]) + "\n")
    tests = 'some = ["some.jsonl", "some.de"]\nrest = ["rest.jsonl", "rest.de"]'
    text = text.replace(SEEN, tests).replace("[translate]", '[translate]\non-error = "blank"')
    run.write_text(f'metrics = ["bleu", "nats"]\n{text}')
    some, rest = [row["mean"] for row in rows_of(run) if row["metric"] == "nats"]
    assert some == pytest.approx(rest) and some > 1


def test_wins_on_contrastive_pairs_are_those_of_the_command(run: Path, warm: None) -> None:
    sources, targets = ((run.parent / name).read_text().splitlines() for name in ("train.jsonl", "train.de"))
    lines = [
        f"{source}\t{targets[0]}\t{right}\tkind {n % 2}\t{n}\n"
        for n, (source, right) in enumerate(zip(sources, targets, strict=True))
    ]
    (run.parent / "pairs.tsv").write_text("".join(lines))
    run.write_text(f'{RUN}[contrast]\npairs = "pairs.tsv"\n')
    rows = {(row["system"], row["test"]): row for row in rows_of(run) if row["metric"] == "wins"}
    for system in "sequence", "mask":
        model = run.parent / "systems/all" / f"{system}.1"
        done = output_of("challenge", "contrast", model, run.parent / "pairs.tsv", "--format", "jsonl")
        for row in map(json.loads, done.splitlines()):
            test = f"pairs, {row['group']} {row['name']}" if row["name"] else "pairs"
            own = rows[system, test]
            assert (own["mean"], own["low"], own["high"]) == (row["percent"], row["low"], row["high"])
    assert synmt("run", run, "--report", run.parent / "report.html").returncode == 0


def test_the_number_of_processes_is_no_input(run: Path, warm: None) -> None:
    done = output_of("run", run)
    run.write_text(RUN.replace("updates", "jobs = 2\nupdates"))
    assert output_of("run", run) == done


def test_folders_that_are_not_utf_8_are_refused(run: Path) -> None:
    for option in "--out", "--data":
        done = synmt("run", run, option, os.fsdecode(os.fsencode(run.parent) + b"/\xe9"))
        assert is_one_line_of_error(done, "must be UTF-8")


def test_parses_of_other_options_are_refused(run: Path) -> None:
    texts = "".join(f"{' '.join(record.tokens)}\n" for record in tiny.records() * 2)
    (run.parent / "train.en").write_text(texts)
    text = RUN.replace("train.jsonl", "train.en").replace("mask = {}", "pascal = {}")
    run.write_text(text)
    done = synmt("run", run)
    assert done.returncode == 0 and "parsing" in done.stderr
    assert synmt("run", run, "--report", run.parent / "report.html").stdout == done.stdout
    report = (run.parent / "report.html").read_text()
    assert [name in report for name in (*CITES["udpipe"], *CITES["benepar"])] == [True, False]
    run.write_text(f'{text}[parse]\nlanguage = "de"\n')
    assert is_one_line_of_error(synmt("run", run), "was made with language en, not de; name another --out")

    shutil.copy(embedded_model(DEPENDENCY), run.parent / "own.udpipe")
    run.write_text(f'{text}[parse]\nmodel = "{run.parent}/own.udpipe"\n')
    own = synmt("run", run, "--out", run.parent / "own", "--format", "tsv").stdout
    run.write_text(text)
    assert without_costs(own) == without_costs(synmt("run", run, "--format", "tsv").stdout) != []


ALIGNERS = """
[data]
languages = ["en", "de"]
[tests]
seen = ["train.en", "train.de", "links"]
[aligners]
hmm = { hmm-trees = true }
"""


@pytest.mark.parametrize("option", ['language = "en"', 'model = "benepar_en3"'])
@pytest.mark.parametrize("text", [f"{RUN.replace('train.jsonl', 'train.en')}tags = {{}}\n", ALIGNERS])
def test_a_parser_of_one_language_does_not_parse_another(text: str, option: str, run: Path) -> None:
    (run.parent / "train.en").write_text("He is\n" * 8)
    (run.parent / "links").write_text("0-0\n" * 8)
    run.write_text(f"{text}[parse]\n{option}\n")
    cause = f"parse: {option.split()[0]} is for one language, but the run parses de and en"
    assert is_one_line_of_error(synmt("run", run), cause)


def test_messages_of_commands_are_repeated(run: Path) -> None:
    (run.parent / "train.de").write_bytes(b"Er ist\n" * 7 + b"\0\n")
    run.write_text(RUN.replace('seen = ["train.jsonl", "train.de"]', 'seen = ["train.jsonl", "test.de"]'))
    (run.parent / "test.de").write_text("Er ist\n" * 8)
    done = synmt("run", run)
    assert (done.returncode, done.stdout) == (1, "")
    assert "all/sequence.1.log: synmt train ended with 1: synmt train: " in done.stderr.splitlines()[-1]


def test_notes_of_commands_are_repeated_once(run: Path, warm: None) -> None:
    (run.parent / "train.de").write_text("Er ist .\n" * 8)
    done = synmt("run", run)
    note = "target text looks tokenized in 8 of its first 8 lines, and was tokenized again; --tokenizer none keeps"
    notes = [line for line in done.stderr.splitlines() if not line.startswith("synmt run: ")]
    assert done.returncode == 0
    validations = re.findall(r"^synmt run: (\w+\.1): update 2 of 2: validation loss ", done.stderr, re.MULTILINE)
    assert validations == ["sequence.1", "mask.1"]
    assert notes == ["synmt train: target text is tokenized as de", f"synmt train: {note} its words"]


def test_unfinished_models_are_not_finished_with_other_options(run: Path) -> None:
    """This holds whatever files it had written when its run was killed."""
    text = RUN.replace("updates = 2", "updates = 100000\ncheckpoint-minutes = 0.0001").replace("mask = {}\n", "")
    run.write_text(text)
    folder = run.parent / "systems" / "all" / "sequence.1"
    killed(run, lambda: list((folder / "checkpoint").glob("update-*.safetensors")))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for old, new, named in (
        ("updates = 100000", "updates = 2", "updates 100000, not 2"),
        ('select = "loss"', "", "select loss, not the default"),
        ("width = 16", "width = 32", "width 16, not 32"),
    ):
        run.write_text(text.replace(old, new))
        assert is_one_line_of_error(synmt("run", run), f"was made with {named}; name another --out, or remove it") or (
            is_one_line_of_error(synmt("run", run), f"was started with {named}; name another --out, or remove it")
        )
    run.write_text(text)
    lines = (run.parent / "train.de").read_text().splitlines()
    (run.parent / "train.de").write_text("".join(f"{line}\n" for line in [lines[-1], *lines[1:]]))
    assert is_one_line_of_error(synmt("run", run), "target train.de ", ", not train.de ", "name another --out")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def killed(run: Path, far_enough: Callable[[], object]) -> None:
    """Start a run, and kill it once it is far enough. Return when its training process has ended, too."""
    process = subprocess.Popen([sys.executable, "-m", "synmt", "run", run], stderr=subprocess.PIPE)
    while not far_enough():
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.05)
    training = psutil.Process(process.pid).children(recursive=True)
    assert training
    process.kill()
    process.wait()
    gone, alive = psutil.wait_procs(training, timeout=HANGS)
    assert gone and not alive


def test_training_processes_end_with_their_run(run: Path) -> None:
    """A killed run cannot end its training process, which must end by itself. The log says what it cost, so that the
    costs of the model add up."""
    run.write_text(RUN.replace("updates = 2", "updates = 1000000\ncheckpoint-minutes = 0.0001"))
    model, spent = run.parent / "systems/all/sequence.1", list[float]()
    for _ in range(2):
        before = {*model.glob("checkpoint/*")}
        killed(run, lambda: {*model.glob("checkpoint/*.safetensors")} - before)  # noqa: B023 (called at once)
        record = RunFolder(run.parent / "systems").record(model)
        assert record and not record.is_finished
        spent.append(record.cpu_seconds)
    assert 0 < spent[0] < spent[1]


def test_the_run_file_cannot_be_the_output_folder(run: Path) -> None:
    file = run.with_suffix("")
    run.rename(file)
    assert is_wrong_usage(synmt("run", file), "has no suffix to remove: name the folder of the run with --out")
    assert is_wrong_usage(synmt("inspect", "run", file), "has no suffix to remove")


SEEN, TRAIN, DEV = (f'{name} = ["train.jsonl", "train.de"]' for name in ("seen", "train", "dev"))
NO_TREE = ["bare.jsonl: no sentence has any constituency tree, which some system needs"]
SHORT = ["train.jsonl: 8 lines", "short.de: 1 line"]


@pytest.mark.parametrize(
    ("old", "new", "causes"),
    [
        ("[data]", "metrics = ['blue']\n[data]", ["systems.toml: metrics: 'blue' is not one of bleu, chrf"]),
        ("[data]", "metrics = []\n[data]", ["systems.toml: metrics is empty"]),
        ("[data]", "metrics = ['bleu', 'bleu']\n[data]", ["systems.toml: metrics has a duplicate name"]),
        ("[data]", "metrics = [1]\n[data]", ["systems.toml: metrics: 1 is not one of bleu"]),
        ("[data]", "metrics = ['aer']\n[data]", ["systems.toml: metrics: aer does not compare translations"]),
        ("[data]", "metrics = ['comet']\n[data]", ["metrics: synmt does not compute comet", "under [segments]"]),
        ("[data]", "segments.da = {}\n[data]", ["segments: da needs the name of a file for the test seen"]),
        ("[data]", "segments.da = { seen = 'x', a = 'y' }\n[data]", ["da has a file for a, which is not a test"]),
        ("[data]", "segments.da = 'x'\n[data]", ["segments: da must be a table with a file for each test"]),
        ("[data]", "segments.da = { lower-is-better = 1 }\n[data]", ["lower-is-better can only be true"]),
        ("[data]", "segments.chrF2 = { seen = 'x' }\n[data]", ["'chrF2' cannot be the name of a metric, or is one of"]),
        ("[data]", "segments.da = { seen = 'no.tsv' }\n[data]", ["no.tsv: No such file"]),
        ("[data]", "segments.da = { seen = 'one.tsv' }\n[data]", ["one.tsv: has no column all/mask.1.seen"]),
        ("[data]", "segments.da = { seen = 'few.tsv' }\n[data]", ["few.tsv: has 1 row of scores, but seen has 8"]),
        ("[data]", "contrast.a = 1\n[data]", ["contrast: a must be the name of a file of contrastive pairs, not 1"]),
        ("[data]", "contrast.a = 'no.tsv'\n[data]", ["no.tsv: No such file"]),
        ("[data]", "contrast.a = 'far'\n[data]", ["far:1: expected `source TAB right TAB wrong TAB category"]),
        ("[data]", "contrast.a = 'empty'\n[data]", ["empty: has no contrastive pairs"]),
        ("[data]", "contrast.seen = 'far'\n[data]", ["two tables would have the title 'seen'"]),
        ("[data]", "challenge.far = 'far'\n[data]", ["far:2: '9' is not the number of a line of the test, from"]),
        ("[data]", "sizes = [2, 9]\n[data]", ["train.jsonl: has 8 lines, fewer than a size of the run, 9"]),
        ("[data]", "seeds = [4294967296]\n[data]", ["seeds must be numbers from 0 to 4294967295"]),
        (SEEN, 'seen = ["train.jsonl", "no.de"]', ["no.de: No such file"]),
        (SEEN, 'seen = ["no.en", "train.de"]', ["no.en: No such file"]),
        (SEEN, 'seen = ["train.jsonl", "short.de"]', SHORT),
        (SEEN, 'seen = ["train.jsonl", "train.jsonl"]', ["train.jsonl: has records"]),
        (SEEN, 'seen = ["empty", "empty"]', ["empty: has no lines"]),
        (SEEN, 'seen = ["bare.jsonl", "train.de"]', NO_TREE),
        (TRAIN, 'train = ["bare.jsonl", "train.de"]', NO_TREE),
        (DEV, 'dev = ["train.jsonl", "short.de"]', SHORT),
        (SEEN, 'seen = ["a\\u0000", "train.de"]', ["systems.toml: the name of a file must be UTF-8, not "]),
        ("seen =", '"seen.gz" =', ["systems.toml: 'seen.gz' cannot be the name of a file"]),
        ("[tests]", "[challenge]\na = 'far'\n[tests]\n'seen, a' = ['a', 'b']", ["have the title 'seen, a'"]),
        ("[data]", "segments.'dev loss' = { seen = 'x' }\n[data]", ["'dev loss' cannot be the name of a metric"]),
        ("mask = {}", '"ma\\tsk" = { model = "mask" }', ["systems.toml: 'ma\\tsk' cannot be the name of a file"]),
        ("mask = {}", '"ma\\nsk" = { model = "mask" }', ["cannot be the name of a file"]),
        ("mask = {}", '"mask.2" = { model = "mask" }', ["'mask.2' cannot be the name of a system: it contains a dot"]),
        ("mask = {}", f'{"x" * 101} = {{ model = "mask" }}', ["has 101 bytes, but a name may have at most 100"]),
        ("mask = {}", 'mask = { codes = "no.bpe" }', ["system mask: codes: no file no.bpe"]),
        ("mask = {}", "plain = { model = 'sequence', tree-dropout = 0.1 }", ["system plain: --tree-dropout"]),
        ("beam = 1", "help = true", ["translate: unknown option --help"]),
        ("beam = 1", "n-best = 1", ["translate: n-best is set by the run itself"]),
        ("beam = 1", "n-best = [1, 2]", ["translate: n-best is set by the run itself"]),
        ("beam = 1", 'format = "jsonl"', ["translate: format is set by the run itself"]),
        ("beam = 1", "score = true", ["translate: unknown option --score; `synmt logprob`"]),
        ("beam = 1", 'task = "parse"', ["translate: task is set by the run itself"]),
        ("beam = 1", 'tokenizer = "none"', ["translate: tokenizer is set by the run itself"]),
        ("beam = 1", "device = true", ["translate: Option '--device' requires an argument"]),
        ("beam = 1", 'sample = "--help"', ["translate: Option '--sample' does not take a value"]),
        ("beam = 1", 'beam = "--help"', ["Invalid value for '--beam': '--help' is not a valid integer"]),
        ("[translate]", "[parse]\nhelp = true\n[translate]", ["parse: unknown option --help"]),
        ("[translate]", '[parse]\nformat = "conllu"\n[translate]', ["parse: format is set by the run itself"]),
        ("[translate]", "[parse]\nwidth = 3\n[translate]", ["parse: unknown option --width"]),
        ("[translate]", '[parse]\nparser = "udpipe"\n[translate]', ["systems.toml: parse has no effect"]),
        ("[translate]", '[parse]\nmodel = "no.udpipe"\n[translate]', ["parse: model: no file no.udpipe"]),
        ('preset = "small"', "help = true", ["system sequence: unknown option --help"]),
        ('preset = "small"', 'out = "elsewhere"', ["train: out is set by the run itself"]),
    ],
)  # fmt: skip
def test_everything_is_refused_before_all_work(run: Path, old: str, new: str, causes: list[str]) -> None:
    texts = [record.text or " ".join(record.tokens) for record in tiny.records() * 2]
    (run.parent / "bare.jsonl").write_text("".join(f'{{"tokens": {json.dumps(text.split())}}}\n' for text in texts))
    (run.parent / "short.de").write_text("Er\n")
    (run.parent / "empty").write_text("")
    (run.parent / "far").write_text("8\n9\n")
    (run.parent / "one.tsv").write_text("all/sequence.1.seen\n" + "1\n" * 8)
    (run.parent / "few.tsv").write_text("x/all/sequence.1.seen\tall/mask.1.seen\n1\t2\n")
    (run.parent / "latin.de").write_bytes(b"\xfcber\n" * 7)
    assert old in RUN
    run.write_text(RUN.replace(old, new, 1))
    with pytest.raises(BadInput) as error:
        output_of("run", run)
    assert all(cause in str(error.value) for cause in causes)
    assert not (run.parent / "systems").exists()


@pytest.mark.parametrize("option", ["--task", "--against", "--format", "--report"])
def test_a_list_of_steps_has_no_other_options(option: str, run: Path) -> None:
    value = {"--format": "tsv", "--against": "mask"}.get(option, "1")
    assert is_wrong_usage(synmt("run", run, "--list", option, value), f"{option} has no effect with --list")


def test_translate_options_either_keep_text_output_or_belong_to_the_run() -> None:
    """Whoever adds an option must decide which."""
    asked = {
        f"{each.name}".replace("_", "-") for config in (TranslateConfig, SearchConfig) for each in settings_of(config)
    }
    harmless = {
        "beam", "length-penalty", "alpha", "max-length-offset", "max-length-ratio", "min-length-ratio", "no-repeat",
        "sample", "top-k", "seed", "search", "constraints", "batch-tokens", "precision", "jobs",
        "max-tokens",
    }  # fmt: skip
    assert asked == harmless | set(OWN["translate"])


@pytest.mark.parametrize(
    "names", [("train", "dev"), ("--help", "made.json"), ("-", "log"), ("1.1", "$x_1^2$ & \\\\"), ("x y", "[1]")]
)
def test_names_in_a_run_file_have_no_other_meaning(
    run: Path, names: tuple[str, str], warm: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They cannot be confused with training data, options or files of the run: any names give the same table."""
    expected = rows_of(run)
    folder = run.parent / "other"
    folder.mkdir()
    for number, name in enumerate(("train.jsonl", "train.de")):
        shutil.copy(run.parent / name, folder / names[number])
    files, system = json.dumps(list(names)), names[1].replace(".", ":")
    lines = [f"{json.dumps(name)} = {files}" for name in names]
    text = RUN.replace('["train.jsonl", "train.de"]', files).replace(f"seen = {files}", "\n".join(lines))
    text = text.replace("mask = {}", f"{json.dumps(system)} = {{ model = 'mask' }}")
    (folder / "run.toml").write_text(text)
    monkeypatch.chdir(folder)
    rows = rows_of(Path("run.toml"))
    for test in names:
        found = [row for row in rows if row["test"] == test]
        assert [row["system"] for row in found] == ["sequence", "sequence", system, system]
        assert [row["mean"] for row in found] == [row["mean"] for row in expected]


def test_words_separated_by_spaces_stay_words_for_the_parser(run: Path, warm: None) -> None:
    texts = ["He is n't my father @-@ in @-@ law .", "(my father )", "is father ?", "my father 's father is old !"] * 2
    (run.parent / "train.en").write_text("".join(f"{text}\n" for text in texts))
    text = RUN.replace("train.jsonl", "train.en").replace("updates = 2", 'updates = 2\ntokenizer = "none"')
    run.write_text(text)
    output_of("run", run)
    for part in ("train", "dev", "tests/seen"):
        lines = (run.parent / f"systems/data/parsed/{part}/source/train.en.jsonl").read_text().splitlines()
        assert [json.loads(line)["tokens"] for line in lines] == [text.split() for text in texts]
    run.write_text(text.replace("mask = {}", 'mask = { tokenizer = "moses" }'))
    with pytest.raises(BadInput, match="all systems read the same words, but sequence and mask differ in language or"):
        output_of("run", run)


def test_the_parser_uses_the_language_of_training(run: Path, warm: None) -> None:
    """The language may come from --source-language as well as from file names."""
    (run.parent / "train.txt").write_text("Er ist mein Vater .\n" * 8)
    text = RUN.replace("train.jsonl", "train.txt").replace("mask = {}", "pascal = {}")
    run.write_text(text.replace("updates = 2", 'updates = 2\nsource-language = "de"'))
    output_of("run", run)
    record = RunFolder(run.parent / "systems").record(run.parent / "systems/data/parsed/train/source/train.txt.jsonl")
    assert record and record.inputs["language"] == "de"


def test_a_system_reads_the_words_of_the_parser_without_systems_that_need_trees(run: Path, warm: None) -> None:
    """So a run can start with the systems that need no trees, and add others later. Otherwise it parses nothing."""
    (run.parent / "train.en").write_text("He is my father .\n" * 8)
    text = RUN.replace("train.jsonl", "train.en").replace("[train]", '[parse]\nparser = "udpipe"\n[train]')
    run.write_text(text.replace("mask = {}", ""))
    output_of("run", run)
    run.write_text(text.replace("mask = {}", "pascal = {}"))
    undone = [line for line in output_of("run", run, "--list").decode().splitlines() if "# done" not in line]
    assert undone
    assert all("pascal" in line for line in undone)
    run.write_text(RUN.replace("train.jsonl", "train.en").replace("mask = {}", ""))
    steps = output_of("run", run, "--list", "--jobs", "2", "--out", run.parent / "plain")
    assert b"parsing" not in steps and all(b"--jobs 2 --task" in step for step in steps.splitlines())


def test_targets_with_arcs_are_not_parsed(run: Path, warm: None) -> None:
    (run.parent / "target.jsonl").write_text("".join(f"{write_record(each)}\n" for each in tiny.target_records() * 2))
    (run.parent / "arcs.de").write_bytes(output_of("transitions", run.parent / "target.jsonl"))
    text = RUN.replace("mask = {}", "").replace("sequence = {}", "transitions = {}")
    for part in ("train", "dev"):
        text = text.replace(f'{part} = ["train.jsonl", "train.de"]', f'{part} = ["train.jsonl", "arcs.de"]')
    run.write_text(text)
    assert [row["system"] for row in rows_of(run)] == ["transitions"] * 2
    trees = (run.parent / "systems/data/trees/all/transitions.1.seen.jsonl").read_text().splitlines()
    texts = (run.parent / "systems/all/transitions.1.seen").read_text().splitlines()
    assert [read_record(line).text for line in trees] == texts
    assert not (run.parent / "systems/data/parsed").exists()
