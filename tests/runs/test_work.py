"""How a run prepares its data, and how it resumes the fit of an aligner."""

import os
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from synmt.alignment import ALIGNERS
from synmt.model.files import write_config
from synmt.runs import steps, systems
from synmt.runs.commands import Command, Options
from synmt.runs.file import ParallelFiles, RunFile
from synmt.runs.run import Run
from synmt.runs.steps import Cost, RunFolder, do_all
from synmt.runs.systems import Systems, Training, translation_of, translation_of_dev, trees_of
from synmt.streams import BadInput, WrongUsage
from tests.cli.commands import warm_command


def cuts(tmp_path: Path, source: Path, target: Path, size: int, options: Options = {}) -> list[Path]:  # noqa: B006
    """Do the steps of a run that cut its training data."""
    train = ParallelFiles(source, target)
    run = RunFile(train, train, {}, {"sequence": {}}, sizes={size: {}}, options={"train": options})
    folder = RunFolder(tmp_path / "out")
    steps = [step for step in Systems(folder, run, 1).steps if step.verb == "cutting"]
    do_all(folder, steps, 1)
    return [step.path for step in steps]


def test_a_bad_line_is_cut_as_training_reads_it(tmp_path: Path) -> None:
    (tmp_path / "en").write_bytes(b"one\n\xff\nthree\n")
    (tmp_path / "de").write_text("eins\nzwei\ndrei\n")
    with pytest.raises(BadInput, match="en:2: not UTF-8"):
        cuts(tmp_path, tmp_path / "en", tmp_path / "de", 3)
    source, _ = cuts(tmp_path / "other", tmp_path / "en", tmp_path / "de", 3, {"on-error": "blank"})
    assert source.read_text() == "one\n\nthree\n"


def test_text_that_looks_like_links_is_cut_as_text(tmp_path: Path) -> None:
    text = 'a\n{"source": ["a"], "target": ["b"], "links": [[0, 0, 1.0]]}\n{"source": "x"}\n'
    (tmp_path / "en").write_text(text)
    source, target = cuts(tmp_path, tmp_path / "en", tmp_path / "en", 3)
    assert source.read_text() == target.read_text() == text


def test_both_sides_can_have_the_same_file_name(tmp_path: Path) -> None:
    for language in ("en", "de"):
        (tmp_path / language).mkdir()
        (tmp_path / language / "train").write_text(f"{language} 1\n{language} 2\n{language} 3\n")
    source, target = cuts(tmp_path, tmp_path / "en" / "train", tmp_path / "de" / "train", 2)
    assert source.read_text() == "en 1\nen 2\n"
    assert target.read_text() == "de 1\nde 2\n"
    with pytest.raises(BadInput, match="has 3 lines, fewer than a size of the run, 4"):
        cuts(tmp_path, tmp_path / "en" / "train", tmp_path / "de" / "train", 4)


def test_cuts_of_other_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "train"
    file.write_text("1\n2\n3\n")
    assert cuts(tmp_path, file, file, 2) == cuts(tmp_path, file, file, 2)
    file.write_text("2\n3\n4\n")
    with pytest.raises(BadInput, match=r"was made with file train \w+, not train \w+; name another --out"):
        cuts(tmp_path, file, file, 2)


NAMES = [
    "a",
    "a1",
    "1",
    "01",
    "json",
    "log",
    "train",
    "dev",
    "made",
    "--help",
    "-",
    "all",
    "steps",
    "new",
    "part",
    "x y",
]
TESTS = [*NAMES, "1.json", "json.new", "made.json", "1.1", "a.1", "log.log", "x.part", "x.new", "source", "tests"]


def test_no_two_outputs_share_a_path() -> None:
    """For any allowed names of systems, tests, files and values, no two outputs share a path."""
    folder = RunFolder(Path("out"))
    things = []
    for size in (None, 1, 11):
        for system in NAMES:
            for seed in (1, 11):
                training = Training(system, seed, size, {})
                things += [folder.path / training.name]
                translations = [translation_of(folder, training, test) for test in TESTS]
                things += [*translations, *(trees_of(folder, each) for each in translations)]
                things += [translation_of_dev(folder, training, {"alpha": value}) for value in (1, 1.0, "../x", "1.")]
    places = [
        each
        for path in things
        for each in (
            path,
            folder.log(path),
            folder.beside("steps", path, ".new"),
            folder.beside("steps", path, ".found"),
        )
    ]
    every = [os.path.normpath(each) for each in places]
    assert len(set(every)) == len(every)
    assert all(each.startswith("out/") for each in every)
    folders = {str(parent) for each in every for parent in Path(each).parents}
    models = {str(folder.path / Training(*key, {}).name) for key in product(NAMES, (1, 11), (None, 1, 11))}
    assert not folders & (set(every) - models)


