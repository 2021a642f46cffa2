"""The recipes in docs/filtering.md for other programs work: with these programs if they are installed, otherwise with
stand-ins that follow their protocol."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import pytest

from tests.cli.commands import COLD, synmt, write_program

PAGE = Path(__file__).parents[1] / "docs/filtering.md"
PAIRS = [("the red house", "das rote Haus"), ("the old tree", "der alte Baum"), ("the red tree", "der rote Baum")]
NOISY = [("the red house", "das rote Haus"), ("the red house", "ein Baum"), ("", ""), ("the old tree", "der alte Baum")]
TRUE = [NOISY[0], NOISY[3]]


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return found


@pytest.fixture(scope="module")
def aligner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filtering") / "aligner"
    text = "".join(f"{source}\t{target}\n" for source, target in PAIRS * 4)
    done = synmt("align", "--fit", "--method", "hmm", "--target-language", "de", "--out", folder, text=text)
    assert done.returncode == 0, done.stderr
    return folder


def test_opusfilter_accepts_pairs_by_their_confidence(aligner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("opusfilter") is None:
        stand_in = ModuleType("opusfilter")
        stand_in.CLEAN_HIGH = "clean_high"  # type: ignore[attr-defined]
        stand_in.FilterABC = type("FilterABC", (), {"__init__": lambda self, name=None, workdir="": None})  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "opusfilter", stand_in)
    names: dict[str, Any] = {}
    exec(blocks("python")[0], names)
    chosen = names["LinkConfidence"](aligner=str(aligner), threshold=0.4)
    scores = list(chosen.score(list(pair) for pair in NOISY))
    assert len(scores) == len(NOISY) and all(0 <= score <= 1 for score in scores)
    assert [pair for pair, score in zip(NOISY, scores, strict=True) if chosen.accept(score)] == TRUE
    assert chosen.score_direction == "clean_high"
    assert chosen.accept(chosen.reject_threshold) and chosen.accept_threshold < min(scores) + 1e-9


THRESHOLD = """
import argparse, subprocess, sys
parser = argparse.ArgumentParser()
parser.add_argument("threshold", type=float)
parser.add_argument("scorer", nargs="+")
parser.add_argument("--cache", "-c")  # which must not swallow the -c of a shell
known, others = parser.parse_known_args()
lines = sys.stdin.buffer.readlines()
scores = subprocess.run([*known.scorer, *others], input=b"".join(lines), stdout=subprocess.PIPE, check=True).stdout
for line, score in zip(lines, scores.splitlines(), strict=True):
    if float(score) >= known.threshold:
        sys.stdout.buffer.write(line)
"""


def test_opuscleaner_runs_its_filter_on_lines(aligner: Path, tmp_path: Path) -> None:
    described = json.loads(blocks("json")[0])
    assert described["type"] == "bilingual"
    assert set(re.findall(r"\$([A-Z]+)", described["command"])) == described["parameters"].keys()
    write_program(tmp_path / "bin/synmt", f'exec {COLD} "$@"')
    if not shutil.which("opuscleaner-threshold"):
        (tmp_path / "threshold.py").write_text(THRESHOLD)
        write_program(tmp_path / "bin/opuscleaner-threshold", f'exec {sys.executable} {tmp_path}/threshold.py "$@"')
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    command = f"ALIGNER={aligner}; THRESHOLD=0.4; {described['command']}"
    lines = [f"{source}\t{target}" for source, target in NOISY]
    done = subprocess.run(
        ["sh", "-c", command], input="".join(f"{line}\n" for line in [*lines, "one\ttwo\tthree"]), text=True,
        capture_output=True, env={**os.environ, "PATH": path}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["\t".join(pair) for pair in TRUE]


class Parts(list[list[Any]]):
    """A list of partitions, with the methods of an RDD that the page uses."""

    def pipe(self, command: str, env: dict[str, str], checkCode: bool) -> Self:
        """Pipe each part through a separate process of the command."""
        return type(self)(self._through(command, part, env, checkCode) for part in self)

    def _through(self, command: str, part: list[str], env: dict[str, str], check: bool) -> list[str]:
        text = "".join(f"{line}\n" for line in part)
        done = subprocess.run(
            ["sh", "-c", command], input=text, stdout=subprocess.PIPE, text=True, env=env, check=check
        )
        return done.stdout.splitlines()

    def map(self, change: Callable[[Any], Any]) -> Self:
        return type(self)([change(each) for each in part] for part in self)

    def filter(self, accept: Callable[[Any], bool]) -> Self:
        return type(self)([each for each in part if accept(each)] for part in self)

    def zip(self, other: Iterable[list[Any]]) -> Self:
        return type(self)(list(zip(*both, strict=True)) for both in zip(self, other, strict=True))

    def keys(self) -> Iterator[Any]:
        return (key for part in self for key, _ in part)


def test_spark_pipes_each_part_through_the_aligner(
    aligner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path / "synmt", f'exec {COLD} "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    names: dict[str, Any] = {}
    exec(blocks("python")[1], names)
    lines = [f"{source}\t{target}" for source, target in NOISY]
    found = names["confident"](Parts([lines[:1], lines[1:]]), aligner, 0.4)
    assert list(found) == ["\t".join(pair) for pair in TRUE]
