"""The tasks of a run, done in any order that respects what each needs, in processes of their own, and never twice."""

import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import orjson

from synmt.model.files import locked, naming
from synmt.model.made import identity
from synmt.process import Interruption
from synmt.runs.file import Options
from synmt.runs.notes import Made, check, make, noted
from synmt.streams import BadInput

COMMAND = [sys.executable, "-m", "synmt.cli.child"]
POLL = 0.1  # seconds between two looks at a lock


@dataclass(frozen=True, eq=False)
class Task:
    """One step of a run, which makes one file or folder.

    verb, what: in messages, such as "training" and "mask, seed 2"; path: what it makes; needs: the tasks whose results
    it reads. of: returns what the result is made of, once what it needs is there; work: makes it in so many CPU
    seconds. anew: whether a result of other things is replaced, and not refused.
    """

    verb: str
    what: str
    path: Path
    needs: tuple["Task", ...]
    of: Callable[[], dict[str, str]]
    work: Callable[[], float]
    anew: bool = False

    @property
    def name(self) -> str:
        return f"{self.verb} {self.what}"


@dataclass
class Workplace:
    """The folder of a run. Each kind of thing has places of its own:

    SIZE/SYSTEM.SEED: a model; SIZE/SYSTEM.SEED.TEST: its translation of a test.
    data/parsed/, data/cut/, data/columns/: the data as systems read it; data/dev/: translations of dev.
    notes/, locks/, logs/, unfinished/: under the place of each thing, what it was made of, what keeps it to one
    process, what the command said that made it, and the output of a command that has not ended.
    """

    folder: Path
    processes: set["subprocess.Popen[bytes]"] = field(default_factory=set)
    stopped: threading.Event = field(default_factory=threading.Event)
    identities: dict[Path, str] = field(default_factory=dict)

    @contextmanager
    def opened(self, shared: bool = False) -> Iterator[None]:
        """Make the folder, and keep it to this process, or to those that share it. Raises BadInput."""
        with naming(self.folder):
            (self.folder / "data").mkdir(parents=True, exist_ok=True)
        with locked(self.folder, shared=shared):
            yield

    def beside(self, kind: str, path: Path, suffix: str) -> Path:
        """Return the place of what belongs to a thing, in a folder of its kind."""
        place = self.folder / kind / path.relative_to(self.folder)
        return place.with_name(f"{place.name}{suffix}")

    def note(self, path: Path) -> Path:
        return self.beside("notes", path, ".json")

    def lock(self, path: Path) -> Path:
        return self.beside("locks", path, "")

    def log(self, path: Path) -> Path:
        """Return the file of what the commands said that made a thing."""
        return self.beside("logs", path, ".log")

    def unfinished(self, path: Path) -> Path:
        """Return the file of what a command has written so far of a thing."""
        return self.beside("unfinished", path, "")

    def identity(self, path: Path) -> str:
        """Return the name of a file that is read, with a checksum of its content. Raises BadInput."""
        if path not in self.identities:
            self.identities[path] = identity(path)
        return self.identities[path]

    def of_options(self, options: Options) -> dict[str, str]:
        """Return options as what something is made of."""
        return {name: self.identity(each) if isinstance(each, Path) else f"{each}" for name, each in options.items()}

    def made(self, path: Path) -> Made | None:
        return noted(path, self.note(path))

    def make(self, path: Path, of: Callable[[], dict[str, str]], work: Callable[[], float], anew: bool = False) -> Made:
        """Make a thing, as `notes.make`, while no other process does."""
        with self._kept(path):
            self.identities.pop(path, None)
            return make(path, self.note(path), of(), work, anew)

    @contextmanager
    def _kept(self, path: Path) -> Iterator[None]:
        """Keep a thing to this process. A run that is stopped waits no longer; raises BadInput then."""
        lock = self.lock(path)
        with naming(lock):
            lock.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT)
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if self.stopped.wait(POLL):
                        raise BadInput("another process makes it", str(path)) from None
                    continue
                except OSError:
                    pass  # a file system without locks
                break
            yield
        finally:
            os.close(descriptor)

    def call(self, name: str, options: Options, log: Path, output: Path | None = None) -> float:
        """Call a function of `runs.calls` in a process of its own; return the CPU seconds that it took. Raises BadInput
        with the last line it said.

        It ends with this process: its standard input is a pipe that only this process can close.
        """
        for path in (log, output):
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
        words = [name, orjson.dumps(options, default=str).decode()]
        with log.open("ab") as errors, (output or Path(os.devnull)).open("wb") as stream:
            process = subprocess.Popen([*COMMAND, *words], stdin=subprocess.PIPE, stdout=stream, stderr=errors)
            self.processes.add(process)
            if self.stopped.is_set():
                process.terminate()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.processes.discard(process)
            if process.stdin:
                process.stdin.close()
        if process.returncode:
            said = log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:] or ["no word"]
            raise BadInput(f"synmt {name} ended with {process.returncode}: {said[0]}", str(log))
        return usage.ru_utime + usage.ru_stime

    def write(self, path: Path, name: str, options: Options) -> float:
        """Write what a call prints to a file, which is there once it is whole; as `call`."""
        part = self.unfinished(path)
        seconds = self.call(name, options, self.log(path), part)
        part.replace(path)
        return seconds

    def stop(self) -> None:
        """End all processes that are under way, as they end at a signal."""
        self.stopped.set()
        for process in list(self.processes):
            process.terminate()

    def is_done(self, task: Task, known: dict[Path, bool]) -> bool:
        """Return whether a task and all that it needs are done; known: what has been found out before.

        Raises BadInput for a result of other things that is not to be replaced.
        """
        if task.path not in known:
            known[task.path] = all(self.is_done(each, known) for each in task.needs) and self._is_made(task)
        return known[task.path]

    def _is_made(self, task: Task) -> bool:
        of, note = task.of(), self.note(task.path)
        made = noted(task.path, note) if task.anew else check(task.path, note, of)
        return made is not None and made.cpu_seconds is not None and made.of == of


