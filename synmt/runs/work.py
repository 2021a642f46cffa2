"""Does what a plan says, each step in a process of its own; what is done already is not done again."""

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

import orjson
from tqdm import tqdm

from synmt.inputs import without_compression
from synmt.interruption import Interruption
from synmt.model.files import CONFIG_FILE, locked, naming, write_aside
from synmt.model.words import parser_of
from synmt.runs.file import Pair, RunFile, arguments
from synmt.runs.notes import Made, make, noted
from synmt.runs.plan import Fields, Plan, Training
from synmt.streams import BadInput, read_lines, sniff
from synmt.text.tokenization import with_languages

T = TypeVar("T")
U = TypeVar("U")
CHECKSUMS = "data/checksums.json"


@dataclass
class Workplace:
    """The folder of a run: data/, and for each training SIZE/SYSTEM.SEED with its model, and beside that the log of
    its commands and a translation of each test."""

    folder: Path
    run: RunFile
    processes: set["subprocess.Popen[bytes]"] = field(default_factory=set)
    stopped: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder, and keep it to this process. Raises BadInput."""
        with naming(self.folder):
            (self.folder / "data").mkdir(parents=True, exist_ok=True)
        with locked(self.folder):
            yield

    def prepare(self, plan: Plan, jobs: int) -> RunFile:
        """Return the run on the data as all systems read it: parsed where some system needs it, cut to the sizes.

        Raises BadInput.
        """
        self.check_data()
        with_tests = {"train": self.run.train, "dev": self.run.dev, **self.run.tests}
        parsed = {}
        for name, pair in with_tests.items():
            source = self._records(f"{name}.source", pair.source, plan.needs[0], jobs)
            is_test = name not in ("train", "dev")
            target = pair.target if is_test else self._records(f"{name}.target", pair.target, plan.needs[1], jobs)
            parsed[name] = Pair(source, target)
        return replace(self.run, train=parsed.pop("train"), dev=parsed.pop("dev"), tests=parsed)

    def check_data(self) -> None:
        """Note checksums of all that models read, or raise BadInput where one is no longer that of a run before."""
        pairs = {"train": self.run.train, "dev": self.run.dev}
        files = {f"{name}.{side}": getattr(pair, side) for name, pair in pairs.items() for side in ("source", "target")}
        files |= {f"test {name}.source": pair.source for name, pair in self.run.tests.items()}
        path = self.folder / CHECKSUMS
        noted: dict[str, str] = {}
        if path.exists():
            with naming(path):
                noted = dict(orjson.loads(path.read_bytes()))
        known = dict(noted)
        for part, file in files.items():
            with naming(file), file.open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
            if known.setdefault(part, found) != found:
                raise BadInput(f"has changed since it was used in {self.folder}; name another --out", str(file))
        if known != noted:
            write_aside(path, orjson.dumps(known, option=orjson.OPT_INDENT_2))

    def _records(self, part: str, path: Path, needs: Fields, jobs: int) -> Path:
        """Return a file of sentences, or their records if these are needed and the file has none."""
        first, _ = sniff(read_lines([str(path)]))
        if not needs or first.startswith("{"):
            return path
        made = self.folder / "data" / f"{part}.{path.name}.jsonl"
        language = with_languages({}, str(path), None).get("source_language", "en")
        words = arguments({"parser": parser_of(needs), "language": language, **self.run.options["parse"]})
        known = noted(made)
        if known is None:
            print(f"synmt run: parsing {path}", file=sys.stderr)
            command = ["parse", "--jobs", str(jobs), *words, str(path)]
            make(made, words, lambda: self.write(made, command, self.folder / "data" / f"{part}.log"))
        elif known.words != words:
            raise BadInput("was parsed with other options; name another --out", str(made))
        return made

    def cut(self, side: str, path: Path, size: int | None) -> Path:
        """Return a file of the first lines of another, the source or the target. Raises BadInput if it has fewer."""
        if size is None:
            return path
        made = self.folder / "data" / f"{size}.{side}.{without_compression(path.name)}"
        if not made.exists():
            lines = [line.text for line in islice(read_lines([str(path)]), size)]
            if len(lines) < size:
                raise BadInput(f"{len(lines)} lines, and a size of the run is {size}", str(path))
            write_aside(made, "".join(f"{line}\n" for line in lines).encode())
        return made

    def prepared(self, training: Training) -> Path:
        """Return the folder of the pairs as ids, which all seeds of a system share."""
        return self.folder / "data" / "prepared" / str(training.size or "all") / training.system

    def log(self, training: Training) -> Path:
        """Return the file of what the commands of a training say."""
        return self.folder / f"{training.name}.log"

    def command(self, words: Sequence[str], log: Path, output: Path | None = None) -> float:
        """Run a command of synmt; return the CPU seconds that it took. Raises BadInput with the last line it said."""
        with log.open("ab") as errors, (output or Path(os.devnull)).open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "synmt", *words], stdin=subprocess.DEVNULL, stdout=stream, stderr=errors
            )
            self.processes.add(process)
            if self.stopped.is_set():
                process.terminate()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.processes.discard(process)
        if process.returncode:
            said = log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:] or ["no word"]
            raise BadInput(f"synmt {words[0]} ended with {process.returncode}: {said[0]}", str(log))
        return usage.ru_utime + usage.ru_stime

    def write(self, path: Path, words: Sequence[str], log: Path) -> float:
        """Write what a command prints to a file, which is there once it is whole; as `command`."""
        part = path.with_name(f"{path.name}.part")
        seconds = self.command(words, log, part)
        part.replace(path)
        return seconds

    def stop(self) -> None:
        """End all commands that are under way, as they end at a signal."""
        self.stopped.set()
        for process in list(self.processes):
            process.terminate()


def train_all(place: Workplace, plan: Plan, run: RunFile, jobs: int) -> dict[Training, Made]:
    """Train what is not there yet, so many models at a time. Raises as `in_parallel`, and BadInput."""
    words = {training: _arguments(place, training, run) for training in plan.trainings}
    for training in plan.trainings:  # before any work is done
        _known(place, training, words[training])
    trained = in_parallel(place, jobs, plan.trainings, lambda each: _train(place, each, words[each]), "model")
    return dict(zip(plan.trainings, trained, strict=True))


def in_parallel(place: Workplace, jobs: int, items: Sequence[T], work: Callable[[T], U], unit: str) -> list[U]:
    """Return what work makes of each item, so many of them at a time.

    Raises what the work raises, and Interrupted once the commands that are under way have kept what they have done.
    """
    bar = tqdm(total=len(items), unit=unit, disable=not sys.stderr.isatty())

    def watched(item: T) -> U:
        made = work(item)
        bar.update()
        return made

    with Interruption() as interruption, ThreadPoolExecutor(jobs) as pool, bar:
        try:
            futures = [pool.submit(watched, item) for item in items]
            with interruption.at_once():
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            place.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _known(place: Workplace, training: Training, words: list[str]) -> Made | None:
    """Return what is noted of a model that was trained before. Raises BadInput if that was with other options."""
    folder = place.folder / training.name
    known = noted(folder)
    if known is not None and known.words != words:
        raise BadInput("was trained with other options or data; name another --out, or remove it", str(folder))
    return known


def _arguments(place: Workplace, training: Training, run: RunFile) -> list[str]:
    files = {
        "source": place.cut("source", run.train.source, training.size),
        "target": place.cut("target", run.train.target, training.size),
        "dev-source": run.dev.source,
        "dev-target": run.dev.target,
        "seed": training.seed,
    }
    return [*training.options, *arguments({name: str(value) for name, value in files.items()})]


def _train(place: Workplace, training: Training, words: list[str]) -> Made:
    folder = place.folder / training.name

    def work() -> float:
        folder.parent.mkdir(parents=True, exist_ok=True)
        resume = ["--resume"] if (folder / CONFIG_FILE).exists() else []
        own = ["--out", str(folder), "--prepared", str(place.prepared(training))]
        return place.command(["train", *words, *own, *resume], place.log(training))

    return _known(place, training, words) or make(folder, words, work)
