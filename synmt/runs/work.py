"""Does what a plan says, each step in a process of its own; what is done already is not done again."""

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

from tqdm import tqdm

from synmt.inputs import without_compression
from synmt.interruption import Interruption
from synmt.model.files import CONFIG_FILE, locked, naming, write_aside
from synmt.model.words import parser_of
from synmt.runs.data import form_of
from synmt.runs.file import Options, Pair, RunFile, arguments
from synmt.runs.notes import Made, check, identity, make
from synmt.runs.plan import Fields, Plan, Training
from synmt.streams import BadInput, read_lines

T = TypeVar("T")
U = TypeVar("U")
COMMAND = [sys.executable, "-m", "synmt.cli.child"]


@dataclass
class Workplace:
    """The folder of a run. Each kind of thing has places of its own:

    SIZE/SYSTEM.SEED: a model; SIZE/SYSTEM.SEED.TEST: its translation of a test.
    data/parsed/, data/cut/, data/prepared/: the data as systems read it; data/dev/: translations of dev.
    notes/, logs/, unfinished/: under the place of each thing, what it was made of, what the command said that made it,
    and the output of a command that has not ended.
    """

    folder: Path
    run: RunFile
    processes: set["subprocess.Popen[bytes]"] = field(default_factory=set)
    stopped: threading.Event = field(default_factory=threading.Event)
    identities: dict[Path, str] = field(default_factory=dict)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder, and keep it to this process. Raises BadInput."""
        with naming(self.folder):
            (self.folder / "data").mkdir(parents=True, exist_ok=True)
        with locked(self.folder):
            yield

    def beside(self, kind: str, path: Path, suffix: str) -> Path:
        """Return the place of what belongs to a thing, in a folder of its kind."""
        place = self.folder / kind / path.relative_to(self.folder)
        return place.with_name(f"{place.name}{suffix}")

    def note(self, path: Path) -> Path:
        return self.beside("notes", path, ".json")

    def log(self, path: Path) -> Path:
        """Return the file of what the commands said that made a thing."""
        return self.beside("logs", path, ".log")

    def unfinished(self, path: Path) -> Path:
        """Return the file of what a command has written so far of a thing."""
        return self.beside("unfinished", path, "")

    def model(self, training: Training) -> Path:
        return self.folder / training.name

    def identity(self, path: Path) -> str:
        """Return the name of a file that is read, with a checksum of its content. Raises BadInput."""
        if path not in self.identities:
            self.identities[path] = identity(path)
        return self.identities[path]

    def of_options(self, options: Options) -> dict[str, str]:
        """Return options as what something is made of."""
        return {name: self.identity(each) if isinstance(each, Path) else f"{each}" for name, each in options.items()}

    def prepare(self, plan: Plan, jobs: int) -> RunFile:
        """Return the run with the data as all systems read it: parsed where some system needs trees. Raises BadInput,
        before anything is parsed where something was made of other data or with other options."""
        parts = {"train": self.run.train, "dev": self.run.dev}
        texts = [
            Text(f"{name}/{side}", path, plan.needs[number], number)
            for name, pair in parts.items()
            for number, (side, path) in enumerate((("source", pair.source), ("target", pair.target)))
        ]
        texts += [
            Text(f"tests/{name}/source", pair.source, plan.reads, 0, True) for name, pair in self.run.tests.items()
        ]
        parses = [parse for text in texts if (parse := self._parse(text, plan, jobs))]
        for parse in parses:
            if not parse.text.is_test:
                check(parse.path, self.note(parse.path), parse.of)
        made = {parse.text.part: parse.path for parse in parses}
        for parse in parses:
            make(parse.path, self.note(parse.path), parse.of, parse.work, anew=parse.text.is_test)
        of = {text.part: made.get(text.part, text.path) for text in texts}
        return replace(
            self.run,
            train=Pair(of["train/source"], of["train/target"]),
            dev=Pair(of["dev/source"], of["dev/target"]),
            tests={name: Pair(of[f"tests/{name}/source"], pair.target) for name, pair in self.run.tests.items()},
        )

    def _parse(self, text: "Text", plan: Plan, jobs: int) -> "Parse | None":
        """Return how a file of sentences becomes their records, None if no system needs trees or the file has them.
        Raises BadInput."""
        if not text.needs or form_of(text.path, text.side) != "text":
            return None
        read = {name: (languages[text.side], tokenizer) for name, (languages, tokenizer) in plan.texts.items()}
        (first_system, how), *others = read.items()
        for name, other in others:
            if other != how:
                cause = (
                    f"all systems read the same words, but {first_system} and {name} differ in language or tokenizer"
                )
                raise BadInput(cause, str(text.path))
        language, tokenizer = how
        options: Options = {"parser": parser_of(text.needs), "language": language, **self.run.options.get("parse", {})}
        if lacking := set(parser_of(text.needs).split("+")) - set(str(options["parser"]).split("+")):
            raise BadInput(f"parse: systems need trees of {lacking.pop()}, and parser is {options['parser']}")
        if tokenizer == "none":
            options = {**options, "input": "tokens"}
        path = self.folder / "data" / "parsed" / text.part / f"{without_compression(text.path.name)}.jsonl"

        def work() -> float:
            print(f"synmt run: parsing {text.path}", file=sys.stderr)
            return self.write(path, ["parse", "--jobs", str(jobs), *arguments(options), str(text.path)])

        return Parse(text, path, {"text": self.identity(text.path), **self.of_options(options)}, work)

    def cut(self, side: str, path: Path, size: int | None) -> Path:
        """Return a file of the first lines of another, the source or the target. Raises BadInput if it has fewer, or
        if it was cut from another file."""
        if size is None:
            return path
        made = self.folder / "data" / "cut" / str(size) / side / without_compression(path.name)

        def work() -> float:
            lines = [line.text for line in islice(read_lines([str(path)]), size)]
            if len(lines) < size:
                raise BadInput(f"{len(lines)} lines, and a size of the run is {size}", str(path))
            write_aside(made, "".join(f"{line}\n" for line in lines).encode())
            return 0.0

        make(made, self.note(made), {"lines": str(size), "file": self.identity(path)}, work)
        return made

    def prepared(self, training: Training) -> Path:
        """Return the folder of the pairs as ids, which all seeds of a system share."""
        return self.folder / "data" / "prepared" / str(training.size or "all") / training.system

    def command(self, words: Sequence[str], log: Path, output: Path | None = None) -> float:
        """Run a command of synmt; return the CPU seconds that it took. Raises BadInput with the last line it said.

        It ends with this process: its standard input is a pipe that only this process can close.
        """
        for path in (log, output):
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
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
            raise BadInput(f"synmt {words[0]} ended with {process.returncode}: {said[0]}", str(log))
        return usage.ru_utime + usage.ru_stime

    def write(self, path: Path, words: Sequence[str]) -> float:
        """Write what a command prints to a file, which is there once it is whole; as `command`."""
        part = self.unfinished(path)
        seconds = self.command(words, self.log(path), part)
        part.replace(path)
        return seconds

    def stop(self) -> None:
        """End all commands that are under way, as they end at a signal."""
        self.stopped.set()
        for process in list(self.processes):
            process.terminate()


@dataclass(frozen=True)
class Text:
    """A file of sentences. part: its place in the run; needs: what systems read of its records; side: 0 is source.

    is_test: whether no model depends on it, so that it may be parsed again.
    """

    part: str
    path: Path
    needs: Fields
    side: int
    is_test: bool = False


@dataclass(frozen=True)
class Parse:
    """The records of a text. of: what they are made of; work: makes them."""

    text: Text
    path: Path
    of: dict[str, str]
    work: Callable[[], float]


def train_all(place: Workplace, plan: Plan, run: RunFile, jobs: int) -> dict[Training, Made]:
    """Train what is not there yet, so many models at a time. Raises as `in_parallel`, and BadInput, before anything is
    trained where a model was made of other data or with other options."""
    files = {training.size: _files(place, run, training.size) for training in plan.trainings}
    of = {each: {**place.of_options({**each.options, **files[each.size]})} for each in plan.trainings}
    for training, pairs_of in of.items():
        prepared = place.prepared(training)
        check(prepared, place.note(prepared), pairs_of)
        check(place.model(training), place.note(place.model(training)), {**pairs_of, "seed": str(training.seed)})
    for training, pairs_of in of.items():
        prepared = place.prepared(training)
        make(prepared, place.note(prepared), pairs_of, lambda: 0.0)  # training itself writes it, and can go on with it

    def train(training: Training) -> Made:
        model = place.model(training)

        def work() -> float:
            options = {**training.options, **files[training.size], "seed": training.seed}
            own = {"out": model, "prepared": place.prepared(training)}
            resume = ["--resume"] if (model / CONFIG_FILE).exists() else []
            return place.command(["train", *arguments({**options, **own}), *resume], place.log(model))

        return make(model, place.note(model), {**of[training], "seed": str(training.seed)}, work)

    return dict(zip(plan.trainings, in_parallel(place, jobs, plan.trainings, train, "model"), strict=True))


def _files(place: Workplace, run: RunFile, size: int | None) -> Options:
    """Return what models of a size are trained and validated on."""
    return {
        "source": place.cut("source", run.train.source, size),
        "target": place.cut("target", run.train.target, size),
        "dev-source": run.dev.source,
        "dev-target": run.dev.target,
    }


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
