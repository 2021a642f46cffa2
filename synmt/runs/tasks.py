"""The tasks of a run. A task has a name, inputs, an output path and the function that makes the output.

Before a task starts, a note records its inputs. Whenever the run starts, it compares the notes with the run file, so
output of other inputs is neither continued nor used. Tasks run in separate processes, in any order that respects their
dependencies.
"""

import fcntl
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter
from itertools import groupby
from pathlib import Path

import msgspec
from msgspec.structs import replace

from synmt.model.files import check_empty, locked, naming, write_aside
from synmt.model.made import check_same, digest, identity, stamp
from synmt.runs.file import Options
from synmt.streams import BadInput
from synmt.streams.decoding import decoded
from synmt.streams.process import Interruption

COMMAND = [sys.executable, "-m", "synmt.cli.child"]
NOTE = "note: "  # marks a note in the log of a process; the run prints it on stderr without this mark
POLL = 0.1  # seconds between two attempts to lock a file
REMEDY = "name another --out, or remove it"
Of = Mapping[str, str]  # inputs by name: options as text, files as checksums


class Made(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The note of an output. of: its inputs; cpu_seconds: CPU time of all processes that worked on it, None while
    unfinished; megabytes: peak memory of the last one, None if the output was made in this process; interrupted: CPU
    time of the processes that ended before the output was finished."""

    of: dict[str, str]
    cpu_seconds: float | None = None
    megabytes: int | None = None
    interrupted: float = 0.0

    def is_done(self, of: Of) -> bool:
        """Return whether the output is finished, from these inputs."""
        return self.cpu_seconds is not None and self.of == of


@dataclass(frozen=True)
class Cost:
    """Time and memory spent on an output."""

    cpu_seconds: float = 0.0
    megabytes: int | None = None


class Unfinished(BadInput):
    """The process that made an output ended early. cost: what it spent."""

    def __init__(self, cause: str, log: Path, cost: Cost) -> None:
        super().__init__(cause, str(log))
        self.cost = cost


@dataclass(frozen=True, eq=False)
class Task:
    """One step of a run.

    verb, what: its name in messages, such as "training" and "mask, seed 2".
    path: the file or folder that it makes.
    needs: the tasks whose output it reads.
    inputs: returns everything that the output depends on; a Path is a file, or the output of another task.
    work: makes the output.
    anew: whether output from other inputs is made again instead of refused.
    """

    verb: str
    what: str
    path: Path
    needs: tuple["Task", ...]
    inputs: Callable[[], Options]
    work: Callable[[], Cost]
    anew: bool = False

    @property
    def name(self) -> str:
        return f"{self.verb} {self.what}"

    @cached_property
    def depth(self) -> int:
        """The number of tasks in the longest chain of needs that ends with this one."""
        return 1 + max((each.depth for each in self.needs), default=0)


def paths_in(value: object) -> list[Path]:
    """Return the paths in the value of an option."""
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, Path)]


@dataclass
class Workplace:
    """The folder of a run:

    SIZE/NAME.SEED: a system's model, or an aligner; SIZE/NAME.SEED.TEST: its translation, links or projected trees of a
    test.
    data/: the data in the form that systems read, translations of dev, and links and trees of the training data.
    notes/, locks/, logs/, unfinished/: for each path above, its inputs, its lock against other processes, the messages
    of the process that made it, and output that is still being written.
    """

    folder: Path
    processes: set["subprocess.Popen[bytes]"] = field(default_factory=set)
    stopped: threading.Event = field(default_factory=threading.Event)
    identities: dict[Path, tuple[object, str]] = field(default_factory=dict)  # of inputs, with their stamps
    noted: set[str] = field(default_factory=set)

    @contextmanager
    def opened(self, shared: bool = False) -> Iterator[None]:
        """Make the folder and lock it for this process, or for all that share it. Raises BadInput, also for a folder
        that is not empty and not of a run."""
        self.check_own()
        with naming(self.folder):
            (self.folder / "locks").mkdir(parents=True, exist_ok=True)
            (self.folder / "data").mkdir(exist_ok=True)
        with locked(self.folder, shared=shared):
            yield

    def check_own(self) -> None:
        """Raise BadInput for a folder that is not empty and not of a run."""
        if not (self.folder / "locks").is_dir():
            check_empty(self.folder, "name a new folder with --out")

    def beside(self, kind: str, path: Path, suffix: str) -> Path:
        """Return the path that belongs to another path, in the subfolder for this kind of file."""
        place = self.folder / kind / path.relative_to(self.folder)
        return place.with_name(f"{place.name}{suffix}")

    def note(self, path: Path) -> Path:
        return self.beside("notes", path, ".json")

    def lock(self, path: Path) -> Path:
        return self.beside("locks", path, "")

    def log(self, path: Path) -> Path:
        """Return the file with the messages of the processes that made a path."""
        return self.beside("logs", path, ".log")

    def unfinished(self, path: Path) -> Path:
        """Return the file in which a process collects the output for a path."""
        return self.beside("unfinished", path, "")

    def identity(self, path: Path) -> str:
        """Return the identity of an input: for a folder that the run makes, such as a model, a checksum of its note, or
        "none" if it does not exist yet; for anything else a checksum of its content. Raises BadInput, also for data
        that have changed since this process first read them."""
        if path.is_relative_to(self.folder) and (path.is_dir() or not path.exists()):
            made = self.made(path)
            return digest(made.of) if made else "none"
        now, (before, known) = stamp(path), self.identities.get(path, (None, ""))
        if now != before:
            found = identity(path)
            if known not in ("", found) and not path.is_relative_to(self.folder):
                raise BadInput("has changed since this run started", str(path))
            self.identities[path] = now, found
        return self.identities[path][1]

    def of(self, inputs: Options) -> dict[str, str]:
        """Return the inputs as they are recorded in a note."""
        return {
            name: " ".join(map(self.identity, paths)) if (paths := paths_in(value)) else f"{value}"
            for name, value in inputs.items()
        }

    def made(self, path: Path) -> Made | None:
        """Return the note of a path, None if the path does not exist. Raises BadInput if its note is missing or
        broken."""
        note = self.note(path)
        if not path.exists():
            return None
        if not note.exists():
            raise BadInput(f"is not part of this run, since {note} does not exist; {REMEDY}", str(path))
        with naming(note):
            return msgspec.convert(decoded(note.read_bytes()), Made)

    def _made_of(self, path: Path, of: Of, anew: bool) -> Made | None:
        """Return the note of a path. Raises BadInput as `made` and, unless the path may be made anew, if it was made,
        or started, from other inputs."""
        made = self.made(path)
        if made and not anew:
            was = "was begun" if made.cpu_seconds is None else "was made"
            before, now = ({name: each.get(name, "none") for name in {**of, **made.of}} for each in (made.of, of))
            check_same(path, before, now, was, f"; {REMEDY}")
        return made

    def make(self, path: Path, inputs: Callable[[], Options], work: Callable[[], Cost], anew: bool = False) -> Made:
        """Do the work that makes a path under a lock, unless it is done, and return its note.

        anew: replace output from other inputs. Otherwise, raises BadInput for it; also if an input changes meanwhile.
        """
        with self._kept(path):
            note, of = self.note(path), self.of(inputs())
            made = self._made_of(path, of, anew)
            if made and made.is_done(of):
                return made
            with naming(note):
                note.parent.mkdir(parents=True, exist_ok=True)
                path.parent.mkdir(parents=True, exist_ok=True)
            begun = Made(of, interrupted=made.interrupted if made and made.of == of else 0.0)
            write_aside(note, msgspec.json.encode(begun))
            try:
                cost = work()
            except Unfinished as error:
                begun = replace(begun, interrupted=begun.interrupted + error.cost.cpu_seconds)
                write_aside(note, msgspec.json.encode(begun))
                raise
            self.of(inputs())  # raises if an input has changed
            made = replace(begun, cpu_seconds=begun.interrupted + cost.cpu_seconds, megabytes=cost.megabytes)
            write_aside(note, msgspec.json.format(msgspec.json.encode(made)))
            return made

    @contextmanager
    def _kept(self, path: Path) -> Iterator[None]:
        """Lock a path for this process. Raises BadInput if the run is stopped while it waits for another process."""
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
                        raise BadInput("another process is making it", str(path)) from None
                    continue
                except OSError:
                    pass  # the file system has no locks
                break
            yield
        finally:
            os.close(descriptor)

    def call(self, name: str, options: Options, log: Path, output: Path | None = None) -> Cost:
        """Call a function of `calls` in a new process. Raises Unfinished with the last line that it printed to stderr.

        Its messages go to the log, and its notes to stderr as well, each once per run. The process ends with this one:
        its standard input is a pipe that only this process can close. It uses one thread, unless OMP_NUM_THREADS says
        otherwise: rounding, and so each score, then depends neither on the number of cores nor on the number of
        parallel tasks.
        """
        for path in (log, output):
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
        words = [name, msgspec.json.encode(options, enc_hook=str).decode()]
        with log.open("ab") as errors, (output or Path(os.devnull)).open("wb") as stream:
            begin = errors.tell()
            process = subprocess.Popen(
                [*COMMAND, *words],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=errors,
                env={"OMP_NUM_THREADS": "1", **os.environ},
            )
            self.processes.add(process)
            if self.stopped.is_set():
                process.terminate()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.processes.discard(process)
            if process.stdin:
                process.stdin.close()
        cost = Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024)
        said = log.read_bytes()[begin:].decode(errors="replace").splitlines()
        for line in said:
            if line.startswith(f"synmt {name}: {NOTE}") and line not in self.noted:
                self.noted.add(line)
                print(line.replace(NOTE, "", 1), file=sys.stderr, flush=True)
        if process.returncode:
            last = said[-1] if said else "no message"
            raise Unfinished(f"synmt {name} ended with {process.returncode}: {last}", log, cost)
        return cost

    def write(self, path: Path, name: str, options: Options, trees: Path | None = None) -> Cost:
        """Write the output of a call to a file, which appears once it is complete; as `call`.

        trees: a file that the call itself writes, by the option of this name.
        """
        part = self.unfinished(path)
        if not trees:
            cost = self.call(name, options, self.log(path), part)
        else:
            other = self.unfinished(trees)
            for each in (other, trees):
                each.parent.mkdir(parents=True, exist_ok=True)
            cost = self.call(name, {**options, "trees": other}, self.log(path), part)
            other.replace(trees)
        part.replace(path)
        return cost

    def stop(self) -> None:
        """Interrupt all running processes, as a signal does."""
        self.stopped.set()
        for process in list(self.processes):
            process.terminate()

    def is_done(self, task: Task, known: dict[Path, bool]) -> bool:
        """Return whether a task and everything it needs are done. known: answers so far.

        Raises BadInput for output from other inputs that may not be replaced.
        """
        if task.path not in known:
            known[task.path] = all(self.is_done(each, known) for each in task.needs) and self._is_made(task)
        return known[task.path]

    def _is_made(self, task: Task) -> bool:
        of = self.of(task.inputs())
        made = self._made_of(task.path, of, task.anew)
        return made is not None and made.is_done(of)


def do_all(place: Workplace, tasks: Sequence[Task], jobs: int) -> None:
    """Do the tasks that are not done, up to `jobs` at a time; each parse uses that many processes itself.

    Before any work, and again before and after parsing, existing output is compared with its inputs. Raises BadInput,
    and Interrupted once the running processes have saved their work.
    """

    def todo(tasks: Iterable[Task]) -> list[Task]:
        known: dict[Path, bool] = {}
        return [task for task in tasks if not place.is_done(task, known)]

    for parsing, group in groupby(todo(tasks), key=lambda task: task.verb == "parsing"):
        do(place, todo(group), 1 if parsing else jobs)


def do(place: Workplace, tasks: Sequence[Task], jobs: int = 1) -> None:
    """Do tasks, up to `jobs` at a time, and report each one. A task waits for the tasks that it needs.

    Of the tasks that are ready, the deepest goes first, so that a model translates before the next one trains;
    otherwise they follow the list. Raises as `do_all`.
    """
    progress = {verb: Progress(total, jobs) for verb, total in Counter(task.verb for task in tasks).items()}
    places = {task: place for place, task in enumerate(tasks)}
    order = TopologicalSorter({task: [each for each in task.needs if each in places] for task in tasks})
    order.prepare()
    ready, running = list[Task](), set[Future[Task]]()

    def work(task: Task) -> Task:
        began = progress[task.verb].begin(task.name)
        place.make(task.path, task.inputs, task.work, task.anew)
        progress[task.verb].end(began)
        return task

    with Interruption() as interruption, ThreadPoolExecutor(jobs) as pool:
        try:
            while order.is_active():
                ready = sorted([*ready, *order.get_ready()], key=lambda task: (-task.depth, places[task]))
                while ready and len(running) < jobs:
                    running.add(pool.submit(work, ready.pop(0)))
                with interruption.at_once():
                    ended, running = wait(running, return_when=FIRST_COMPLETED)
                order.done(*(each.result() for each in ended))
        except BaseException:
            place.stop()
            raise


class Progress:
    """Reports on stderr each task of a kind that starts, and estimates how long the remaining ones take."""

    def __init__(self, total: int, jobs: int) -> None:
        self._total, self._jobs, self._lock = total, jobs, threading.Lock()
        self._begun, self._seconds = 0, list[float]()

    def begin(self, name: str) -> float:
        """Report that a step starts, and return the time."""
        with self._lock:
            self._begun += 1
            place = f", {self._begun} of {self._total}" if self._total > 1 else ""
            left = ""
            if self._seconds:
                mean = sum(self._seconds) / len(self._seconds)
                left = f", about {_duration(mean * (self._total - self._begun + 1) / self._jobs)} left"
            print(f"synmt run: {name}{place}{left}", file=sys.stderr, flush=True)
        return time.monotonic()

    def end(self, began: float) -> None:
        with self._lock:
            self._seconds.append(time.monotonic() - began)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