def do_all(place: Workplace, tasks: Sequence[Task], jobs: int) -> None:
    """Do what is not done yet, so many tasks at a time, but one that parses with so many processes.

    Before anything of a kind is made, all of this kind is compared with what it was made of. Raises BadInput, and
    Interrupted once the processes that are under way have saved their work.
    """
    for verb, group in groupby(tasks, key=lambda task: task.verb):
        known: dict[Path, bool] = {}
        todo = [task for task in group if not place.is_done(task, known)]
        do(place, todo, 1 if verb == "parsing" else jobs)


def do(place: Workplace, tasks: Sequence[Task], jobs: int = 1) -> None:
    """Do tasks whose needs are met, so many at a time, and say so. Raises as `do_all`."""
    progress = Progress(len(tasks), jobs)

    def work(task: Task) -> None:
        began = progress.begin(task)
        place.make(task.path, task.of, task.work, task.anew)
        progress.end(began)

    with Interruption() as interruption, ThreadPoolExecutor(jobs) as pool:
        try:
            futures = [pool.submit(work, task) for task in tasks]
            with interruption.at_once():
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            place.stop()
            pool.shutdown(cancel_futures=True)
            raise


class Progress:
    """Says on stderr which task begins, and how long those that are left will take."""

    def __init__(self, total: int, jobs: int) -> None:
        self._total, self._jobs, self._lock = total, jobs, threading.Lock()
        self._begun, self._seconds = 0, list[float]()

    def begin(self, task: Task) -> float:
        """Say that a task begins, and return when."""
        with self._lock:
            self._begun += 1
            place = f", {self._begun} of {self._total}" if self._total > 1 else ""
            left = ""
            if self._seconds:
                mean = sum(self._seconds) / len(self._seconds)
                left = f", about {_duration(mean * (self._total - self._begun + 1) / self._jobs)} left"
            print(f"synmt run: {task.name}{place}{left}", file=sys.stderr, flush=True)
        return time.monotonic()

    def end(self, began: float) -> None:
        with self._lock:
            self._seconds.append(time.monotonic() - began)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
