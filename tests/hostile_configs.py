"""Tries wrong values in every field of every config.json of a model folder. The folder must either be refused with one
line or work, in little memory and time.

`python -m tests.hostile` tries all fields with all values; a test tries the numbers of some folders.
"""

import json
import os
import random
import resource
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synmt.cli import main
from tests import tiny
from tests.cli.commands import FORKS, RECORD
from tests.fuzz.settings import fields_of
from tests.hostile import PARSER, good_aligner
from tests.inspection.models import write_model

HUGE: list[Any] = [2**32 - 1, 1e308]
VALUES: list[Any] = [*HUGE, 2**31, 2**64, -1, 0, 1, -0.5, float("nan"), float("inf"), "x", "", None, True, [], [1], {}]
MEMORY = 3 * 2**30  # bytes of address space, in addition to what the process already has
SECONDS = 20  # of processor time
SMALL = ["--epochs", "1", "--merges", "20", "--device", "cpu"]
TRANSLATION = ["--width", "16", "--feedforward", "16", "--heads", "2", "--encoder-layers", "2", "--decoder-layers", "2"]
PAIRS = [("das kleine Haus", "the small house"), ("das Haus", "the house"), ("ein Haus", "a house")] * 4


@dataclass(frozen=True)
class Kind:
    """A kind of model folder, and the command to run on it. made: arguments for fitting it, if it has to be fitted."""

    name: str
    arguments: tuple[str, ...]
    configs: tuple[str, ...] = ("config.json",)
    made: tuple[str, ...] = ()


def translation_kinds() -> Iterator[Kind]:
    for system in tiny.SYSTEMS:
        yield Kind(f"{system} > sequence", ("translate", "--device", "cpu", "FOLDER", "records"))
    for target in tiny.TARGET_SYSTEMS:
        if target != "sequence":
            yield Kind(f"sequence > {target}", ("translate", "--device", "cpu", "FOLDER", "records"))


def aligner_kinds() -> Iterator[Kind]:
    align = ("link", "--device", "cpu", "FOLDER", "pairs")
    own = ("config.json", "forward/config.json", "backward/config.json")
    auto = ("config.json", "hmm/config.json", "neural-hmm/config.json")
    yield Kind("auto", align, auto, ("--width", "16", "--epochs", "1", "--device", "cpu"))
    yield Kind("mask-align", align)
    for method in ("naive-att", "shift-att", "shift-aet", "add-sgd", "mtl-fullc", "bao"):
        yield Kind(method, align, own, (*SMALL, *TRANSLATION))


KINDS = {kind.name: kind for kind in (*translation_kinds(), *aligner_kinds())}
PARSED = Kind("parser", ("parse", "--model", "FOLDER/p.safetensors", "text"), ("p.json",))


def make(kind: Kind, folder: Path) -> Path:
    """Make a good model folder of this kind inside `folder`, next to the files that its command reads."""
    (folder / "records").write_text(f"{RECORD}\n")
    (folder / "text").write_text("He is my father .\n")
    (folder / "pairs").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    path = folder / kind.name.replace(" ", "")
    if kind is PARSED:
        path.mkdir()
        shutil.copy(PARSER / "en-constituency.safetensors", path / "p.safetensors")
        shutil.copy(PARSER / "en-constituency.json", path / "p.json")
    elif kind.name == "mask-align":
        good_aligner(path)
    elif kind.made:
        process = FORKS.Process(target=_fit, args=(kind, path, folder))
        process.start()
        process.join()
        assert process.exitcode == 0, (folder / "stderr").read_text()
    else:
        write_model(path, *kind.name.split(" > "))
    assert failures(kind, path, [Edit(kind.configs[0], (), None)], good=True) == []
    return path


def _fit(kind: Kind, path: Path, folder: Path) -> None:
    os.chdir(folder)
    os._exit(_call(["align", "--method", kind.name, "--out", str(path), *kind.made, "pairs"]))


@dataclass(frozen=True)
class Edit:
    config: str
    place: tuple[Any, ...]
    value: Any

    def __str__(self) -> str:
        return f"{self.config} {'.'.join(map(str, self.place))} = {self.value!r}"


