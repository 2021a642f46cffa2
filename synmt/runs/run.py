"""A run, from its file to its table, as a whole or task by task."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Self

from synmt.api.given import RuntimeConfig
from synmt.metrics.config import FORMS
from synmt.model.files import write_output
from synmt.runs.aligners import Aligners
from synmt.runs.file import LOSS, RunFile, read_run, safe_path, with_options
from synmt.runs.projections import Projections
from synmt.runs.systems import Systems
from synmt.runs.table import (
    Measured,
    Output,
    Result,
    by_test,
    learned_of,
    read_scores,
    read_set,
    remarks,
    report,
    results,
)
from synmt.runs.tasks import Progress, Task, Workplace, do, do_all
from synmt.runs.work import Work
from synmt.streams import BadInput, Message, WrongUsage, counted, note, shown
from synmt.streams.paths import check_apart, check_writable

KINDS: Mapping[str, type[Work]] = {"systems": Systems, "aligners": Aligners, "projections": Projections}


@dataclass(frozen=True)
class Run:
    """given: the contents of the run file; work: its tasks and outputs in the folder of the run."""

    file: Path
    given: RunFile
    work: Work
    jobs: int
    against: str | None = None

    @classmethod
    def open(
        cls,
        file: str | Path,
        folder: str | Path,
        data: str | Path | None = None,
        jobs: int = 1,
        against: str | None = None,
    ) -> Self:
        """Read a run file, and check everything that can be checked before any work. Raises BadInput and ValueError,
        also for a folder that is, contains or is inside an input.

        folder: of all output; data: folder of the data files, by default the folder of the run file; jobs: number of
        parallel tasks, and of parsing processes; against: the system at the top of the table, without systems above it
        in the file.
        """
        RuntimeConfig(jobs=jobs)
        file, folder = Path(file), Path(folder)
        try:
            place = Workplace(safe_path(folder))
            run = with_options(read_run(file, Path(data) if data else None))
        except ValueError as error:
            raise BadInput(str(error), str(file)) from None
        if against not in (None, *run.systems):
            raise BadInput(f"has no system {against!r}, only {', '.join(run.systems)}", str(file))
        try:
            work = KINDS[run.kind](place, run, jobs)
        except BadInput as error:
            raise BadInput(error.cause, error.place or str(file)) from None
        if run.options.get("parse") and not any(each.verb == "parsing" for each in work.tasks):
            raise BadInput("parse has no effect: this run parses no text", str(file))
        for own in by_test(work.outputs()) if run.segments else []:
            for each in run.segments.values():
                read_scores(each, own)
        for part, length in product(run.numbered_sets().values(), work.lengths.values()):
            read_set(part, length)
        check_apart([("--out", str(folder))], [str(file), *map(str, run.files())])
        return cls(file, run, work, jobs, against)

    def __repr__(self) -> str:
        return f"<Run {shown(str(self.file), 70)}: {counted(len(self.work.tasks), 'task')}>"

    def files(self) -> list[Path]:
        """Return all input files."""
        return self.given.files()

    def listed(self) -> Iterator[str]:
        """Yield a line for each task: its number, state and name, and the numbers of the tasks that it needs.

        Raises BadInput for output of other inputs.
        """
        tasks, place = self.work.tasks, self.work.place
        numbers = {task.path: number for number, task in enumerate(tasks, 1)}
        known: dict[Path, bool] = {}
        for task in tasks:
            ready = all(place.is_done(each, known) for each in task.needs)
            state = "done" if place.is_done(task, known) else "ready" if ready else "waiting"
            needs = " ".join(str(numbers[each.path]) for each in task.needs)
            yield f"{numbers[task.path]}\t{state}\t{task.name}\t{needs}"

    def do(self, number: int) -> None:
        """Do a task, unless it is done. Raises BadInput if no task has this number, or if it needs tasks that are not
        done."""
        tasks, place = self.work.tasks, self.work.place
        if not 1 <= number <= len(tasks):
            raise BadInput(f"the run has no task {number}, only {counted(len(tasks), 'task')}")
        task, known = tasks[number - 1], dict[Path, bool]()
        with place.opened(shared=True):
            for each in task.needs:
                if not place.is_done(each, known):
                    cause = f"task {number}, {task.name}, needs task {tasks.index(each) + 1}, {each.name}"
                    raise BadInput(f"{cause}, which is not done")
            if not place.is_done(task, known):
                do(place, [task])

    def table(self, form: str = "text", page: str | Path | None = None) -> Iterator[str]:
        """Do all tasks that remain, and return the lines of the table. Raises BadInput.

        form: one of FORMS; page: a file for the report. Raises WrongUsage for another form, and for a page
        that cannot be written, or that is an input or among the files of the run.
        """
        place = self.work.place
        if form not in FORMS:
            raise WrongUsage(f"form cannot be {form!r}; it is one of {', '.join(FORMS)}")
        if page:
            page = Path(page)
            self._check_page(page)
        asked = dict[Path, bool]()
        if undone := [task for task in self.work.tasks if not place.is_done(task, asked)]:
            self._check_devices(undone)
            for line in self.work.described():
                print(f"synmt run: {line}", file=sys.stderr, flush=True)
        with place.opened():
            do_all(place, self.work.tasks, self.jobs)
            outputs = self._shown()
            metrics = self.given.of_outputs
            measured, found, chosen = [], list[Result](), self.work.chosen()
            tests = by_test(outputs)
            progress = Progress(len(tests), 1)
            for own in tests:
                began = progress.begin(f"scoring {own[0].test}")
                measured.append(Measured.of(own, metrics, self.given.segments, LOSS in self.given.metrics))
                found += results(measured[-1], self.work.sets.get(own[0].test, {}), chosen)
                progress.end(began)
            made = {each: place.made(each.model) for each in outputs}
            if page:
                from synmt.runs.report import Found
                from synmt.runs.report import page as page_of

                translations = outputs if self.given.kind == "systems" else []
                written = {each: place.made(each.path) for each in translations}
                known = Found(self.given, place, measured, found, made, written)
                write_output(page, page_of(known, self.file).encode())
            learned = learned_of(made)
        for remark in remarks(found, learned) if form != "text" else ():
            note(remark)
        return report(found, learned, form)

    def _check_devices(self, tasks: Sequence[Task]) -> None:
        """Raise BadInput for a task that asks for a device that this machine lacks."""
        devices = {str(task.inputs().get("device", "auto")): task.name for task in reversed(tasks)}
        for device, name in devices.items():
            if device not in ("auto", "cpu"):
                from synmt.device import local_device  # imports torch

                try:
                    local_device(device)
                except (BadInput, WrongUsage) as error:
                    raise BadInput(Message("{}: {}", name, error), str(self.file)) from None

    def _check_page(self, page: Path) -> None:
        check_apart([("--report", str(page))], [str(self.file), *map(str, self.files())])
        folder = self.work.place.folder
        if page.resolve().is_relative_to(folder.resolve()):
            raise WrongUsage(Message("--report {} is inside {}, the folder of the run", page, folder))
        check_writable("--report", str(page), folder=False)

    def _shown(self) -> list[Output]:
        """Return the outputs of the systems in the table."""
        systems = list(self.given.systems)
        first = systems.index(self.against) if self.against else 0
        return [each for each in self.work.outputs() if each.system in systems[first:]]
