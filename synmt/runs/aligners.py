"""Runs that compare aligners. They learn from the training pairs and the pairs of the tests, as in the literature, and
never see the gold links.

Aligners read lowercased words, except those with encoders. Training pairs that share a sentence with a test are left
out.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from shutil import rmtree
from typing import Any

from synmt.alignment import ALIGNERS
from synmt.alignment.choice import scope_of, settings_of_fit, used_by
from synmt.alignment.config import OF_VOTES, AlignConfig, SymmetrizeConfig
from synmt.alignment.linking import KnownLinks
from synmt.data.records import sentences_in
from synmt.model.files import read_config
from synmt.options import config_of, settings_of
from synmt.runs.calls import known_of, pairs_of_words
from synmt.runs.file import LEARNED, LINKS_FROM, OF_ALIGNERS, Options, Pair, RunFile, check_together, keywords, used_of
from synmt.runs.table import Output
from synmt.runs.tasks import Cost, Workplace
from synmt.runs.work import Work, check_sizes, form_of, named
from synmt.streams import BadInput, Message, counted, read_lines, side_by_side
from synmt.text.links import Links, open_links, read_links_between

TREES = "trees.tsv"


@dataclass(frozen=True)
class Row:
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
        names = (self.method, *getattr(ALIGNERS[self.method], "parts", ())) if self.method else ()
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

    def __init__(self, place: Workplace, run: RunFile, jobs: int) -> None:
        super().__init__(place, run, jobs)
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
                    own = {"letters": row.letters} if row.letters else {"cased": True} if row.is_cased else {}
                    self._prepare(self._data(size, name), {**self._bitext(size), **own})
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

    def outputs(self) -> list[Output]:
        return [
            Output(
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
        return self.place.folder / "data" / "bitext" / str(size or "all") / name

    def _links_of(self, size: int | None, name: str, seed: int) -> Path:
        return self.place.folder / "data" / "links" / str(size or "all") / f"{name}.{seed}.jsonl"

    def _test_of(self, size: int | None, name: str, seed: int, test: str) -> Path:
        return self.place.folder / str(size or "all") / f"{name}.{seed}.{test}"

    def _bitext(self, size: int | None) -> Options:
        """Return the options of the call that makes the bitext."""
        tests = [list(dict.fromkeys((pair.source, pair.target))) for pair in self.run.tests.values()]
        train = self.run.train
        data: Options = {"train": [train.source, train.target]} if train else {}
        return {"tests": tests, "languages": list(self.run.languages), **data, **({"lines": size} if size else {})}

    def _prepare(self, path: Path, options: Options) -> None:
        tests = [each for files in options["tests"] for each in files]
        inputs = {**options, "tests": tests, "languages": " ".join(options["languages"])}
        work = partial(self.place.write, path, "bitext", options)
        self.add(("preparing", f"{path.parent.name}/{path.name}"), path, inputs, work)

    def _add_trees(self, size: int | None) -> None:
        """Add the task that parses the bitext."""
        parsed = []
        for side, language in enumerate(self.run.languages):
            words = self._data(size, f"words.{side}")
            self._prepare(words, {**self._bitext(size), "side": side})
            path = self.place.folder / "data" / "parsed" / str(size or "all") / f"{side}" / "words.jsonl"
            options = {**self.run.parse_options("udpipe", language, self.run.languages), "input": "tokens"}
            parsed.append(self.add_parse(words, path, options))
        path = self._data(size, TREES)
        work = partial(self.place.write, path, "joined", {"columns": [[each] for each in parsed]})
        self.add(("preparing", f"{path.parent.name}/{path.name}"), path, {"columns": parsed}, work)

    def _add_aligner(self, size: int | None, name: str, seed: int) -> None:
        """Add the task that fits an aligner and links the bitext."""
        row, path = self.rows[name], self._links_of(size, name, seed)
        found = {
            each: self._links_of(size, each, self._seed(each, seed)) if each in self.rows else Path(each)
            for each in row.others
        }
        inputs = {"pairs": self._data(size, row.pairs), "tokenizer": "none", **row.options}
        if row.links_from:
            inputs = {**inputs, "links": [found[each] for each in row.links_from]}
            self.add_call(("aligning", named(name, seed, size)), path, "symmetrize", inputs)
            return
        languages = dict(zip(("source-language", "target-language"), self.run.languages, strict=True))
        inputs = {**inputs, "method": row.method, **languages, **({"seed": seed} if row.has_seed else {})}
        inputs |= ({"guide": found[row.guide]} if row.guide else {}) | ({} if row.has_weights else {"certain": True})
        models = self._model_of(size, row.models, seed) if row.models in self.rows else found.get(row.models)
        out = self._model_of(size, name, seed)

        work = partial(fit_in, self.place, out, path, inputs, row, {"models": models} if models else {})
        of = {**inputs, **({"models": found[row.models]} if row.models else {})}
        self.add(("aligning", named(name, seed, size)), path, of, work)

    def _model_of(self, size: int | None, name: str, seed: int) -> Path:
        return self.place.folder / str(size or "all") / f"{name}.{self._seed(name, seed)}"


def fit_in(place: Workplace, out: Path, links: Path, inputs: Options, row: Row, models: Options) -> Cost:
    """Fit an aligner in the folder `out`, and write the links of its pairs. An unfinished fit is resumed if possible,
    and otherwise done again. models: the option for models to reuse, which are not among the inputs."""
    place.make(out, lambda: inputs, Cost)  # the aligner itself fills the folder, and can resume from it
    if not row.resumes:
        rmtree(out, ignore_errors=True)  # what an unfinished fit left
    return place.write(links, "align", {**inputs, **models, "out": out})


def rows_of(run: RunFile) -> dict[str, Row]:
    """Return the aligners of a run. Raises BadInput for incompatible options, and for a shared one that no aligner
    uses."""
    rows, used = {}, set[str]()
    shared = run.options.get("align", {})
    if lost := shared.keys() & OF_ALIGNERS:
        raise BadInput(f"align: {min(lost)} is for one aligner, and cannot be shared")
    for name, own in run.systems.items():
        try:
            rows[name] = _row(name, own, shared, run.systems)
        except ValueError as error:
            raise BadInput(Message("aligner {}: {}", name, error)) from None
        used |= rows[name].options.keys()
    for name, row in rows.items():
        if row.models and not _has_models(row.models, rows):
            raise BadInput(f"aligner {name}: models: {row.models} has no translation models")
    if unused := shared.keys() - used:
        raise BadInput(f"align: {min(unused)} has no effect on the aligners of the run")
    _in_order(rows)
    return rows


def _row(name: str, own: Options, shared: Options, names: Iterable[str]) -> Row:
    """Return an aligner with its own options and the shared options that it uses. Raises ValueError."""
    _check_of_aligner(own, names)
    options = {each: value for each, value in own.items() if each not in OF_ALIGNERS}
    if LINKS_FROM in own:
        return _combined(options, shared, tuple(own[LINKS_FROM]))
    letters, method = own.get("letters"), str(own.get("method", name))
    if method not in ALIGNERS:
        raise ValueError(f"no method has this name; give its method, one of {', '.join(ALIGNERS)}")
    learned = {each: own[each] for each in LEARNED if each in own}
    scope = scope_of({**shared, **options, **learned, "method": method})
    scope = replace(scope, defaults={**scope.defaults, "method": method, "format": "jsonl"})
    options, _ = used_of("align", options, shared, scope, learned)
    check_together("align", "align", {**options, **learned}, scope)
    given = keywords("align", options)
    how = config_of(AlignConfig, given)
    needs = how.tree_links or _reads_trees(method, given)
    if needs and letters:
        raise ValueError("letters has no effect on words with trees")
    return Row(
        options, method, (), str(own.get("guide", "")), str(own.get("models", "")), letters, scope.uses("seed"), needs,
        scope.uses("resume"), scope.uses("temperature"),
    )  # fmt: skip


def _combined(own: Options, shared: Options, others: tuple[str, ...]) -> Row:
    """Return a row that combines the links of others, by its own options and the shared options that it uses. Raises
    ValueError."""
    is_vote = config_of(SymmetrizeConfig, keywords("symmetrize", own)).is_vote(len(others))
    known = known_of("symmetrize").keys() - ({*OF_VOTES} if not is_vote else set())
    options = {**{name: value for name, value in shared.items() if name in known}, **own}
    how = config_of(SymmetrizeConfig, keywords("symmetrize", options))
    KnownLinks.of(how, len(others))
    return Row(options, None, others, reads_trees=how.tree_links)


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


def _has_models(name: str, rows: Mapping[str, Row]) -> bool:
    """Return whether an aligner of the run, or of a folder, has models for others to reuse. Raises BadInput."""
    method = rows[name].method if name in rows else read_config(Path(name)).get("aligner")
    return method in ALIGNERS and "models" in used_by(str(method), {})


def _reads_trees(method: str, keywords: Options) -> bool:
    from synmt.alignment.aligner import new_aligner

    settings = settings_of_fit(keywords)
    return any(new_aligner(method, settings).needs(settings))


def _in_order(rows: Mapping[str, Row]) -> list[str]:
    """Return the aligners, each after the aligners that it learns from. Raises BadInput for a cycle."""
    others = {name: [other for other in row.others if other in rows] for name, row in rows.items()}
    try:
        return list(TopologicalSorter(others).static_order())
    except CycleError as error:
        *path, name = error.args[1]
        raise BadInput(f"aligner {name} learns from itself, through {' and '.join(path)}") from None


def _gold(test: Pair) -> Path:
    assert test.links
    return test.links


def check_test(test: Pair) -> int:
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


def gold_of(test: Pair) -> Iterator[tuple[list[list[str]], Links]]:
    """Yield the words of both sides of each pair of a test, and its gold links. Raises BadInput for bad links."""
    lines = open_links(read_lines([str(_gold(test))]))
    files = list(dict.fromkeys(map(str, (test.source, test.target))))  # one file may hold both sides
    streams: list[Iterator[Any]] = [pairs_of_words(files), lines]
    for (source, target), line in side_by_side([files[0], str(test.links)], streams):
        with line.naming():
            links = read_links_between(source, target, line.text, lines.base)
        yield [source, target], links


def sets_of(run: RunFile) -> dict[str, Path]:
    """Return the files of challenge sets. Raises BadInput for a query, which needs translations."""
    for name, each in run.challenge.items():
        if not isinstance(each, Path):
            raise BadInput(f"challenge {name}: a query needs translations; give a file of line numbers instead")
    return run.numbered_sets()
