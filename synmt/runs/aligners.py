"""Runs that compare aligners. They learn from the training pairs and the pairs of the tests, as in the literature, and
never see the gold links.

Aligners read lowercased words, except those with encoders. Training pairs that share a sentence with a test are left
out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import chain, islice
from pathlib import Path
from shutil import rmtree
from typing import Any

import msgspec

from synmt.alignment import ALIGNERS
from synmt.alignment.choice import settings_of_fit, used_by
from synmt.alignment.config import SymmetrizeConfig
from synmt.alignment.linking import KnownLinks
from synmt.data.records import columns_of_pairs, sentences_in
from synmt.model.files import read_config
from synmt.options import config_of, settings_of
from synmt.runs.commands import STDIN, Command, Options, check_shared, parsed, with_used
from synmt.runs.file import LEARNED, LINKS_FROM, OF_ALIGNERS, ParallelFiles, RunFile, naming_table
from synmt.runs.steps import Cost, RunFolder
from synmt.runs.table import SystemOutput
from synmt.runs.work import Work, check_sizes, form_of, joined, named
from synmt.streams import BadInput, BadLines, counted, read_lines, side_by_side
from synmt.text.links import Links, open_links, read_links_between
from synmt.text.tokenization import MosesTokenizer

TREES = "trees.tsv"


@dataclass(frozen=True)
class RunAligner:
    """One aligner of a run.

    options: of `synmt align` or, if it combines the links of others in `links_from` and has no method, of
    `synmt symmetrize`. guide, models: other aligners of the run, or files, that it learns from. letters: length to
    which it truncates words. has_seed: whether its result depends on the seed. reads_trees: whether its pairs are parse
    records. resumes: whether a fit can be resumed. has_weights: whether the scores of its links are confidences;
    otherwise a link is a vote.
    """

    options: Options
    method: str | None
    links_from: tuple[str, ...] = ()
    guide: str = ""
    models: str = ""
    letters: int | None = None
    has_seed: bool = False
    reads_trees: bool = False
    resumes: bool = False
    has_weights: bool = True

    @property
    def others(self) -> tuple[str, ...]:
        return (*self.links_from, *filter(None, (self.guide, self.models)))

    @property
    def is_cased(self) -> bool:
        """Return whether its method can have an encoder, which knows words by their capitals."""
        names = (self.method, *ALIGNERS[self.method].parts) if self.method else ()
        return any(each.name == "encoder" for name in names for each in settings_of(ALIGNERS[name]))

    @property
    def pairs(self) -> str:
        """Return the name of the file of its pairs."""
        if self.reads_trees:
            return TREES
        if self.letters:
            return f"words-{self.letters}.tsv"
        return "cased.tsv" if self.is_cased else "words.tsv"


class Aligners(Work):
    """The work of a run that compares aligners."""

    def __init__(self, folder: RunFolder, run: RunFile, jobs: int) -> None:
        super().__init__(folder, run, jobs)
        for path in (run.train.source, run.train.target) if run.train else ():
            if (form := form_of(path)) != "text":
                raise BadInput(f"has {form}, but aligners learn from raw text", str(path))
        check_sizes(run)
        self.lengths = {name: check_test(test) for name, test in run.tests.items()}
        self.rows = rows_of(run)
        self.sets = {test: sets_of(run) for test in run.tests}
        for size in self.run.sizes:
            for name, row in sorted({row.pairs: row for row in self.rows.values()}.items()):
                if row.reads_trees:
                    self._add_trees(size)
                else:
                    self._prepare(size, name, letters=row.letters, cased=row.is_cased and not row.letters)
            for seed in self.run.seeds:
                for name in _in_order(self.rows):
                    if seed == self._seed(name, seed):
                        self._add_aligner(size, name, seed)
        for size in self.run.sizes:
            for name in self.rows:
                for seed in dict.fromkeys(self._seed(name, each) for each in self.run.seeds):
                    links = self._links_of(size, name, seed)
                    for test in self.run.tests:
                        path = self._test_of(size, name, seed, test)
                        self.add_test(named(name, seed, size), path, links, self.lengths, test)

    def outputs(self) -> list[SystemOutput]:
        return [
            SystemOutput(
                size, test, name, seed, self._test_of(size, name, self._seed(name, seed), test), _gold(pair),
                self._links_of(size, name, self._seed(name, seed)),
                pair=pair,
                aligner=self._model_of(size, name, seed) if self.rows[name].method else None,
            )
            for size in self.run.sizes
            for seed in self.run.seeds
            for name in self.rows
            for test, pair in self.run.tests.items()
        ]  # fmt: skip

    def _seed(self, name: str, seed: int) -> int:
        """Return the seed whose result an aligner uses: the first, unless its result depends on the seed."""
        row = self.rows[name]
        depends = row.has_seed or any(self._seed(each, seed) == seed for each in row.others if each in self.rows)
        return seed if depends else self.run.seeds[0]

    def _data(self, size: int | None, name: str) -> Path:
        return self.folder.path / "data" / "bitext" / str(size or "all") / name

    def _links_of(self, size: int | None, name: str, seed: int) -> Path:
        return self.folder.path / "data" / "links" / str(size or "all") / f"{name}.{seed}.jsonl"

    def _test_of(self, size: int | None, name: str, seed: int, test: str) -> Path:
        return self.folder.path / str(size or "all") / f"{name}.{seed}.{test}"

    def _prepare(self, size: int | None, name: str, **how: Any) -> Path:
        """Add the step that writes the bitext; how: further arguments of `bitext`."""
        path, train = self._data(size, name), self.run.train
        tests = [list(dict.fromkeys((pair.source, pair.target))) for pair in self.run.tests.values()]
        inputs = {
            "tests": tests,
            "languages": self.run.languages,
            "train": train and train.files(),
            "lines": size,
            **how,
        }
        return self.add_lines(("preparing", f"{path.parent.name}/{name}"), path, bitext, inputs)

    def _add_trees(self, size: int | None) -> None:
        """Add the steps that parse the bitext."""
        parsed = []
        for side, language in enumerate(self.run.languages):
            words = self._prepare(size, f"words.{side}", side=side)
            path = self.folder.path / "data" / "parsed" / str(size or "all") / f"{side}" / "words.jsonl"
            options = {**self.run.parse_options("udpipe", language, self.run.languages), "input": "tokens"}
            parsed.append(self.add_parse(words, path, options))
        path = self._data(size, TREES)
        columns = [[each] for each in parsed]
        self.add_lines(("preparing", f"{path.parent.name}/{path.name}"), path, joined, {"columns": columns})

    def _add_aligner(self, size: int | None, name: str, seed: int) -> None:
        """Add the step that fits an aligner, or combines the links of others, and links the bitext."""
        row, path, title = self.rows[name], self._links_of(size, name, seed), ("aligning", named(name, seed, size))
        found = {
            each: self._links_of(size, each, self._seed(each, seed)) if each in self.rows else Path(each)
            for each in row.others
        }
        pairs, options = self._data(size, row.pairs), {"tokenizer": "none", "format": "jsonl", **row.options}
        if row.links_from:
            links = {"links": [found[each] for each in row.links_from]}
            command = Command("symmetrize", links, {**options, "pairs": pairs})
            self.add_command(title, path, command, partial(without_words, certain=False))
            return
        languages = dict(zip(("source-language", "target-language"), self.run.languages, strict=True))
        options = {**options, "method": row.method, **languages, **({"seed": seed} if row.has_seed else {})}
        options |= {"guide": found[row.guide]} if row.guide else {}
        models = self._model_of(size, row.models, seed) if row.models in self.rows else found.get(row.models)
        of = {"models": found[row.models]} if row.models else {}  # the links of an aligner stand for its models
        command = Command("align", {"pairs": pairs}, {**options, **({"models": models} if models else {})})
        add_fit(self, title, path, command, self._model_of(size, name, seed), row, of)

    def _model_of(self, size: int | None, name: str, seed: int) -> Path:
        return self.folder.path / str(size or "all") / f"{name}.{self._seed(name, seed)}"


def add_fit(
    work: Work,
    title: tuple[str, str],
    path: Path,
    command: Command,
    out: Path,
    row: RunAligner,
    of: Options = {},  # noqa: B006
) -> None:
    """Add the step that fits an aligner in the folder `out`, and writes the links of its pairs to a file. An unfinished
    fit is resumed if possible, and otherwise done again.

    command: the fit without its folder; of: inputs that stand for options of the command.
    """
    command, inputs = replace(command, options={**command.options, "out": out}), {**command.inputs, **of}

    def fit() -> Cost:
        from synmt.alignment.aligner import is_begun

        resumed = row.resumes and is_begun(out, ALIGNERS[row.method or ""])
        if not resumed:
            rmtree(out, ignore_errors=True)  # what an unfinished fit left
        options = {**command.options, **({"resume": True} if resumed else {})}
        lines = partial(without_words, certain=not row.has_weights)
        return work.folder.write(path, replace(command, options=options), lines)

    work.add(title, path, inputs, fit, command=lambda: command, others=(out,))


def rows_of(run: RunFile) -> dict[str, RunAligner]:
    """Return the aligners of a run. Raises ValueError for options that the commands refuse, and for a shared one that
    no aligner uses."""
    rows, unused, shared = dict[str, RunAligner](), dict[str, dict[str, str]](), run.options.get("align", {})
    if lost := shared.keys() & OF_ALIGNERS:
        raise ValueError(f"align: {min(lost)} is for one aligner, and cannot be shared")
    for name, own in run.systems.items():
        title = f"aligner {name}"
        with naming_table(title):
            rows[name], unused[title] = _row(name, own, shared, run.systems)
    for name, row in rows.items():
        if row.models and not _has_models(row.models, rows):
            raise ValueError(f"aligner {name}: models: {row.models} has no translation models")
    check_shared(unused)
    _in_order(rows)
    return rows


def _row(name: str, own: Options, shared: Options, names: Iterable[str]) -> tuple[RunAligner, dict[str, str]]:
    """Return an aligner with its own options and the shared options that it uses, and why it does not use the others.
    Raises ValueError."""
    _check_of_aligner(own, names)
    options = {each: value for each, value in own.items() if each not in OF_ALIGNERS}
    if LINKS_FROM in own:
        others = tuple(own[LINKS_FROM])
        used, reads_trees, unused = with_used("symmetrize", options, shared, partial(_combined, others))
        return RunAligner(used, None, others, reads_trees=reads_trees), unused
    letters, method = own.get("letters"), str(own.get("method", name))
    if method not in ALIGNERS:
        raise ValueError(f"no method has this name; give its method, one of {', '.join(ALIGNERS)}")
    learned = {each: each for each in LEARNED if each in own}
    used, reads_trees, unused = with_used("align", options, shared, partial(_fitted, method, learned))
    if reads_trees and letters:
        raise ValueError("letters has no effect on words with trees")
    known = used_by(method, {**used, **learned})
    row = RunAligner(
        used, method, (), str(own.get("guide", "")), str(own.get("models", "")), letters, "seed" in known,
        reads_trees, "resume" in known, "temperature" in known,
    )  # fmt: skip
    return row, unused


def _fitted(method: str, learned: Options, options: Options) -> bool:
    """Return whether `synmt align` reads trees with these options. Raises ValueError."""
    from synmt.alignment.aligner import method_config

    given = parsed(Command("align", STDIN, {**options, **learned, "method": method, "format": "jsonl"}))
    settings = settings_of_fit(given)
    return given["tree_links"] or any(method_config(method, settings).needs(settings))


def _combined(others: Sequence[str], options: Options) -> bool:
    """Return whether `synmt symmetrize` reads trees when it combines links with these options. Raises ValueError."""
    links = {"links": [Path("links")] * len(others)}
    given = parsed(Command("symmetrize", links, {**options, "pairs": "-", "format": "jsonl"}))
    KnownLinks.of(config_of(SymmetrizeConfig, given), len(others))
    return bool(given["tree_links"])


def _check_of_aligner(own: Options, names: Iterable[str]) -> None:
    """Raise ValueError for OF_ALIGNERS that are invalid or have no effect. names: of all aligners of the run."""
    if LINKS_FROM in own:
        others = own[LINKS_FROM]
        if not isinstance(others, list) or not others:
            raise ValueError("links-from must be a list of aligners of the run")
        if lost := own.keys() & {*OF_ALIGNERS} - {LINKS_FROM}:
            raise ValueError(f"{min(lost)} has no effect with links-from")
        if missing := [each for each in others if each not in names]:
            raise ValueError(f"links-from: {missing[0]} is not an aligner of the run")
    letters = own.get("letters")
    if letters is not None and (type(letters) is not int or letters < 1):
        raise ValueError(f"letters cannot be {letters!r}; it must be a whole number from 1")
    for each in LEARNED:
        if each in own and own[each] not in names and (own[each] == "" or not Path(str(own[each])).exists()):
            raise ValueError(f"{each}: {own[each]} is neither an aligner of the run nor a file")


def _has_models(name: str, rows: Mapping[str, RunAligner]) -> bool:
    """Return whether an aligner of the run, or of a folder, has models for others to reuse. Raises BadInput."""
    method = rows[name].method if name in rows else read_config(Path(name)).get("aligner")
    return method in ALIGNERS and "models" in used_by(str(method), {})


def _in_order(rows: Mapping[str, RunAligner]) -> list[str]:
    """Return the aligners, each after the aligners that it learns from. Raises ValueError for a cycle."""
    others = {name: [other for other in row.others if other in rows] for name, row in rows.items()}
    try:
        return list(TopologicalSorter(others).static_order())
    except CycleError as error:
        *path, name = error.args[1]
        raise ValueError(f"aligner {name} learns from itself, through {' and '.join(path)}") from None


def _gold(test: ParallelFiles) -> Path:
    assert test.links
    return test.links


def check_test(test: ParallelFiles) -> int:
    """Return the number of pairs of a test. Raises BadInput for files of different lengths, and as `gold_of`."""
    lengths = {each: sum(1 for _ in sentences_in(each)) for each in dict.fromkeys((test.source, test.target))}
    if test.links:
        links = open_links(read_lines([str(test.links)]))
        lengths[test.links] = max(sum(1 for _ in links), lengths[test.source] if links.rest else 0)
    (first, pairs), *others = lengths.items()
    for path, length in others:
        if length != pairs:
            raise BadInput(f"{counted(pairs, 'line')}, {path}: {counted(length, 'line')}", str(first))
    if not pairs:
        raise BadInput("has no lines", str(first))
    if test.links:
        for _ in gold_of(test):
            pass  # a bad link raises
    return pairs


def gold_of(test: ParallelFiles) -> Iterator[tuple[list[list[str]], Links]]:
    """Yield the words of both sides of each pair of a test, and its gold links. Raises BadInput for bad links."""
    lines = open_links(read_lines([str(_gold(test))]))
    files = list(dict.fromkeys(map(str, (test.source, test.target))))  # one file may hold both sides
    streams: list[Iterator[Any]] = [pairs_of_words(files), lines]
    for (source, target), line in side_by_side([files[0], str(test.links)], streams):
        with line.naming():
            links = read_links_between(source, target, line.text, lines.base)
        yield [source, target], links


def without_words(found: Path, certain: bool) -> Iterator[str]:
    """Yield the links of each pair in JSON with their scores, without its words: other aligners of the run may truncate
    words or have them with capitals. found: JSON lines of `synmt align`; certain: set every score to 1."""
    for line in read_lines([str(found)]):
        links = msgspec.json.decode(line.text).get("links", [])
        yield msgspec.json.encode({"links": [[i, j, 1.0 if certain else score] for i, j, score in links]}).decode()


def bitext(
    tests: Sequence[Sequence[str | Path]],
    languages: Sequence[str],
    train: Sequence[str | Path] | None = None,
    lines: int | None = None,
    letters: int | None = None,
    cased: bool = False,
    side: int | None = None,
) -> Iterator[str]:
    """Yield the bitext for aligners as `source TAB target`, in lower case unless `cased`: the training pairs, without
    pairs that share a sentence with a test, then the pairs of the tests.

    train: files of raw text, tokenized by Moses; lines: number of training pairs to use, None for all; tests: files of
    tokens; letters: length to which words are truncated, None for no limit; side: yield only the words of this side,
    with their original capitals.
    """
    held_out = [pair for files in tests for pair in pairs_of_words(files)]
    seen = {"".join(words).lower() for pair in held_out for words in pair}
    raw = zip(*(read_lines([str(each)]) for each in train), strict=True) if train else iter(())
    tokenizers = list(map(_tokenizer, languages))
    learned = ([of(line.text) for of, line in zip(tokenizers, pair, strict=True)] for pair in islice(raw, lines))
    new = (pair for pair in learned if not any("".join(words).lower() in seen for words in pair))
    for pair in chain(new, held_out):
        if side is not None:
            yield " ".join(pair[side])
        else:
            shown = ((word if cased else word.lower()[:letters] for word in words) for words in pair)
            yield "\t".join(map(" ".join, shown))


def pairs_of_words(files: Sequence[str | Path]) -> Iterator[list[list[str]]]:
    """Yield the words of each pair from a two-column file, or from two files of text, records or CoNLL-U."""
    if len(files) == 1:
        columns = columns_of_pairs(read_lines([str(files[0])]), BadLines())
        yield from ([side.text.split() for side in pair] for pair in columns)
    else:
        yield from ([words.tokens for words in pair] for pair in zip(*map(sentences_in, files), strict=True))


def _tokenizer(language: str) -> Callable[[str], list[str]]:
    """Return a tokenizer of raw text. It keeps capitals unless they change how words are split."""
    moses = MosesTokenizer(language)

    def tokenize(text: str) -> list[str]:
        cased, plain = moses.tokenize(text), moses.tokenize(text.lower())
        return cased if [word.lower() for word in cased] == plain else plain

    return tokenize


def sets_of(run: RunFile) -> dict[str, Path]:
    """Return the files of challenge sets. Raises BadInput for a query, which needs translations."""
    for name, each in run.challenge.items():
        if not isinstance(each, Path):
            raise BadInput(f"challenge {name}: a query needs translations; give a file of line numbers instead")
    return run.numbered_sets()
