"""Runs that are killed at random moments, edited and started again. They must give the same table as an undisturbed
run, or refuse to continue; in that case, undoing the edit must still give the old table.

Training, translation and parsing are done by tests/fuzz/cheap.py, or for real, which takes minutes.
"""

import json
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, count, product
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from synmt.runs import steps
from synmt.trees.record import write_record
from tests import tiny
from tests.cli.commands import FORKS, HANGS, warm_command
from tests.fuzz import cheap
from tests.fuzz.commands import Done, Wrong, ended
from tests.fuzz.commands import _be as be

RUN = """
seeds = [1, 2]
metrics = ["bleu", "chrf"]
[data]
train = ["train.SUFFIX", "train.de"]
dev = ["dev.SUFFIX", "dev.de"]
[tests]
seen = ["test.SUFFIX", "test.de"]
[train]
preset = "small"
width = 16
feedforward = 16
encoder-layers = 1
decoder-layers = 1
heads = 2
merges = 20
updates = 12
batch-tokens = 40
select = "loss"
checkpoint-minutes = 0.00001
[translate]
beam = 1
max-length-offset = 3
[systems]
sequence = {}
SYSTEM = {}
"""
ARGUMENTS = ["run", "run.toml", "--format", "jsonl"]
CHEAP = [sys.executable, "-IS", str(Path(cheap.__file__))]
Rows = list[dict[str, Any]]
Command = tuple[str, ...]  # the command that a run starts in place of `synmt`


@dataclass(frozen=True)
class Asked:
    """A run file and the data that it names."""

    text: str
    files: tuple[tuple[str, str], ...]

    def write(self, folder: Path) -> None:
        for name, content in (("run.toml", self.text), *self.files):
            (folder / name).write_text(content)

    def with_line(self, name: str, number: int, line: str) -> "Asked":
        """Return a copy in which the files whose names match `name` have another line at this place."""
        files = dict(self.files)
        for file, content in files.items():
            if re.fullmatch(name, file):
                lines = content.splitlines()
                files[file] = "".join(f"{each}\n" for each in [*lines[:number], line, *lines[number + 1 :]])
        return replace(self, files=tuple(files.items()))


def of_records() -> Asked:
    """Return a run on parse records, which already have trees."""
    sources = [write_record(record) for record in tiny.records()]
    return _asked(sources, "jsonl", "mask")


def of_text() -> Asked:
    """Return a run on raw text, which it must parse."""
    return _asked([" ".join(record.tokens) for record in tiny.records()], "en", "pascal")


def _asked(sources: list[str], suffix: str, system: str) -> Asked:
    targets = [record.text for record in tiny.target_records()]
    files = {}
    for part, copies in (("train", 2), ("dev", 1), ("test", 1)):
        files[f"{part}.{suffix}"] = "".join(f"{line}\n" for line in sources * copies)
        files[f"{part}.de"] = "".join(f"{line}\n" for line in targets * copies)
    return Asked(RUN.replace("SUFFIX", suffix).replace("SYSTEM", system), tuple(files.items()))


def _changing(old: str, new: str) -> Callable[[Asked], Asked]:
    return lambda asked: replace(asked, text=re.sub(old, new, asked.text, count=1))


# Edits after which a run refuses to use its earlier models, parses and cuts, if there are any.
REFUSED: Mapping[str, Callable[[Asked], Asked]] = {
    "updates": _changing("updates = 12", "updates = 5"),
    "more updates": _changing("updates = 12", "updates = 15"),
    "width": _changing("width = 16", "width = 8"),
    "another option": _changing("heads = 2", "heads = 2\ndropout = 0.3"),
    "an option less": _changing("batch-tokens = 40", ""),
    "an option of a system": _changing(r"sequence = \{\}", "sequence = { learning-rate = 0.01 }"),
    "tokenizer": _changing("heads = 2", 'heads = 2\ntokenizer = "none"'),
    "training source": lambda asked: asked.with_line(r"train\.(en|jsonl)", 1, _line(asked, 0)),
    "training target": lambda asked: asked.with_line(r"train\.de", 0, "vater vater"),
    "dev": lambda asked: asked.with_line(r"dev\.de", 0, "vater vater"),
    "parse": _changing(r"\[translate\]", '[parse]\nparser = "benepar+udpipe"\n[translate]'),
}
# Edits after which a run continues: its earlier output remains valid, or is quickly made again.
TAKEN: Mapping[str, Callable[[Asked], Asked]] = {
    "nothing": lambda asked: asked,
    "more seeds": _changing(r"\[1, 2\]", "[1, 2, 3]"),
    "other seeds": _changing(r"\[1, 2\]", "[2, 5]"),
    "a size": _changing(r"\[data\]", "sizes = [6]\n[data]"),
    "sizes": _changing(r"\[data\]", "sizes = [8, 5]\n[data]"),
    "sizes with options": _changing(r"\[data\]", "sizes = { 8 = { dropout = 0.3 }, 5 = {} }\n[data]"),
    "test source": lambda asked: asked.with_line(r"test\.(en|jsonl)", 1, _line(asked, 0)),
    "reference": lambda asked: asked.with_line(r"test\.de", 0, "vater vater"),
    "another test": _changing(r"seen = (.*)", r"seen = \1\nother = \1"),
    "tests by other names": _changing("seen = ", "train = "),
    "metrics": _changing('"bleu", "chrf"', '"ter"'),
    "beam": _changing("beam = 1", "beam = 2"),
    "alpha": _changing("beam = 1", "beam = 2\nalpha = [0.0, 2.0]"),
    "a system less": _changing(r"sequence = \{\}\n", ""),
    "systems in another order": _changing(r"sequence = \{\}\n(.*) = \{\}", r"\1 = {}\nsequence = {}"),
}


