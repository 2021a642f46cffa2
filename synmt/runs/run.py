"""A run, from its file to its table, as a whole or step by step."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Self

from synmt.api.given import RuntimeConfig
from synmt.inspection.matrix import Picture
from synmt.metrics.config import FORMS, TableForm
from synmt.metrics.report import Table, html
from synmt.model.files import write_output
from synmt.runs.aligners import Aligners
from synmt.runs.file import LOSS, RunFile, read_run, safe_path, with_options
from synmt.runs.projections import Projections
from synmt.runs.steps import PARSING, RunFolder, Step, StepProgress, do_all
from synmt.runs.systems import Systems
from synmt.runs.table import (
    Measured,
    Result,
    RunFindings,
    by_test,
    learned_of,
    read_scores,
    read_set,
    report,
    results,
    warnings_of,
)
from synmt.runs.work import Work
from synmt.streams import BadInput, Message, WrongUsage, counted, note, shown
from synmt.streams.paths import check_apart, check_writable

if TYPE_CHECKING:
    from synmt.runs.figures import Kind

KINDS: Mapping[str, type[Work]] = {"systems": Systems, "aligners": Aligners, "projections": Projections}


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Turn errors about a run file, or about data without a place, into BadInput that names the file."""
    try:
        yield
    except ValueError as error:
        raise BadInput(str(error), str(file)) from None
    except BadInput as error:
        raise BadInput(error.cause, error.place or str(file)) from None


