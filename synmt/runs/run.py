"""A run: from its file to its table, at once or task by task."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from synmt.runs.data import check_data
from synmt.runs.file import RunFile, read_run, safe_path
from synmt.runs.plan import Plan, plan, with_options
from synmt.runs.table import report, results
from synmt.runs.tasks import Tasks, model_of
from synmt.runs.work import Workplace, do, do_all
from synmt.streams import BadInput


@dataclass(frozen=True)
class Run:
    """given: the run as its file has it; tasks: what there is to do, in the folder of the run."""

    given: RunFile
    planned: Plan
    tasks: Tasks
    jobs: int

    @classmethod
    def open(cls, file: Path, folder: Path, data: Path | None = None, jobs: int = 1) -> Self:
        """Read a run file, and check all that can be checked before any work. Raises BadInput.

        folder: where everything is written; data: the folder of the files that the run names, or else that of the run
        file; jobs: how many tasks are done at a time, and processes that parse.
        """
        try:
            run = with_options(read_run(file, data))
        except ValueError as error:
            raise BadInput(str(error), str(file)) from None
        planned = plan(run)
        check_data(run, planned)
        return cls(run, planned, Tasks(Workplace(safe_path(folder)), planned, run, jobs), jobs)

    def files(self) -> list[Path]:
        """Return all files that are read."""
        return self.given.files()

    def listed(self) -> Iterator[str]:
        """Yield a line for each task: its number, how far it is, its name, the numbers of the tasks that it needs."""
        numbers = {task.path: number for number, task in enumerate(self.tasks.all, 1)}
        known: dict[Path, bool] = {}
        for task in self.tasks.all:
            ready = all(self.tasks.place.is_done(each, known) for each in task.needs)
            state = "done" if self.tasks.place.is_done(task, known) else "ready" if ready else "waiting"
            needs = " ".join(str(numbers[each.path]) for each in task.needs)
            yield f"{numbers[task.path]}\t{state}\t{task.name}\t{needs}"

    def do(self, number: int) -> None:
        """Do a task, unless it is done. Raises BadInput where there is none of the number, or it needs others first."""
        tasks, place = self.tasks.all, self.tasks.place
        if number > len(tasks):
            raise BadInput(f"the run has {len(tasks)} tasks, and no task {number}")
        task, known = tasks[number - 1], dict[Path, bool]()
        with place.opened(shared=True):
            for each in task.needs:
                if not place.is_done(each, known):
                    cause = f"task {number}, {task.name}, needs task {tasks.index(each) + 1}, {each.name}"
                    raise BadInput(f"{cause}, which is not done")
            if not place.is_done(task, known):
                do(place, [task])

    def table(self, form: str = "text") -> Iterator[str]:
        """Do all tasks that are not done, and return the lines of the table. Raises BadInput."""
        place = self.tasks.place
        with place.opened():
            do_all(place, self.tasks.all, self.jobs)
            chosen = self.tasks.chosen()
            found = list(results(place, self.planned, self.tasks.run, chosen))
            trained = {each: place.made(model_of(place, each)) for each in self.planned.trainings}
        return report(found, {each: made for each, made in trained.items() if made}, form)