def _line(asked: Asked, number: int) -> str:
    """Return a line of the training sources."""
    return next(content for name, content in asked.files if name.startswith("train.")).splitlines()[number]


def interruptions(source: Random, real: bool = False) -> Iterator[Counter[str]]:
    """Yield the outcome of each interrupted run as counts, endlessly, over all edits of all data. Raises Wrong.

    real: whether to train real models.
    """
    command = tuple(warm_command("synmt.cli.step") if real else CHEAP)
    pairs = list(product((of_records, of_text), [*REFUSED, *TAKEN]))
    pairs.remove((of_records, "parse"))  # a run that parses nothing refuses options of the parser, whatever it has done
    for make, edit in chain.from_iterable(source.sample(pairs, len(pairs)) for _ in count()):
        before = make()
        expected, seconds = uninterrupted(before, command)
        with TemporaryDirectory(prefix="fuzz-run-") as name:
            folder = Path(name)
            before.write(folder)
            found = Counter(interruptions=killed(folder, command, source, seconds))
            if source.random() < 0.3:
                found["interruptions"] += killed(folder, command, source, seconds)
            after = {**REFUSED, **TAKEN}[edit](before)
            after.write(folder)
            done = finished(folder, command)
            what = f"after {found['interruptions']} interruptions and the edit of {edit}"
            if not done.code:
                check(table(done), uninterrupted(after, command)[0], what)
                yield found + Counter(same=1)
                continue
            if edit not in REFUSED or "name another --out" not in done.said:
                raise Wrong(f"{what}: {done.code}: {done.said}")
            before.write(folder)
            check(table(finished(folder, command)), expected, f"{what}, refused and undone")
            yield found + Counter(refused=1)


def check(found: Rows, expected: Rows, what: str) -> None:
    if found != expected:
        raise Wrong(f"{what}: {json.dumps(found)} and not {json.dumps(expected)}")


@cache
def uninterrupted(asked: Asked, command: Command) -> tuple[Rows, float]:
    """Return the table of a run that is not killed, and the seconds that it takes."""
    with TemporaryDirectory(prefix="fuzz-run-") as name:
        asked.write(Path(name))
        began = time.monotonic()
        return table(finished(Path(name), command)), time.monotonic() - began


def table(done: Done) -> Rows:
    if done.code:
        raise Wrong(done.said)
    return [{**json.loads(line), "cpu_minutes": 0, "megabytes": 0} for line in done.lines]


def finished(folder: Path, command: Command) -> Done:
    done = ended(start(folder, command), ARGUMENTS, folder)
    done.check()
    return done


def killed(folder: Path, command: Command, source: Random, seconds: float) -> int:
    """Kill a run at a random moment within `seconds`; return 1 if it was still running, else 0."""
    process = start(folder, command)
    process.join(source.uniform(0, seconds))
    children = []
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        children = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid or 0, source.choice([signal.SIGKILL, signal.SIGTERM]))
    process.join()
    _, alive = psutil.wait_procs(children, timeout=HANGS)
    if alive:
        raise Wrong(f"{alive} did not end with their run")
    return int(process.exitcode != 0)


def start(folder: Path, command: Command) -> BaseProcess:
    process: BaseProcess = FORKS.Process(target=_be_run, args=(command, str(folder)))
    process.start()
    return process


def _be_run(command: Command, folder: str) -> None:
    steps.PROGRAM[:] = command
    be(ARGUMENTS, Path(folder), HANGS, {"OMP_NUM_THREADS": "1"})
