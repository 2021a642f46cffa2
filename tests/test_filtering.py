"""The recipes in docs/filtering.md for other programs work: with these programs if they are installed, otherwise with
stand-ins that follow their protocol."""

import html
import importlib
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

from tests.cli.commands import COLD, is_one_line_of_error, synmt, write_program
from tests.test_recipes import blocks_of

PAGE = "docs/filtering.md"
PAIRS = [("the red house", "das rote Haus"), ("the old tree", "der alte Baum"), ("the red tree", "der rote Baum")]
NOISY = [("the red house", "das rote Haus"), ("the red house", "ein Baum"), ("", ""), ("the old tree", "der alte Baum")]
TRUE = [NOISY[0], NOISY[3]]


@pytest.fixture(scope="module")
def aligner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filtering") / "aligner"
    text = "".join(f"{source}\t{target}\n" for source, target in PAIRS * 4)
    done = synmt("align", "--method", "hmm", "--target-language", "de", "--out", folder, text=text)
    assert done.returncode == 0, done.stderr
    return folder


def test_synmt_filter_keeps_pairs_by_their_confidence(aligner: Path, tmp_path: Path) -> None:
    """It keeps those for which `synmt link --scores` has a confidence that is high enough, as they are. Of a TMX file,
    it leaves out the other units, and no byte else."""
    lines = [f"{source}\t{target}" for source, target in [*NOISY, ('old  "', "x ||| y")]]
    text = "".join(f"{line}\n" for line in lines)
    scored = [line.split("\t") for line in synmt("link", aligner, "--scores", text=text).stdout.splitlines()]
    confidences = [float(cells[1]) if len(cells) > 1 else 0.0 for cells in scored]
    for least in (0.0, 0.4, 0.5, 1.0):
        done = synmt("filter", aligner, "--min-confidence", least, text=text)
        kept = [line for line, confidence in zip(lines, confidences, strict=True) if confidence >= least]
        assert done.stdout == "".join(f"{line}\n" for line in kept)
        assert f"kept {len(kept)} of 5 pairs" in done.stderr
    tuv = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = [
        f"<!-- {n} -->\r\n  <tu>{tuv.format('en', html.escape(source))}{tuv.format('de', target)}</tu>"
        for n, (source, target) in enumerate(line.split("\t") for line in lines)
    ]
    names = ("memory.tmx", "kept.tmx")
    of_all, of_kept = (
        f'<tmx version="1.4"><header srclang="en"/><body>{"".join(some)}\n</body></tmx>'.encode("utf-16")
        for some in (units, [units[n] if c >= 0.4 else f"<!-- {n} -->" for n, c in enumerate(confidences)])
    )
    (tmp_path / names[0]).write_bytes(of_all)
    with (tmp_path / names[1]).open("wb") as out:
        subprocess.run(
            [*COLD.split(), "filter", aligner, tmp_path / names[0], "--min-confidence=0.4"], stdout=out, check=True
        )
    assert (tmp_path / names[1]).read_bytes() == of_kept
    (tmp_path / "a.xlf").write_text('<xliff version="1.2"><file source-language="en" target-language="de"/></xliff>')
    assert is_one_line_of_error(synmt("filter", aligner, tmp_path / "a.xlf"), "a.xlf: only lines and a single TMX file")


def test_opusfilter_accepts_pairs_by_their_confidence(aligner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("opusfilter") is None:
        stand_in = ModuleType("opusfilter")
        stand_in.CLEAN_HIGH = "clean_high"  # type: ignore[attr-defined]
        stand_in.FilterABC = type("FilterABC", (), {"__init__": lambda self, name=None, workdir="": None})  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "opusfilter", stand_in)
    names: dict[str, Any] = {}
    exec(blocks_of(PAGE, "python")[0], names)
    chosen = names["LinkConfidence"](aligner=str(aligner), threshold=0.4)
    scores = list(chosen.score(list(pair) for pair in NOISY))
    assert len(scores) == len(NOISY) and all(0 <= score <= 1 for score in scores)
    assert [pair for pair, score in zip(NOISY, scores, strict=True) if chosen.accept(score)] == TRUE
    assert chosen.score_direction == "clean_high"
    assert chosen.accept(chosen.reject_threshold) and chosen.accept_threshold < min(scores) + 1e-9


def test_opusfilter_itself_finds_the_filter(aligner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the module and the configuration on the page."""
    program = pytest.importorskip("opusfilter.opusfilter")
    (tmp_path / "synmt_filter.py").write_text(blocks_of(PAGE, "python")[0])
    monkeypatch.syspath_prepend(tmp_path)
    files = [str(tmp_path / name) for name in ("noisy.en", "noisy.de")]
    for file, column in zip(files, zip(*NOISY, strict=True), strict=True):
        Path(file).write_text("".join(f"{text}\n" for text in column))
    chosen = blocks_of(PAGE, "yaml")[0].replace("aligner: aligner", f"aligner: {aligner}").replace("0.5", "0.4")
    given = pytest.importorskip("ruamel.yaml").YAML(typ="safe").load(chosen)
    step = {"type": "filter", "parameters": {"inputs": files, "outputs": ["en", "de"], **given}}
    program.OpusFilter({"common": {"output_directory": str(tmp_path / "out")}, "steps": [step]}).execute_steps()
    kept = [(tmp_path / "out" / name).read_text().splitlines() for name in ("en", "de")]
    assert list(zip(*kept, strict=True)) == TRUE


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
    described = json.loads(blocks_of(PAGE, "json")[0])
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


def test_opuscleaner_itself_reads_the_description(
    aligner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filtering = pytest.importorskip("opuscleaner.filtering")
    (tmp_path / "filters").mkdir()
    (tmp_path / "filters/synmt.json").write_text(blocks_of(PAGE, "json")[0])
    (found,) = filtering.list_filters(f"{tmp_path}/filters/*.json")  # which leaves out what it cannot read
    filtering.set_global_filters([found])
    write_program(tmp_path / "bin/synmt", f'exec {COLD} "$@"')
    own = {"ALIGNER": str(aligner), "THRESHOLD": 0.4}
    command = filtering.filter_format_command(found, filtering.FilterStep(filter="synmt", parameters=own), ["en", "de"])
    path = f"{tmp_path}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command], input="".join(f"{source}\t{target}\n" for source, target in NOISY), text=True,
        capture_output=True, env={**os.environ, "PATH": path}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()) == (0, ["\t".join(pair) for pair in TRUE]), done.stderr


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
    exec(blocks_of(PAGE, "python")[1], names)
    lines = [f"{source}\t{target}" for source, target in NOISY]
    found = list(names["confident"](Parts([lines[:1], lines[1:]]), aligner, 0.4))
    assert found == ["\t".join(pair) for pair in TRUE]
    if find_spec("pyspark") and shutil.which("java"):
        context = importlib.import_module("pyspark").SparkContext("local[1]", "synmt")
        try:
            assert names["confident"](context.parallelize(lines, 2), aligner, 0.4).collect() == found
        finally:
            context.stop()
