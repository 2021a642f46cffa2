"""The work of a run of any kind: its steps and their outputs, and checks of its data."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from synmt.data.records import Form, source_form
from synmt.runs.commands import STDIN, Command, Options, parsed
from synmt.runs.contrast import Contrasted
from synmt.runs.file import ParallelFiles, RunFile
from synmt.runs.steps import PARSING, Cost, RunFolder, Step, paths_in
from synmt.runs.table import Chosen, SystemOutput
from synmt.streams import BadInput, Message, OnError, counted, read_lines, read_parallel
from synmt.streams.inputs import without_compression
from synmt.text.links import write_links


class Work:
    """The work of a run in its folder. A subclass checks everything that can be checked, and then adds the steps, each
    after the steps that it needs.

    lengths: number of sentences per test; sets: for each test, the files of its challenge sets.
    """

    lengths: Mapping[str, int]

    def __init__(self, folder: RunFolder, run: RunFile, jobs: int) -> None:
        """jobs: number of parsing processes. Raises BadInput."""
        self.folder, self.run, self.jobs = folder, run, jobs
        self.steps: list[Step] = []
        self._makers: dict[Path, Step] = {}  # by path, the step that makes it
        self.sets: dict[str, dict[str, Path]] = {}

    def outputs(self) -> list[SystemOutput]:
        """Return the outputs to score."""
        raise NotImplementedError

    def contrasts(self) -> Iterator[Contrasted]:
        """Yield the wins of the systems on the run's contrastive pairs."""
        yield from ()

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
        command: Callable[[], Command] | None = None,
        others: tuple[Path, ...] = (),
        anew: bool = False,
    ) -> Path:
        """Add a step, and return its path. It depends on the steps that make its inputs or `needs`, as far as the run
        makes them; the rest is as in Step."""
        given = {} if callable(inputs) else inputs
        paths = [*(each for value in given.values() for each in paths_in(value)), *needs]
        needed = tuple(dict.fromkeys(self._makers[each] for each in paths if each in self._makers))
        of_step = inputs if callable(inputs) else lambda: given
        self.steps.append(Step(*name, path, needed, of_step, work, command, others, anew))
        self._makers |= dict.fromkeys((path, *others), self.steps[-1])
        return path

    def add_command(
        self,
        name: tuple[str, str],
        path: Path,
        command: Command,
        lines: Callable[[Path], Iterable[str]] | None = None,
        anew: bool = False,
    ) -> Path:
        """Add a step that writes the output of a command to a file; lines: as in `RunFolder.write`."""
        work = partial(self.folder.write, path, command, lines)
        return self.add(name, path, command.inputs, work, command=lambda: command, anew=anew)

    def add_lines(
        self,
        name: tuple[str, str],
        path: Path,
        lines: Callable[..., Iterable[str]],
        inputs: Options,
        anew: bool = False,
    ) -> Path:
        """Add a step that writes lines to a file, which a function in this process makes from its inputs."""
        work = partial(self.folder.write, path, lines=lambda _: lines(**inputs))
        return self.add(name, path, inputs, work, anew=anew)

    def add_test(self, title: str, path: Path, file: Path, lengths: Mapping[str, int], test: str) -> None:
        """Add a step that extracts the lines of one test from a file of several.

        lengths: number of lines of each test in the file, in order; together they are its last lines.
        """
        names = list(lengths)
        last = sum(lengths[each] for each in names[names.index(test) :])
        inputs = {"file": file, "lines": lengths[test], "last": last}
        self.add_lines(("cutting", f"{test} with {title}"), path, of_test, inputs, anew=True)

    def add_parse(self, text: Path, path: Path, options: Options, anew: bool = False) -> Path:
        """Add the step that parses a text. Raises BadInput for options that `synmt parse` refuses."""
        try:
            parsed(Command("parse", STDIN, options))
        except ValueError as error:
            raise BadInput(Message("parse: {}", error)) from None
        part = str(path.parent.relative_to(self.folder.path / "data" / "parsed"))
        command = Command("parse", {"text": text}, {**options, "jobs": self.jobs})
        return self.add_command((PARSING, part), path, command, anew=anew)

    def add_cut(self, size: int | None, train: ParallelFiles, on_error: OnError = "fail") -> ParallelFiles:
        """Add the steps that cut the first `size` training pairs, and return their files."""
        if size is None:
            return train

        def cut(side: str, file: Path) -> Path:
            path = self.folder.path / "data" / "cut" / str(size) / side / without_compression(file.name)
            inputs = {"file": file, "lines": size, "on_error": on_error}
            return self.add_lines(("cutting", f"{size} lines of train/{side}"), path, first_lines, inputs)

        return ParallelFiles(cut("source", train.source), cut("target", train.target))


def first_lines(file: Path, lines: int, on_error: OnError) -> Iterator[str]:
    """Yield the first lines of a file. Raises BadInput if it is too short."""
    found = 0
    for found, line in enumerate(read_lines([str(file)], on_error), 1):
        if found <= lines:
            yield line.text
    if found < lines:
        raise BadInput(f"has {counted(found, 'line')}, fewer than a size of the run, {lines}", str(file))


def of_test(file: Path, lines: int, last: int) -> Iterator[str]:
    """Yield some lines of a file, from the `last`-th one from the end; links in Pharaoh format."""
    texts = [line.text for line in read_lines([str(file)])]
    for text in texts[len(texts) - last :][:lines]:
        fields = msgspec.json.decode(text) if text.startswith('{"links":') else None
        yield write_links((i, j) for i, j, _ in fields["links"]) if fields else text


def joined(columns: Sequence[Sequence[Path | None]]) -> Iterator[str]:
    """Yield the lines of columns side by side, separated by tabs. A column is a list of files to concatenate, where
    None stands for as many empty records as the other column has lines."""
    for parts in zip(*columns, strict=True):
        files = [part for part in parts if part]
        for lines in zip(*(read_lines([str(part)]) for part in files), strict=True):
            texts = iter(line.text for line in lines)
            yield "\t".join(next(texts) if part else "{}" for part in parts)


def named(system: str, seed: int, size: int | None, own: Options = {}) -> str:  # noqa: B006 (never changed)
    """Return a system with its seed and size, as messages show it."""
    values = [f"{option} {value}" for option, value in own.items()]
    return ", ".join([system, f"seed {seed}", *values, *([f"{size} pairs"] if size else [])])


def form_of(path: Path) -> Form:
    """Return the form of the lines of a file of sources."""
    return source_form(read_lines([str(path)], "blank"))[0]


def check_sizes(run: RunFile) -> None:
    """Raise BadInput as `count_pairs`, and if the run names a size above the number of training pairs."""
    if run.train:
        pairs, size = count_pairs(run.train), max(each or 0 for each in run.sizes)
        if size > pairs:
            raise BadInput(f"has {counted(pairs, 'line')}, fewer than a size of the run, {size}", str(run.train.source))


def count_pairs(pair: ParallelFiles) -> int:
    """Return the number of lines in both files. Raises BadInput."""
    pairs = sum(1 for _ in read_parallel([str(pair.source), str(pair.target)], "blank"))
    if not pairs:
        raise BadInput("has no lines", str(pair.source))
    return pairs
