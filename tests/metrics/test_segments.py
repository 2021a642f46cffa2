"""Tables of sentence scores: the bootstrap compared with one worked out here, and sentence scores compared with the
metric that they come from."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import is_one_line_of_error, is_wrong_usage, shell, synmt

ROWS = [(round(0.5 + 0.01 * (i % 7), 2), round(0.5 + 0.012 * (i % 11) - 0.02 * (i % 3), 3)) for i in range(40)]
TABLE = "a\tb\n" + "".join(f"{one}\t{other}\n" for one, other in ROWS)


def findings(*options: str, text: str = TABLE) -> list[dict[str, object]]:
    done = synmt("segment-test", "--format", "jsonl", *options, text=text)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_means_are_compared_over_resampled_rows() -> None:
    first, second = findings("--test", "bootstrap-wins", "--resamples", "500", "--seed", "7")
    one, other = np.array(ROWS).T
    assert (first["system"], second["system"], second["sentences"]) == ("a", "b", 40)
    assert first["score"] == pytest.approx(one.mean()) and second["difference"] == pytest.approx((other - one).mean())
    drawn = np.random.default_rng(7).integers(40, size=(500, 40))
    differences = (other - one)[drawn].mean(axis=1)
    better = differences > 0 if other.mean() > one.mean() else differences < 0
    assert second["p"] == pytest.approx(np.mean(~better), abs=0.005) and 0 < np.mean(~better) < 0.5


def test_lower_scores_can_be_better() -> None:
    text = "a\tb\n" + "1\t2\n2\t3\n" * 10
    assert [row["verdict"] for row in findings(text=text)] == ["", "better"]
    assert [row["verdict"] for row in findings("--lower-is-better", text=text)] == ["", "worse"]
    assert [row["verdict"] for row in findings("--against", "best", text=text)] == ["worse", ""]


def test_sentence_scores_of_ribes_match_ribes(tmp_path: Path) -> None:
    """The score of a corpus is the mean over its sentences."""
    for name, text in {"ref": "a b c d\n", "x": "b a c d\n", "y": "a b d c\n"}.items():
        (tmp_path / name).write_text((text + "d c b a\n") * 10)
    done = shell("synmt score x y -r ref -m ribes --by-sentence --format tsv", tmp_path)
    head, *rows = [line.split("\t") for line in done.stdout.splitlines()]
    own = shell("synmt significance x y -r ref -m ribes --format jsonl --resamples 300", tmp_path).stdout.splitlines()
    scores = {
        name: [row[head.index("score")] for row in rows if row[head.index("system")] == name] for name in ("x", "y")
    }
    text = "x\ty\n" + "".join(f"{one}\t{other}\n" for one, other in zip(scores["x"], scores["y"], strict=True))
    for mine, given in zip(map(json.loads, own), findings("--resamples", "300", text=text), strict=True):
        assert given["score"] == pytest.approx(mine["score"], abs=1e-3) and given["p"] == mine["p"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "starts with the names of two or more systems"),
        ("a\n1\n", "stdin:1: a table of sentence scores starts with"),
        ("a\ta\n1\t2\n", "stdin:1: a table of sentence scores starts with"),
        ("a\tb\n", "no lines to score"),
        ("a\tb\n1\t2\n1\n", "stdin:3: 1 column, but the header has 2"),
        ("a\tb\n1\tx\n", "stdin:2: 'x' is not a finite number"),
        ("a\tb\n1\tnan\n", "stdin:2: 'nan' is not a finite number"),
    ],
)
def test_a_bad_table_gives_one_line_of_error(text: str, cause: str) -> None:
    assert is_one_line_of_error(synmt("segment-test", text=text), "synmt segment-test: ", cause)


@pytest.mark.parametrize("option", ["--segments", "--lower-is-better"])
def test_options_of_other_tests_are_refused(option: str) -> None:
    done = synmt("significance", "a", "b", "-r", "c", option)
    assert is_wrong_usage(done, f"synmt significance: unknown option {option}; `synmt segment-test` compares")
