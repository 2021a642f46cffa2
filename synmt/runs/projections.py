"""Runs that compare ways to project trees: the source is parsed, an aligner links it to the target, and the projected
trees are scored against gold trees. Aligners and grammars learn from the training pairs and the pairs of the tests."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from synmt.alignment import DEFAULT
from synmt.alignment.config import AlignConfig
from synmt.data.records import sentences_in
from synmt.options import option_names
from synmt.runs.aligners import add_fit, check_test, rows_of, sets_of
from synmt.runs.commands import STDIN, Command, Options, check_shared, parsed, with_used
from synmt.runs.file import OF_ALIGNERS, ParallelFiles, RunFile, naming_table
from synmt.runs.steps import RunFolder
from synmt.runs.table import SystemOutput, check_reference
from synmt.runs.work import Work, check_sizes, form_of, joined
from synmt.streams import BadInput, read_lines
from synmt.text.tokenization import MosesTokenizer
from synmt.trees.record import ParseRecord, write_record


class Projections(Work):
    """The work of a run that compares projections."""

    def __init__(self, folder: RunFolder, run: RunFile, jobs: int) -> None:
        super().__init__(folder, run, jobs)
        if run.seeds != (1,):
            raise BadInput("seeds have no effect on projections")
        check_sizes(run)
        options = dict(run.options.get("align", {}))
        method = str(options.pop("method", DEFAULT))
        of_links = {*option_names(AlignConfig)} - {"max-words"}  # which also limits the pairs to learn from
        if lost := options.keys() & {*OF_ALIGNERS, *of_links}:
            raise BadInput(f"align: {min(lost)} has no effect on projections")
        (self._aligner,) = rows_of(replace(run, systems={method: options}, options={})).values()
        if self._aligner.reads_trees:
            raise BadInput("align: the aligner reads trees of both sides, but targets get theirs from the links")
        self._options = options_of(run)
        self.lengths = {name: check_test(test) for name, test in run.tests.items()}
        if not any(map(_has_source, run.tests.values())):
            raise BadInput("no test has a source")
        for pair in run.tests.values():
            check_reference(run.of_outputs, pair.target)
        for path in dict.fromkeys(pair.source for pair in (run.train, *run.tests.values()) if pair):
            if form_of(path) != "text" and not any(each.heads or each.tree for each in sentences_in(path)):
                raise BadInput("no sentence has heads or a tree", str(path))
        self.sets = {test: sets_of(run) for test in run.tests}
        self._tests = {name: self._add_records(f"tests/{name}", pair) for name, pair in run.tests.items()}
        tests = list(self._tests.values())
        train = self._add_records("train", run.train) if run.train else None
        for size in self.run.sizes:
            learned = [self.add_cut(size, train)] if train else []
            self._add_joined(self._pairs(size, every=True), [*learned, *tests])
            self._add_joined(self._pairs(size, every=False), [each for each in tests if _has_source(each)])
            self._add_aligner(size)
            for name in self.run.systems:
                self._add_projection(size, name)
        for size in self.run.sizes:
            for name in self.run.systems:
                lengths = {test: self.lengths[test] for test in self.run.tests if self._is_scored(name, test)}
                for test in lengths:
                    self.add_test(name, self._test_of(size, name, test), self._trees_of(size, name), lengths, test)

    def outputs(self) -> list[SystemOutput]:
        (seed,) = self.run.seeds
        return [
            SystemOutput(
                size,
                test,
                name,
                seed,
                self._test_of(size, name, test),
                self._tests[test].target,
                self._trees_of(size, name),
                pair=self._tests[test],
                aligner=self._aligner_of(size),
            )
            for size in self.run.sizes
            for name in self.run.systems
            for test in self.run.tests
            if self._is_scored(name, test)
        ]

    def _is_scored(self, name: str, test: str) -> bool:
        """Return whether a projection can parse a test. Without a source, only a grammar can."""
        return bool(self._options[name].get("fit")) or _has_source(self.run.tests[test])

    def _data(self, *names: str) -> Path:
        return self.folder.path.joinpath("data", *names)

    def _pairs(self, size: int | None, every: bool) -> Path:
        return self._data("pairs", str(size or "all"), "all.tsv" if every else "tests.tsv")

    def _trees_of(self, size: int | None, name: str) -> Path:
        return self._data("trees", str(size or "all"), f"{name}.{self.run.seeds[0]}.jsonl")

    def _test_of(self, size: int | None, name: str, test: str) -> Path:
        return self.folder.path / str(size or "all") / f"{name}.{self.run.seeds[0]}.{test}"

    def _add_records(self, part: str, pair: ParallelFiles) -> ParallelFiles:
        """Add the steps that make the parse records of both sides; a test without a source uses its target twice."""
        language, other = self.run.languages
        target = self._add_side(f"{part}/target", pair.target, other)
        if not _has_source(pair):
            return ParallelFiles(target, target)
        if form_of(pair.source) != "text":
            return ParallelFiles(self._add_side(f"{part}/source", pair.source, language), target)
        path = self._data("parsed", *part.split("/"), "source", f"{pair.source.name}.jsonl")
        options = self.run.parse_options("udpipe", language)
        return ParallelFiles(self.add_parse(pair.source, path, options), target)

    def _add_side(self, part: str, file: Path, language: str) -> Path:
        """Add the step that turns a file into records, tokenizing raw text."""
        path = self._data("records", *part.split("/"), f"{file.name}.jsonl")
        inputs = {"file": file, **({"tokenize": language} if form_of(file) == "text" else {})}
        return self.add_lines(("reading", part), path, records, inputs)

    def _add_joined(self, path: Path, pairs: Sequence[ParallelFiles]) -> None:
        columns = [[each.source if _has_source(each) else None for each in pairs], [each.target for each in pairs]]
        self.add_lines(("preparing", f"{path.parent.name}/{path.name}"), path, joined, {"columns": columns})

    def _aligner_of(self, size: int | None) -> Path:
        return self._data("aligner", str(size or "all"))

    def _add_aligner(self, size: int | None) -> None:
        out, path = self._aligner_of(size), self._data("links", f"{size or 'all'}.jsonl")
        languages = dict(zip(("source-language", "target-language"), self.run.languages, strict=True))
        options = {"method": self._aligner.method, "format": "jsonl", **languages, **self._aligner.options}
        command = Command("align", {"pairs": self._pairs(size, every=True)}, options)
        add_fit(self, ("aligning", out.name), path, command, out, self._aligner)

    def _add_projection(self, size: int | None, name: str) -> None:
        options, path = self._options[name], self._trees_of(size, name)
        pairs, links = self._pairs(size, every=bool(options.get("fit"))), self._data("links", f"{size or 'all'}.jsonl")
        options = {"target-language": self.run.languages[1], **options}
        inputs = {"pairs": pairs, **options, "links": links}  # the links stand for the aligner
        command = Command("project", {"pairs": pairs}, {**options, "aligner": self._aligner_of(size)})
        work = partial(self.folder.write, path, command)
        self.add(("projecting", name), path, inputs, work, command=lambda: command, anew=True)


def options_of(run: RunFile) -> dict[str, Options]:
    """Return the options of each projection, with the shared ones that it uses. Raises ValueError."""
    shared, found, unused = run.options.get("project", {}), dict[str, Options](), dict[str, dict[str, str]]()
    for name, own in run.systems.items():
        title = f"projection {name}"
        with naming_table(title):
            found[name], _, unused[title] = with_used("project", own, shared, _check)
    check_shared(unused)
    return found


def _check(options: Options) -> None:
    parsed(Command("project", STDIN, options))


def records(file: Path, tokenize: str = "") -> Iterator[str]:
    """Yield each sentence of a file as a record. tokenize: the language of raw text, for the Moses tokenizer."""
    if not tokenize:
        return map(write_record, sentences_in(file))
    moses = MosesTokenizer(tokenize)
    lines = read_lines([str(file)])
    return (write_record(ParseRecord(tokens=moses.tokenize(line.text.strip()))) for line in lines)


def _has_source(pair: ParallelFiles) -> bool:
    return pair.source != pair.target
