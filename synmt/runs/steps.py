"""The steps of a run. A step has a name, inputs, an output path, and the command or function that makes the output.

Before a step starts, its inputs are recorded in its log. Whenever the run starts, it compares these records with the
run file, so output of other inputs is neither continued nor used. Commands run in processes of their own, in any order
that respects their dependencies.
"""

import fcntl
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter
from io import FileIO
from pathlib import Path
from shlex import join

import msgspec
from msgspec.structs import replace

from synmt.model.files import check_empty, locked, naming
from synmt.model.fingerprint import check_same, digest, fingerprint_of, quick_fingerprint
from synmt.runs.commands import Command, Options
from synmt.streams import BadInput, duration
from synmt.streams.decoding import decoded
from synmt.streams.process import Interruption

PROGRAM = [sys.executable, "-m", "synmt.cli.step"]  # runs a command of synmt that ends with this process
PARSING = "parsing"  # the verb of steps that parse
NOTE = "note: "  # marks a note in the log of a process; the run prints it on stderr without this mark
PLACE = re.compile(r"update \d+ of \d+")  # how a line about the progress of a training run begins
POLL = 0.1  # seconds between two attempts to lock a file, or two looks at a process
REMEDY = "name another --out, or remove it"
RECORD = b'{"inputs":'  # how a record begins in a log
SPENT = b"CPU seconds so far:"  # how a line begins in which a process reports its CPU time
UNSET = "the default"  # in messages, the value of an option that is not given
Recorded = Mapping[str, str]  # inputs by name: options as text, files as checksums


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an output was made. cpu_seconds: CPU time of all processes that worked on it and have ended; megabytes: peak
    memory of the last one, None if no process did; is_finished: whether the output is complete."""

    inputs: dict[str, str]
    cpu_seconds: float = 0.0
    megabytes: int | None = None
    is_finished: bool = False


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
class Step:
    """One step of a run.

    verb, what: its name in messages, such as "training" and "mask, seed 2".
    path: the file or folder that it makes; others: further ones.
    needs: the steps whose output it reads.
    inputs: returns everything that the output depends on; a Path is a file, or the output of another step.
    work: makes the output.
    command: returns the command that `work` starts, None if it starts none.
    anew: whether output from other inputs is made again instead of refused.
    """

    verb: str
    what: str
    path: Path
    needs: tuple["Step", ...]
    inputs: Callable[[], Options]
    work: Callable[[], Cost]
    command: Callable[[], Command] | None = None
    others: tuple[Path, ...] = ()
    anew: bool = False

    @property
    def name(self) -> str:
        return f"{self.verb} {self.what}"

    @cached_property
    def depth(self) -> int:
        """The number of steps in the longest chain of needs that ends with this one."""
        return 1 + max((each.depth for each in self.needs), default=0)

    def line(self) -> str:
        """Return its name and its command line, as a shell would run it."""
        command = self.command and self.command()
        return f"{self.name}: {join(['synmt', *command.words])}" if command else self.name

    def with_needs(self) -> list["Step"]:
        """Return this step and all that it needs, each after the ones that it needs."""
        steps = dict.fromkeys(found for each in self.needs for found in each.with_needs())
        return [*steps, self]


def paths_in(value: object) -> list[Path]:
    """Return the paths in an input: a path, or several in lists."""
    if isinstance(value, list | tuple):
        return [path for each in value for path in paths_in(each)]
    return [value] if isinstance(value, Path) else []


@dataclass
class RunFolder:
    """The folder of a run:

    SIZE/NAME.SEED: a system's model, or an aligner; SIZE/NAME.SEED.TEST: its translation, links or projected trees of a
    test.
    data/: the data in the form that systems read, translations of dev, and links and trees of the training data.
    steps/: for each path above, the log of its step and, while it is written, its output. The log has a record of its
    inputs and costs, and the messages of the commands; it is also the lock against other processes.
    """

    path: Path
    processes: set["subprocess.Popen[bytes]"] = field(default_factory=set)
    stopped: threading.Event = field(default_factory=threading.Event)
    fingerprints: dict[Path, tuple[object, str]] = field(default_factory=dict)  # of inputs, with their quick ones
    noted: set[str] = field(default_factory=set)

    @contextmanager
    def opened(self, shared: bool = False) -> Iterator[None]:
        """Make the folder and lock it for this process, or for all that share it. Raises BadInput, also for a folder
        that is not empty and not of a run."""
        if not (self.path / "steps").is_dir():
            check_empty(self.path, "no run of this version of synmt made it: name a new folder with --out")
        with naming(self.path):
            (self.path / "steps").mkdir(parents=True, exist_ok=True)
        with locked(self.path, shared=shared):
            yield

    def beside(self, kind: str, path: Path, suffix: str) -> Path:
        """Return the path that belongs to another path, in the subfolder for this kind of file."""
        place = self.path / kind / path.relative_to(self.path)
        return place.with_name(f"{place.name}{suffix}")

    def log(self, path: Path) -> Path:
        return self.beside("steps", path, ".log")

    def fingerprint_of(self, path: Path) -> str:
        """Return the fingerprint of an input: for a folder that the run makes, such as a model, a checksum of its
        inputs, or "none" if it does not exist yet; for anything else a checksum of its content. Raises BadInput, also
        for data that have changed since this process first read them."""
        if path.is_relative_to(self.path) and (path.is_dir() or not path.exists()):
            found = self.record(path)
            return digest(found.inputs) if found else "none"
        now, (before, known) = quick_fingerprint(path), self.fingerprints.get(path, (None, ""))
        if now != before:
            new = fingerprint_of(path)
            if known not in ("", new) and not path.is_relative_to(self.path):
                raise BadInput("has changed since this run started", str(path))
            self.fingerprints[path] = now, new
        return self.fingerprints[path][1]

    def recorded(self, inputs: Options) -> dict[str, str]:
        """Return inputs as they are recorded."""
        return {
            name: " ".join(map(self.fingerprint_of, paths)) if (paths := paths_in(value)) else f"{value}"
            for name, value in inputs.items()
        }

    def record(self, path: Path, *others: Path) -> Record | None:
        """Return the record of the step that makes these paths, None if none of them exists. Raises BadInput if its log
        has no record."""
        if not any(each.exists() for each in (path, *others)):
            return None
        log, spent = self.log(path), 0.0
        with naming(log):
            for line in reversed(log.read_bytes().splitlines() if log.exists() else []):
                with suppress(ValueError):  # the computer failed while the line was written
                    if line.startswith(SPENT):  # by a process that was killed, or a record would follow
                        spent = spent or float(line.removeprefix(SPENT))
                    if line.startswith(RECORD):
                        found = msgspec.convert(decoded(line), Record)
                        return replace(found, cpu_seconds=found.cpu_seconds + spent)
        raise BadInput(f"is not part of this run, since {log} has no record of it; {REMEDY}", str(path))

    def _made_from(self, step: Step, inputs: Recorded) -> Record | None:
        """Return the record of a step's output from these inputs, None if there is none, or if a finished output is not
        complete any more. Raises BadInput as `record` and, unless the step may be done anew, for output of other
        inputs."""
        found = self.record(step.path, *step.others)
        if found and not step.anew:
            was = "was made" if found.is_finished else "was started"
            names = {**inputs, **found.inputs}
            before, now = ({name: each.get(name, UNSET) for name in names} for each in (found.inputs, inputs))
            check_same(step.path, before, now, was, f"; {REMEDY}")
        is_whole = all(each.exists() for each in (step.path, *step.others))
        return found if found and found.inputs == inputs and (is_whole or not found.is_finished) else None

    def make(self, step: Step) -> Record:
        """Do a step under a lock, unless it is done, and return its record. Raises BadInput for output from other
        inputs, unless it may be made anew; also if an input changes meanwhile."""
        log = self.log(step.path)
        with self._locked(log) as stream:
            inputs = self.recorded(step.inputs())
            found = self._made_from(step, inputs)
            if found and found.is_finished:
                return found
            with naming(step.path):
                for each in (step.path, *step.others):
                    each.parent.mkdir(parents=True, exist_ok=True)
            spent = found.cpu_seconds if found else 0.0
            started = Record(inputs, spent)
            _append(stream, started)
            try:
                cost = step.work()
            except Unfinished as error:
                _append(stream, replace(started, cpu_seconds=spent + error.cost.cpu_seconds))
                raise
            self.recorded(step.inputs())  # raises if an input has changed
            made = Record(inputs, spent + cost.cpu_seconds, cost.megabytes, is_finished=True)
            _append(stream, made)
            return made

    @contextmanager
    def _locked(self, log: Path) -> Iterator[FileIO]:
        """Open a log, and lock it for this process. Raises BadInput if the run is stopped while it waits for another
        process."""
        with naming(log):
            log.parent.mkdir(parents=True, exist_ok=True)
            stream = log.open("ab", buffering=0)
        with stream:
            while True:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if self.stopped.wait(POLL):
                        raise BadInput("another process is making it", str(log)) from None
                    continue
                except OSError:
                    pass  # the file system has no locks
                break
            yield stream

    def run(self, command: Command, log: Path, output: Path | None = None) -> Cost:
        """Run a command of synmt in a new process. Raises Unfinished with the last line that it printed to stderr.

        Its messages go to the log. Its notes go to stderr as well, each once per run, and so does the progress of a
        training run, under the name of its log. The process ends with this one: its standard input is a pipe that only
        this process can close. It uses one thread, unless OMP_NUM_THREADS says otherwise: rounding, and so each score,
        then depends neither on the number of cores nor on the number of steps at a time.
        """
        name, last, ended, rest = f"synmt {command.name}", "no message", 0, b""
        with log.open("ab") as errors, log.open("rb") as said, (output or Path(os.devnull)).open("wb") as stream:
            said.seek(errors.tell())
            process = subprocess.Popen(
                [*PROGRAM, *command.words],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=errors,
                env={"OMP_NUM_THREADS": "1", **os.environ},
            )
            self.processes.add(process)
            if self.stopped.is_set():
                process.terminate()
            while not ended:
                time.sleep(POLL)
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
                *lines, rest = (rest + said.read()).split(b"\n")
                for last in (line.decode(errors="replace") for line in lines if line and not line.startswith(SPENT)):
                    if last.startswith(f"{name}: {NOTE}") and last not in self.noted:
                        self.noted.add(last)
                        print(last.replace(NOTE, "", 1), file=sys.stderr, flush=True)
                    elif PLACE.match(last):
                        print(f"synmt run: {log.stem}: {last}", file=sys.stderr, flush=True)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.processes.discard(process)
            if process.stdin:
                process.stdin.close()
        cost = Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024)
        if process.returncode:
            last = rest.decode(errors="replace") or last
            raise Unfinished(f"{name} ended with {process.returncode}: {last}", log, cost)
        return cost

    def write(
        self, path: Path, command: Command | None = None, lines: Callable[[Path], Iterable[str]] | None = None
    ) -> Cost:
        """Write the output of a command to a file, which appears once it is complete; as `run`.

        lines: turns the file with the output of the command, or a file that does not exist without a command, into the
        lines to write.
        """
        written = self.beside("steps", path, ".new")
        found = self.beside("steps", path, ".found") if lines else written
        cost = self.run(command, self.log(path), found) if command else Cost()
        if lines:
            with naming(path), written.open("w", encoding="utf-8", newline="\n") as stream:
                for line in lines(found):
                    if self.stopped.is_set():
                        raise BadInput("the run was stopped", str(path))
                    stream.write(f"{line}\n")
            found.unlink(missing_ok=True)
        written.replace(path)
        return cost

    def stop(self) -> None:
        """Interrupt all running processes, as a signal does."""
        self.stopped.set()
        for process in list(self.processes):
            process.terminate()

    def is_done(self, step: Step, known: dict[Path, bool]) -> bool:
        """Return whether a step and everything it needs are done. known: answers so far.

        Raises BadInput for output from other inputs that may not be replaced.
        """
        if step.path not in known:
            made = all(self.is_done(each, known) for each in step.needs) and self._made_from(
                step, self.recorded(step.inputs())
            )
            known[step.path] = bool(made and made.is_finished)
        return known[step.path]


def _append(log: FileIO, record: Record) -> None:
    """Add a record to a log, on a line of its own, whatever the last message of a killed process was."""
    log.write(b"\n" + msgspec.json.encode(record) + b"\n")
    os.fsync(log.fileno())


def do_all(folder: RunFolder, steps: Sequence[Step], jobs: int) -> None:
    """Do the steps that are not done, up to `jobs` at a time, and report each one.

    A step waits for the steps that it needs. One that parses starts `jobs` processes itself, so it runs alone, and
    before all others that are ready. Of these, the deepest goes first, so that a model translates before the next one
    trains; otherwise they follow the list.

    Before any work, and again after each parse, existing output is compared with its inputs. Raises BadInput, and
    Interrupted once the running processes have saved their work.
    """
    known: dict[Path, bool] = {}
    steps = [step for step in steps if not folder.is_done(step, known)]
    totals = Counter(step.verb for step in steps)
    progress = {verb: StepProgress(total, 1 if verb == PARSING else jobs) for verb, total in totals.items()}
    ranks = {step: (step.verb != PARSING, -step.depth, place) for place, step in enumerate(steps)}
    order = TopologicalSorter({step: [each for each in step.needs if each in ranks] for step in steps})
    order.prepare()
    ready, running, parses = list[Step](), set[Future[Step]](), False

    def work(step: Step) -> Step:
        began = progress[step.verb].begin(step.name)
        folder.make(step)
        progress[step.verb].end(began)
        return step

    with Interruption() as interruption, ThreadPoolExecutor(jobs) as pool:
        try:
            while order.is_active():
                ready = sorted([*ready, *order.get_ready()], key=ranks.__getitem__)
                while ready and len(running) < (1 if parses or ready[0].verb == PARSING else jobs):
                    step = ready.pop(0)
                    parses = step.verb == PARSING
                    running.add(pool.submit(work, step))
                with interruption.at_once():
                    ended, running = wait(running, return_when=FIRST_COMPLETED)
                order.done(*(each.result() for each in ended))
                if parses:
                    parses, known = False, {}
                    for step in steps:
                        folder.is_done(step, known)
        except BaseException:
            folder.stop()
            raise


class StepProgress:
    """Reports on stderr each step of a kind that starts, and estimates how long the remaining ones take."""

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
                left = f", about {duration(mean * (self._total - self._begun + 1) / self._jobs)} left"
            print(f"synmt run: {name}{place}{left}", file=sys.stderr, flush=True)
        return time.monotonic()

    def end(self, began: float) -> None:
        with self._lock:
            self._seconds.append(time.monotonic() - began)
