"""The work of a run of any kind: its tasks and their outputs, and checks of its data."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from synmt.data.records import Form, source_form, target_form
from synmt.runs.file import Options, Pair, RunFile
from synmt.runs.table import Chosen, Output
from synmt.runs.tasks import Cost, Task, Workplace, paths_in
from synmt.streams import BadInput, counted, read_lines, read_parallel
from synmt.streams.inputs import without_compression


class Work:
    """The work of a run in its folder. A subclass checks everything that can be checked, and then adds the tasks, each
    after the tasks that it needs.

    lengths: number of sentences per test; sets: for each test, the files of its challenge sets.
    """

    lengths: Mapping[str, int]

    def __init__(self, place: Workplace, run: RunFile, jobs: int) -> None:
        """jobs: number of parsing processes. Raises BadInput."""
        self.place, self.run, self.jobs = place, run, jobs
        self.tasks: list[Task] = []
        self._makers: dict[Path, list[Task]] = {}  # by path, the tasks that make it
        self.sets: dict[str, dict[str, Path]] = {}

    def outputs(self) -> list[Output]:
        """Return the outputs to score."""
        raise NotImplementedError

    def chosen(self) -> Chosen:
        """Return for each size and system the value of the tuned option."""
        return {}

    def described(self) -> Iterator[str]:
        """Yield what each system is whose name does not say it."""
        yield from ()

    def add(
        self,
        name: tuple[str, str],
        path: Path,
        inputs: Options | Callable[[], Options],
        work: Callable[[], Cost],
        needs: Sequence[Path] = (),
        anew: bool = False,
    ) -> Path:
        """Add a task, and return its path. It depends on the tasks that make its inputs or `needs`, as far as the run
        makes them."""
        given = {} if callable(inputs) else inputs
        paths = [*(each for value in given.values() for each in paths_in(value)), *needs]
        needed = tuple(dict.fromkeys(task for each in paths for task in self._makers.get(each, ())))
        self.tasks.append(Task(*name, path, needed, inputs if callable(inputs) else lambda: given, work, anew))
        self._makers.setdefault(path, []).append(self.tasks[-1])
        return path

    def add_call(self, name: tuple[str, str], path: Path, call: str, options: Options, anew: bool = False) -> Path:
        """Add a task that writes the lines of a call to a file. Its inputs are the options of the call."""
        return self.add(name, path, options, partial(self.place.write, path, call, options), anew=anew)

    def add_test(self, title: str, path: Path, file: Path, lengths: Mapping[str, int], test: str) -> None:
        """Add a task that extracts the lines of one test from a file of several.

        lengths: number of lines of each test in the file, in order; together they are its last lines.
        """
        names = list(lengths)
        last = sum(lengths[each] for each in names[names.index(test) :])
        options = {"file": file, "lines": lengths[test], "last": last}
        self.add_call(("cutting", f"{test} with {title}"), path, "cut", options, anew=True)

    def add_parse(self, text: Path, path: Path, options: Options, anew: bool = False) -> Path:
        """Add the task that parses a text."""
        inputs = {"text": text, **options}
        part = str(path.parent.relative_to(self.place.folder / "data" / "parsed"))
        work = partial(self.place.write, path, "parse", {**inputs, "jobs": self.jobs})
        return self.add(("parsing", part), path, inputs, work, anew=anew)

    def add_cut(self, size: int | None, train: Pair, options: Options) -> Pair:
        """Add the tasks that cut the first `size` training pairs, and return their files. options: of `calls.cut`."""
        if size is None:
            return train

        def cut(side: str, file: Path) -> Path:
            path = self.place.folder / "data" / "cut" / str(size) / side / without_compression(file.name)
            what = f"{size} lines of train/{side}"
            return self.add_call(("cutting", what), path, "cut", {"lines": size, "file": file, **options})

        return Pair(cut("source", train.source), cut("target", train.target))


def named(system: str, seed: int, size: int | None, own: Options = {}) -> str:  # noqa: B006 (never changed)
    """Return a system with its seed and size, as messages show it."""
    values = [f"{option} {value}" for option, value in own.items()]
    return ", ".join([system, f"seed {seed}", *values, *([f"{size} pairs"] if size else [])])


def form_of(path: Path, side: int = 0) -> Form:
    """Return the form of the lines of a file. side: 0 for a source, 1 for a target."""
    lines = read_lines([str(path)], "blank")
    return (target_form(lines, with_arcs=True) if side else source_form(lines))[0]


def check_sizes(run: RunFile) -> None:
    """Raise BadInput as `count_pairs`, and if the run names a size above the number of training pairs."""
    if run.train:
        pairs, size = count_pairs(run.train), max(each or 0 for each in run.sizes)
        if size > pairs:
            raise BadInput(f"has {counted(pairs, 'line')}, fewer than a size of the run, {size}", str(run.train.source))


def count_pairs(pair: Pair) -> int:
    """Return the number of lines in both files. Raises BadInput."""
    pairs = sum(1 for _ in read_parallel([str(pair.source), str(pair.target)], "blank"))
    if not pairs:
        raise BadInput("has no lines", str(pair.source))
    return pairs
