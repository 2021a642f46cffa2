import json
from pathlib import Path

import pytest

from tests.cli.commands import is_one_line_of_error, is_wrong_usage, shell, synmt

REFERENCE = "The cat is on the mat .\n" * 20
TEXTS = {
    "ref": REFERENCE,
    "base": "A cat sat on a mat .\n" * 15 + "The cat is on the mat .\n" * 5,
    "good": "A cat sat on a mat .\n" * 5 + "The cat is on the mat .\n" * 15,
    "empty": "",
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_better_system(files: Path) -> None:
    compared = [files / "base", files / "good", files / "base"]
    done = synmt("significance", *compared, "-r", files / "ref", "-m", "bleu,ter", cold=True)
    assert done.stderr == ""
    header, base, good, same, *rest = done.stdout.splitlines()
    assert header.split() == ["system", "BLEU", "Δ", "p", "TER", "Δ", "p"]
    assert len(base.split()) == 3
    assert [good.split()[place] for place in (4, 8)] == ["+", "+"]
    assert same.split()[2:4] == ["+0.00", "1.0000"]
    assert rest[0] == f"+ better, - worse than {files / 'base'} with p < 0.05"
    assert rest[1].startswith("p: two-sided t-test of the difference")
    assert rest[2] == "test:t-test|resamples:10000|sentences:20|seed:12345"
    assert [line.split("|")[0] for line in rest[3:]] == ["BLEU", "TER"]


@pytest.mark.parametrize("test", ["bootstrap-shifted", "bootstrap-sacrebleu", "randomization"])
def test_the_output_has_the_options_of_each_test(files: Path, test: str) -> None:
    options = ["-m", "chrf,ribes", "--test", test, "--resamples", "200", "--seed", "3", "--format", "jsonl"]
    done = synmt("significance", files / "base", files / "good", "-r", files / "ref", *options, "--against", "best")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["verdict"] for row in rows] == ["worse", "worse", "", ""]
    assert {(row["test"], row["resamples"], row["sentences"], row["seed"]) for row in rows} == {(test, 200, 20, 3)}


def test_links(tmp_path: Path) -> None:
    for name, text in {"gold": "1-1 2p2\n" * 20, "bad": "0-1\n" * 20, "good": "0-1\n" * 5 + "0-0\n" * 15}.items():
        (tmp_path / name).write_text(text)
    options = ["-m", "aer,recall", "--format", "jsonl", "--resamples", "100"]
    done = synmt("significance", tmp_path / "bad", tmp_path / "good", "-r", tmp_path / "gold", *options)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["metric"], row["difference"] > 0, row["verdict"]) for row in rows[2:]] == [
        ("AER", False, "better"), ("Recall", True, "better"),
    ]  # fmt: skip


def test_sign_tests_over_tables_of_scores(files: Path) -> None:
    sets = "for set in ref good; do synmt score base good -r $set --format tsv; done"
    done = shell(f"{sets} | synmt sign-test", files)
    assert done.stderr == ""
    header, good, *_ = done.stdout.splitlines()
    assert header.split()[:4] == ["system", "wins", "ties", "losses"]
    assert good.split() == ["good", "4", "0", "0", "0.062500", "0.125000"]
    bad = synmt("sign-test", text="system\tmetric\tscore\na\tBLEU\tNaN\n")
    assert is_one_line_of_error(bad, "synmt sign-test: stdin:2: the score of a is not a finite number: NaN")


def test_untestable_input(files: Path) -> None:
    (files / "short").write_text("a\n")
    two = [files / "base", files / "good"]
    assert is_one_line_of_error(
        synmt("significance", *two, "-r", files / "short"), "synmt significance: ", "good: 20 lines", "short: 1 line"
    )
    empty = synmt("significance", files / "empty", files / "empty", "-r", files / "empty")
    assert is_one_line_of_error(empty, "synmt significance: no lines to score")
    assert is_one_line_of_error(
        synmt("significance", *two, "-r", files / "none"), "synmt significance: ", "none: No such file"
    )


def test_wrong_usage(files: Path) -> None:
    alone = synmt("significance", files / "base", "-r", files / "ref")
    assert is_wrong_usage(alone, "synmt significance: give the files of two or more systems")
    for missing in (["-r", files / "ref", "--test", "sign"], []):
        assert synmt("significance", files / "base", files / "good", *missing).returncode == 2


@pytest.mark.parametrize(
    "test", ["t-test", "bootstrap-wins", "bootstrap-shifted", "bootstrap-sacrebleu", "randomization"]
)
@pytest.mark.parametrize(("resamples", "level"), [(1, 0.05), (19, 0.05), (99, 0.01)])
def test_too_few_resamples_for_the_level_are_refused(files: Path, test: str, resamples: int, level: float) -> None:
    command = ["significance", files / "base", files / "good", "-r", files / "ref", "--test", test, "--level", level]
    done = synmt(*command, "--resamples", resamples)
    least = round(1 / level)
    assert is_wrong_usage(done, f"--resamples {resamples} cannot show p < {level}: use at least {least}")
    assert synmt(*command, "--resamples", least).returncode == 0
