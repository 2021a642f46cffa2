"""Metrics by name: our own, and one from another package."""

import json
from pathlib import Path

import pytest

from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig
from tests.cli.commands import is_wrong_usage, shell
from tests.packages import install

EXACT = '''
import numpy as np
from synmt.metrics.metric import Score


class WrongLines:
    """The share of lines that are not the reference's. Statistics: wrong lines and lines."""

    uses = ("case",)
    compares = "translations"
    higher_is_better = False

    def __init__(self, config):
        self.lowercase = config.case == "lower"

    def statistics(self, hypotheses, references):
        fold = str.lower if self.lowercase else str
        pairs = zip(hypotheses, references[0], strict=True)
        return np.array([[fold(a) != fold(b), 1] for a, b in pairs], dtype=int)

    def scores(self, totals):
        return 100 * totals[:, 0] / totals[:, 1]

    def score(self, totals):
        return Score("WRONG", float(self.scores(totals[None])[0]), "by:another")
'''


def test_a_metric_of_another_package(tmp_path: Path) -> None:
    path = install(tmp_path, "another", EXACT, "[synmt.metrics]\nwrong = another:WrongLines\n")
    for name, lines in {"ref": "abcdefgh", "base": "Axxxxxxx", "good": "Abcdefgx"}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))

    def run(line: str) -> str:
        done = shell(f"set -o pipefail; {line}", tmp_path, PYTHONPATH=path)
        assert done.stderr == ""
        return done.stdout

    assert "f1, cPcA, wPcA, cPwA, wPwA, wrong." in " ".join(run("synmt score --help").split())
    score = "synmt score base good -r ref --metric wrong"
    assert [json.loads(line)["score"] for line in run(f"{score} --format jsonl").splitlines()] == [100, 25]
    assert run(f"{score} --case lower").endswith("WRONG|by:another\n")
    refused = shell(f"{score} --chrf-beta 3", tmp_path, PYTHONPATH=path)
    assert is_wrong_usage(refused, "wrong does not use --chrf-beta; it belongs to chrf, chrf+, chrf++")
    test = run("synmt significance base good -r ref --metric wrong,bleu --tokenize char --format tsv")
    assert [row.split("\t")[6] for row in test.splitlines() if "WRONG" in row] == ["", "better"]
    signs = run(f"{score} --format tsv | synmt sign-test --format tsv")
    assert signs.splitlines()[1].split("\t")[:4] == ["good", "1", "0", "0"]


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_declares_what_it_compares(name: str) -> None:
    metric = METRICS[name](MetricConfig())
    assert metric.compares in ("translations", "trees", "records", "links", "predictions", "scored links")
    assert metric.higher_is_better == (name not in ("ter", "aer", "cPwA", "wPwA"))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(KeyError):
        METRICS["cPc"]