def edits(kind: Kind, path: Path, values: list[Any], numbers: bool = False) -> list[Edit]:
    """Return all edits of a folder. numbers: edit only fields that contain numbers. In a parser's tables, whose entries
    are all alike, only three entries are edited."""
    found = []
    for config in kind.configs:
        fields = json.loads((path / config).read_text())
        for place, old in fields_of(fields):
            is_number = isinstance(old, int | float) and not isinstance(old, bool)
            of_table = place[0] in ("char_vocab", "label_vocab", "tag_vocab") and len(place) > 1
            if (is_number or not numbers) and (not of_table or list(fields[place[0]]).index(place[1]) in (0, 1, 40)):
                found += [Edit(config, place, value) for value in values]
    return found


def failures(kind: Kind, path: Path, asked: list[Edit], good: bool = False) -> list[str]:
    """Return the failures of edited folders, each after its edit. good: whether the folders must work."""
    failed: list[str] = []
    left = asked
    while left:
        progress = path.parent / "progress"
        progress.write_text("")
        process = FORKS.Process(target=_try_all, args=(kind, path, left, progress, good))
        process.start()
        process.join()
        said = progress.read_text().splitlines()
        done = sum(line == "done" for line in said)
        failed += [line for line in said if line != "done"]
        if done < len(left):  # the process has died
            failed.append(f"{left[done]}: ended with {process.exitcode}")
            _restore(path)
            done += 1
        left = left[done:]
    return failed


def _restore(path: Path) -> None:
    for good in path.rglob("*.good"):
        good.replace(good.with_suffix(""))


def _try_all(kind: Kind, path: Path, asked: list[Edit], progress: Path, good: bool) -> None:
    os.chdir(path.parent)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
    with progress.open("w", buffering=1) as stream:
        for edit in asked:
            used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
            resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS, resource.RLIM_INFINITY))
            config = path / edit.config
            whole = config.read_bytes()
            config.with_name(f"{config.name}.good").write_bytes(whole)
            fields = json.loads(whole)
            part = fields
            for name in edit.place[:-1]:
                part = part[name]
            if edit.place:
                part[edit.place[-1]] = edit.value
            config.write_text(json.dumps(fields))
            if cause := _objection(kind, path, good):
                print(f"{edit}: {' '.join(cause.split())[-600:]}", file=stream)
            _restore(path)
            print("done", file=stream)
    os._exit(0)


def _objection(kind: Kind, path: Path, good: bool) -> str:
    """Return what is wrong with the outcome of the command, or "" if nothing is."""
    code = _call([each.replace("FOLDER", str(path)) for each in kind.arguments])
    output, said = Path("stdout").read_bytes(), Path("stderr").read_text(errors="replace")
    if "Traceback" in said or "memory" in said or "Warning" in said:
        return said
    if code == 0:
        return "" if output.endswith(b"\n") else f"wrote {output!r}"
    one_line = said.endswith("\n") and said.count("\n") == 1 and said.startswith("synmt ") and len(said) < 1000
    return "" if code == 1 and one_line and not good else f"ended with {code}: {said}"


def _call(arguments: list[str]) -> int:
    """Call the command in this process, and write its output to files."""
    finders = list(sys.meta_path)
    for descriptor, name, mode in ((0, os.devnull, "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        with Path(name).open(mode) as stream:
            os.dup2(stream.fileno(), descriptor)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.argv = ["synmt", *arguments]
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    code: object = 99
    try:
        main.main()
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.meta_path[:] = finders
        sys.stdout.flush()
        sys.stderr.flush()
    return code if isinstance(code, int) else 1


def all_failures(folder: Path) -> Iterator[tuple[str, int, list[str]]]:
    """Try all edits; yield each kind, the number of its edits, and its failures."""
    for kind in (*KINDS.values(), PARSED):
        path = make(kind, folder)
        asked = edits(kind, path, VALUES)
        yield kind.name, len(asked), failures(kind, path, asked)


def some_failures(kind: Kind, folder: Path, most: int) -> list[str]:
    """Try huge numbers, and at most `most` other edits."""
    path = make(kind, folder)
    others = edits(kind, path, VALUES)
    return failures(kind, path, edits(kind, path, HUGE, numbers=True) + random.Random(1).sample(others, most))