@dataclass(frozen=True)
class Run:
    """given: the contents of the run file; work: its steps and outputs in the folder of the run; data: the folder of
    the data files, None for the folder of the run file."""

    file: Path
    given: RunFile
    work: Work
    jobs: int
    against: str | None = None
    data: Path | None = None

    @classmethod
    def open(
        cls,
        file: str | Path,
        folder: str | Path | None = None,
        data: str | Path | None = None,
        jobs: int = 1,
        against: str | None = None,
    ) -> Self:
        """Read a run file, and check everything that can be checked before any work. Raises BadInput and ValueError,
        also for a folder that is, contains or is inside an input.

        folder: of all output, by default the file without its suffix; data: folder of the data files, by default the
        folder of the run file; jobs: number of steps at a time, and of parsing processes; against: the system at the
        top of the table, without systems above it in the file.
        """
        RuntimeConfig(jobs=jobs)
        file = Path(file)
        folder = Path(folder or file.with_suffix(""))
        if folder == file:
            raise WrongUsage(Message("{} has no suffix to remove: name the folder of the run with --out", file))
        with _naming(file):
            place = RunFolder(safe_path(folder))
            run = with_options(read_run(file, Path(data) if data else None))
        if against not in (None, *run.systems):
            raise BadInput(f"has no system {against!r}, only {', '.join(run.systems)}", str(file))
        check_apart([("--out", str(folder))], [str(file), *map(str, run.files())])
        with _naming(file):
            work = KINDS[run.kind](place, run, jobs)
        if run.options.get("parse") and not any(each.verb == PARSING for each in work.steps):
            raise BadInput("parse has no effect: this run parses no text", str(file))
        for own in by_test(work.outputs()) if run.segments else []:
            for each in run.segments.values():
                read_scores(each, own)
        for part, length in product(run.numbered_sets().values(), work.lengths.values()):
            read_set(part, length)
        return cls(file, run, work, jobs, against, Path(data) if data else None)

    def __repr__(self) -> str:
        return f"<Run {shown(str(self.file), 70)}: {counted(len(self.work.steps), 'step')}>"

    def _repr_html_(self) -> str:
        """Return a table of the steps, which notebooks show."""
        known = dict[Path, bool]()
        states = [[step.name, "done" if self.work.folder.is_done(step, known) else "to do"] for step in self.work.steps]
        return html([Table([[f"step of {self.file}", "state"], *states])])

    def files(self) -> list[Path]:
        """Return all input files."""
        return self.given.files()

    def listed(self) -> Iterator[str]:
        """Yield a shell line per step. The line does the step and those that it needs, unless they are done, and ends
        in a comment: the step's state, name and command. Raises BadInput for output of other inputs."""
        known, folder = dict[Path, bool](), self.work.folder
        data = ["--data", str(self.data)] if self.data else []
        jobs = ["--jobs", str(self.jobs)] if self.jobs > 1 else []
        words = join(["synmt", "run", str(self.file), *data, "--out", str(folder.path), *jobs])
        for number, step in enumerate(self.work.steps, 1):
            state = "done" if folder.is_done(step, known) else "to do"
            yield f"{words} --task {number}  # {state}: {step.line()}"

    def do(self, number: int) -> None:
        """Do a step and the steps that it needs, unless they are done. Raises BadInput if no step has this number."""
        steps, folder = self.work.steps, self.work.folder
        if not 1 <= number <= len(steps):
            raise BadInput(f"the run has no step {number}, only {counted(len(steps), 'step')}")
        needed = steps[number - 1].with_needs()
        self._check_devices([step for step in needed if not folder.is_done(step, {})])
        with folder.opened(shared=True):
            do_all(folder, needed, self.jobs)

    def table(self, form: TableForm = "text", page: str | Path | None = None) -> Iterator[str]:
        """Do all steps that remain, and return the lines of the table. Raises BadInput.

        form: of the table; page: a file for the report. Raises WrongUsage for another form, and for a page
        that cannot be written, or that is an input or among the files of the run.
        """
        if form not in FORMS:
            raise WrongUsage(f"form cannot be {form!r}; it is one of {', '.join(FORMS)}")
        if page:
            page = Path(page)
            self._check_page(page)
        found = self.found()
        if page:
            from synmt.runs.report import page as page_of

            write_output(page, page_of(found, self.file).encode())
        for warning in warnings_of(found.results, found.learned) if form != "text" else ():
            note(warning)
        return report(found.results, found.learned, form, found.contrasts)

    def found(self) -> RunFindings:
        """Do all steps that remain, and score the outputs of the systems in the table. Raises BadInput."""
        place, known = self.work.folder, dict[Path, bool]()
        if undone := [step for step in self.work.steps if not place.is_done(step, known)]:
            self._check_devices(undone)
            for line in self.work.described():
                print(f"synmt run: {line}", file=sys.stderr, flush=True)
        with place.opened():
            do_all(place, self.work.steps, self.jobs)
            systems = list(self.given.systems)
            shown = systems[systems.index(self.against) if self.against else 0 :]
            outputs = [each for each in self.work.outputs() if each.system in shown]
            metrics = self.given.of_outputs
            measured, found, chosen = [], list[Result](), self.work.chosen()
            tests = by_test(outputs)
            progress = StepProgress(len(tests), 1)
            for own in tests:
                began = progress.begin(f"scoring {own[0].test}")
                measured.append(Measured.of(own, metrics, self.given.segments, LOSS in self.given.metrics))
                found += results(measured[-1], self.work.sets.get(own[0].test, {}), chosen)
                progress.end(began)
            made = {each: place.record(each.model) for each in outputs}
            translations = outputs if self.given.kind == "systems" else []
            written = {each: place.record(each.path) for each in translations}
            wins = self.work.contrasts() if self.given.contrast else ()
            contrasts = [each for each in wins if each.system in shown]
        return RunFindings(self.given, place, measured, found, made, written, learned_of(made), contrasts)

    def figure(self, kind: "Kind", metric: str | None = None, columns: int = 1) -> Picture:
        """Return a figure of a run whose steps are all done.

        metric: as the table names it, by default the first; columns: of the page that the figure fills, 1 or 2. Raises
        BadInput, also for a run that is not done or has nothing to draw, and WrongUsage for another kind.
        """
        from synmt.runs.figures import KINDS as FIGURES
        from synmt.runs.figures import draw

        if kind not in FIGURES:
            raise WrongUsage(f"kind cannot be {kind!r}; it is one of {', '.join(FIGURES)}")
        if kind == "curves" and metric:
            raise WrongUsage(Message("--metric has no effect on --figure curves"))
        known = dict[Path, bool]()
        steps = self.work.steps
        if undone := [step for step in steps if not self.work.folder.is_done(step, known)]:
            cause = f"{counted(len(undone), 'step')} of {len(steps)} to do: run `synmt run` first"
            raise BadInput(cause, str(self.file))
        with _naming(self.file):
            return draw(self.found(), kind, metric, columns)

    def _check_devices(self, steps: Sequence[Step]) -> None:
        """Raise BadInput for a step that asks for a device that this machine lacks."""
        devices = {str(step.inputs().get("device", "auto")): step.name for step in reversed(steps)}
        for device, name in devices.items():
            if device not in ("auto", "cpu"):
                from synmt.device import local_device  # imports torch

                try:
                    local_device(device)
                except (BadInput, WrongUsage) as error:
                    raise BadInput(Message("{}: {}", name, error), str(self.file)) from None

    def _check_page(self, page: Path) -> None:
        check_apart([("--report", str(page))], [str(self.file), *map(str, self.files())])
        folder = self.work.folder.path
        if page.resolve().is_relative_to(folder.resolve()):
            raise WrongUsage(Message("--report {} is inside {}, the folder of the run", page, folder))
        check_writable("--report", str(page), folder=False)