def test_dev_is_scored_as_text_even_if_a_system_learns_from_its_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("train", "dev", "test"):
        for language, words in (("en", "the house\na small house\n"), ("de", "das Haus\nein kleines Haus\n")):
            (tmp_path / f"{part}.{language}").write_text(words)
    data = "[data]\ntrain = ['train.en', 'train.de']\ndev = ['dev.en', 'dev.de']\n[tests]\nt = ['test.en', 'test.de']\n"
    (tmp_path / "run.toml").write_text(
        f"metrics = ['chrf']\n{data}[translate]\nbeam = [1, 4]\n[systems]\nsequence = {{}}\ntags = {{}}\n"
    )
    work = Run.open(tmp_path / "run.toml", tmp_path / "out").work
    assert isinstance(work, Systems)
    for training in work.plan.trainings:
        for beam, text in ((1, "Haus\nHaus\n"), (4, "das Haus\nein kleines Haus\n")):
            path = translation_of_dev(work.folder, training, {"beam": beam})
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    assert work.chosen() == {(None, "sequence"): {"beam": 4}, (None, "tags"): {"beam": 4}}
    monkeypatch.setattr(systems, "score", None)  # scores are computed once, not for every task
    assert work.chosen()[None, "tags"] == {"beam": 4}


def test_an_aligner_of_a_run_reuses_the_models_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pairs").write_text("das Haus\tthe house\n")
    (tmp_path / "gold").write_text("0-0 1-1\n")
    (tmp_path / "saved").mkdir()
    write_config(tmp_path / "saved", {"aligner": "naive-att"})
    aligners = f"[tests]\nt = ['pairs', 'gold']\n[aligners]\nshift-att = {{ models = '{tmp_path / 'saved'}' }}\n"
    (tmp_path / "run.toml").write_text(aligners)
    (tmp_path / "empty").mkdir()
    for other in "hmm", tmp_path / "pairs", tmp_path / "empty":
        (tmp_path / "other.toml").write_text(aligners.replace(str(tmp_path / "saved"), str(other)) + "hmm = {}\n")
        with pytest.raises(
            BadInput, match=r"models: hmm has no translation models|found a file|config\.json: No such file"
        ):
            Run.open(tmp_path / "other.toml", tmp_path / "out")
    run = Run.open(tmp_path / "run.toml", tmp_path / "out")
    assert tmp_path / "saved" in run.files()
    called: list[Options] = []

    def write(folder: RunFolder, path: Path, command: Command, lines: object) -> Cost:
        called.append(command.options)
        return Cost()

    monkeypatch.setattr(RunFolder, "write", write)
    (step,) = [each for each in run.work.steps if each.verb == "aligning"]
    step.work()
    assert called[0]["models"] == tmp_path / "saved"


@pytest.mark.parametrize(
    ("gold", "cause"),
    [
        ("1-1\nx-2\n", "gold:2: 'x-2' is not a link such as 3-4 or 3p4"),
        ("0-0\n0-1\n", "gold:2: link 0-1 for 1 source and 1 target words"),
        ("0-0\n", "pairs: 2 lines, {folder}/gold: 1 line"),
    ],
)
def test_gold_links_are_read_before_an_aligner_is_fitted(gold: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("das Haus\tthe house\nja\tyes\n")
    (tmp_path / "run.toml").write_text("[tests]\nt = ['pairs', 'gold']\n[aligners]\nhmm = {}\n")
    (tmp_path / "gold").write_text('{"links": [[0, 0], [1, 1]]}\n{"links": [[0, 0]]}\n')
    assert Run.open(tmp_path / "run.toml", tmp_path / "out").work.lengths == {"t": 2}
    (tmp_path / "gold").write_text(gold)
    with pytest.raises(BadInput, match=f"^{re.escape(f'{tmp_path}/{cause.format(folder=tmp_path)}')}$"):
        Run.open(tmp_path / "run.toml", tmp_path / "out")


def test_the_python_function_refuses_what_the_command_refuses(tmp_path: Path) -> None:
    for name, text in (("pairs", "ja\tyes"), ("gold", "0-0")):
        (tmp_path / name).write_text(f"{text}\n")
    (tmp_path / "run.toml").write_text("[tests]\nt = ['pairs', 'gold']\n[aligners]\nhmm = {}\n")
    with pytest.raises(WrongUsage, match=r"--out .* would write over the input"):
        Run.open(tmp_path / "run.toml", tmp_path)
    run = Run.open(tmp_path / "run.toml", tmp_path / "out")
    for page, cause in (
        ("gold", "would write over the input"),
        ("out/page", "is inside"),
        ("no/page", "no is missing"),
    ):
        with pytest.raises(WrongUsage, match=cause):
            run.table(page=str(tmp_path / page))
    with pytest.raises(WrongUsage, match="form cannot be 'xml'; it is one of text, tsv, csv, json, jsonl, latex"):
        run.table("xml")  # type: ignore[arg-type]
    for number in (0, -1, 4):
        with pytest.raises(BadInput, match=f"^the run has no step {number}, only 3 steps"):
            run.do(number)
    assert not (tmp_path / "out").exists() and (tmp_path / "gold").read_text() == "0-0\n"
    assert list(run.table(page=str(tmp_path / "page"))) and (tmp_path / "page").exists()


@pytest.mark.parametrize(("form", "line"), [("records", '{"tokens": ["ja"]}'), ("conllu", "1\tja" + "\t_" * 8)])
def test_aligners_learn_from_raw_text(form: str, line: str, tmp_path: Path) -> None:
    for name, text in (("pairs", "ja\tyes"), ("gold", "0-0"), ("train", line)):
        (tmp_path / name).write_text(f"{text}\n")
    files = "[data]\ntrain = ['pairs', 'train']\n[tests]\nt = ['pairs', 'gold']\n"
    (tmp_path / "run.toml").write_text(f"{files}[aligners]\nhmm = {{}}\n")
    with pytest.raises(BadInput, match=f"train: has {form}, but aligners learn from raw text"):
        Run.open(tmp_path / "run.toml", tmp_path / "out")


def test_trees_are_checked_before_an_aligner_is_fitted(tmp_path: Path) -> None:
    def opened(source: str, target: str) -> None:
        for name, record in (("source", source), ("target", target)):
            (tmp_path / name).write_text(f'{{"tokens": ["ja"]{record}}}\n')
        (tmp_path / "run.toml").write_text("[tests]\nt = ['source', 'target']\n[projections]\nvotes = {}\n")
        Run.open(tmp_path / "run.toml", tmp_path / "out")

    tree = ', "upos": ["INTJ"], "heads": [0], "deprels": ["root"]'
    opened(tree, tree)
    opened(', "tree": "(NP (UH ja ) )"', tree)
    with pytest.raises(BadInput, match="target:1: record without heads and deprels"):
        opened(tree, ', "upos": ["INTJ"]')
    with pytest.raises(BadInput, match="source: no sentence has heads or a tree"):
        opened("", tree)


@pytest.mark.parametrize("method", ["auto", "naive-att"])
def test_a_fit_that_has_finished_its_parts_is_resumed(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "PROGRAM", warm_command("synmt.cli.step"))
    (tmp_path / "pairs").write_text("das Haus\tthe house\nein Haus\ta house\n" * 4)
    (tmp_path / "gold").write_text("0-0 1-1\n" * 8)
    options = f"method = '{method}', epochs = 1, width = 16"
    (tmp_path / "run.toml").write_text(f"[tests]\nt = ['pairs', 'gold']\n[aligners]\nx = {{ {options} }}\n")
    (step,) = (each for each in Run.open(tmp_path / "run.toml", tmp_path / "out").work.steps if each.verb == "aligning")
    list(Run.open(tmp_path / "run.toml", tmp_path / "out").table())
    expected, (model,) = step.path.read_text(), step.others
    step.path.unlink()
    (model / "config.json").unlink()
    assert {path.name for path in model.iterdir()} >= set(ALIGNERS[method].subfolders[-2:])
    resumed, start = list[Any](), RunFolder.run

    def spied(folder: RunFolder, command: Command, *rest: Path) -> Cost:
        resumed.append(command.options.get("resume"))
        return start(folder, command, *rest)

    monkeypatch.setattr(RunFolder, "run", spied)
    list(Run.open(tmp_path / "run.toml", tmp_path / "out").table())
    assert resumed == [True] and step.path.read_text() == expected and len(expected.splitlines()) == 8
