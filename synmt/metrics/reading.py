"""Input of metrics: parallel files of hypotheses and references, and length buckets."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

from synmt.metrics import METRICS
from synmt.metrics.config import Compared, MetricConfig
from synmt.metrics.links import Prediction, read_prediction, read_scored
from synmt.metrics.metric import Metric, Row
from synmt.metrics.parses import TOKEN_RULES, WRAPPERS, read_parse, wrapper
from synmt.streams import (
    Line,
    Message,
    WrongUsage,
    check_stdin_once,
    counted,
    note,
    read_lines,
    readable,
    side_by_side,
    sniff,
)
from synmt.text.links import (
    Link,
    LinkError,
    LinkLines,
    Links,
    check_inside,
    check_words,
    open_links,
    read_json,
    read_links,
)
from synmt.text.tokenization import MosesTokenizer
from synmt.trees.formats import as_parses, lines_of_trees, reader, tree_form
from synmt.trees.record import read_words

Reader = Callable[[str], Any]
# For each form of a file, the name of its content and the metrics for it.
OTHERS = {
    "links": ("links", "aer"),
    "ptb": ("brackets", "evalb"),
    "conllu": ("CoNLL-U", "las"),
    "records": ("parse records", "las or evalb"),
}
# Kinds of items that are compared with links. Two of them are JSON, whose words count from 0; these have a reader.
BASED: dict[str, Reader | None] = {"links": None, "predictions": read_prediction, "scored links": read_scored}


@dataclass(frozen=True)
class LengthBuckets:
    """Buckets of sentences. limits: the largest length of each bucket but the last, ascending."""

    limits: tuple[int, ...]

    def bucket(self, length: int) -> int:
        """Return the index of the bucket for a length."""
        return bisect_left(self.limits, length)

    def labels(self) -> list[str]:
        """Return the names of the buckets: `0-10`, `11`, `12-20`, `21-` for limits of 10, 11 and 20."""
        bounds = zip((0, *(limit + 1 for limit in self.limits)), (*self.limits, ""), strict=True)
        return [str(start) if start == end else f"{start}-{end}" for start, end in bounds]


@dataclass(frozen=True)
class Files:
    """One file per system and per reference, and the two sides of the bitext if needed.

    source: the file whose lengths determine the buckets; by default, the first reference.
    target: used with the source to check that links stay inside their sentences.
    given: lines in memory, by the names that stand for them among the files.
    """

    hypotheses: Sequence[str]
    references: Sequence[str]
    source: str | None = None
    target: str | None = None
    given: Mapping[str, Iterator[Line]] = field(default_factory=dict)

    def lines(self) -> list[Iterator[Line]]:
        """Return the lines of each file, in the order of `paths`. Raises WrongUsage for standard input twice."""
        check_stdin_once(self.paths())
        return [self.given[path] if path in self.given else read_lines([path]) for path in self.paths()]

    def paths(self) -> list[str]:
        sides = [side for side in (self.source, self.target) if side is not None]
        return [*self.hypotheses, *self.references, *sides]


@dataclass(frozen=True)
class Input:
    """Systems to score.

    rows: a stream, which can be read once.
    notes: for each system, a note for its signatures on how its file was read.
    """

    systems: Sequence[str]
    metrics: Sequence[Metric[Any]]
    rows: Iterator[Row[Any]]
    notes: Sequence[str]


def open_input(names: Sequence[str], files: Files, config: MetricConfig, buckets: LengthBuckets | None = None) -> Input:
    """Return the metrics of these names in METRICS, and their input, one row per line of the files.

    Links are loaded completely, to determine the number of the first word; everything else is streamed.
    Raises ValueError for inputs that do not fit together and, while rows are read, BadInput.
    """
    metrics: list[Metric[Any]] = [METRICS[name](config) for name in names]
    compared, *others = dict.fromkeys(metric.compares for metric in metrics)
    if others:
        raise WrongUsage(f"{' and '.join(names)} cannot be combined, because they compare different things")
    if compared not in get_args(Compared):
        raise ValueError(f"{names[0]} compares {compared}, which must be one of {', '.join(get_args(Compared))}")
    rows, notes = open_rows(names[0], compared, files, config, buckets)
    return Input([*map(readable, files.hypotheses)], metrics, rows, notes)


def open_rows(
    name: str, compared: Compared, files: Files, config: MetricConfig, buckets: LengthBuckets | None = None
) -> tuple[Iterator[Row[Any]], list[str]]:
    """Return a row for each line of the files, and a note for each system. name: the metric or report, for messages.

    Raises as `open_input`.
    """
    if compared != "translations" and len(files.references) > 1:
        raise WrongUsage(f"{name} takes one reference")
    if compared != "translations" and buckets and files.source is None:
        raise WrongUsage(f"lengths for {name} need a source")
    if files.target is not None and (files.source is None or compared not in BASED):
        raise WrongUsage("a target needs links and a source")
    if compared == "records":
        return _rows_of_parses(files, buckets)
    systems, references = len(files.hypotheses), len(files.references)
    notes = [""] * systems
    lines: Iterable[Sequence[Line]]
    readers: list[Reader]
    if compared == "trees":
        lines, readers = read_trees(files), [read_parse] * (systems + references)
    elif compared == "translations":
        lines, readers = side_by_side(files.paths(), _translations(files, name)), [str] * (systems + references)
        if config.detokenize:
            readers[:systems] = [_detokenizer(config.detokenize)] * systems
            notes = [f"detok:moses-{config.detokenize}"] * systems
    else:
        opened, sides = _open_links(compared, files, config)
        lines = list(side_by_side(files.paths(), [*opened, *sides]))
        readers = [BASED[compared] or partial(read_links, base=each.base) for each in opened[:-1]]
        readers.append(partial(read_links, base=opened[-1].base))
        notes = [f"base:{each.base}|refbase:{opened[-1].base}" for each in opened[:-1]]
    rows = (_row(line, readers, files, buckets) for line in lines)
    return _comparing_tops(rows, files) if compared == "trees" else rows, notes


def _comparing_tops(rows: Iterable[Row[Any]], files: Files) -> Iterator[Row[Any]]:
    """Yield rows of trees, then note for each system how often only one side has a label such as ROOT on top."""
    differing = [0] * len(files.hypotheses)
    for row in rows:
        gold = row.references[0]
        for place, tree in enumerate(row.hypotheses):
            differing[place] += gold is not None and tree is not None and wrapper(gold) != wrapper(tree)
        yield row
    for name, count in zip(files.hypotheses, differing, strict=True):
        if count:
            labels = ", ".join(WRAPPERS)
            note(
                f"{readable(name)}: {counted(count, 'tree')} and the reference differ in a top bracket, which counts"
                f" ({labels})"
            )


def _translations(files: Files, name: str) -> list[Iterator[Line]]:
    """Return the lines of each file. Raises BadInput if the first reference has links or trees instead of text."""
    lines, place = files.lines(), len(files.hypotheses)
    first, lines[place] = sniff(lines[place])
    if form := _form(first.strip()):
        found, metric = OTHERS[form]
        line = next(line for line in lines[place] if line.text.strip())
        raise line.error(Message("{} compares translations, not {}: add --metric {}", name, found, metric))
    return lines


def _form(text: str) -> str | None:
    """Return the form in OTHERS of a file whose first text this is, None for translations. A single `1-0` is text."""
    with suppress(LinkError):
        if len(read_links(text).possible) > (not text.startswith("{")):
            return "links"
    return tree_form(text)


def read_trees(files: Files) -> Iterator[tuple[Line, ...]]:
    """Yield tree n of each file of hypotheses and references, and line n of a source. Raises BadInput."""
    lines, trees = files.lines(), len(files.hypotheses) + len(files.references)
    return side_by_side(files.paths(), [*map(lines_of_trees, lines[:trees]), *lines[trees:]], "tree")


def _rows_of_parses(files: Files, buckets: LengthBuckets | None) -> tuple[Iterator[Row[Any]], list[str]]:
    """Return rows of evaluations if all files are CoNLL-U with whole trees, else of records; and the rules as notes.

    CoNLL-U is loaded completely, to see whether trees are whole. Hypotheses in records may be partial trees.
    """
    lines, systems = files.lines(), len(files.hypotheses)
    count = systems + len(files.references)
    parses, sides = [as_parses(each) for each in lines[:count]], lines[count:]
    if all(kind == "conllu" for kind, _ in parses):
        from synmt.metrics.conll18 import RULES, place_without_head

        parses = [(kind, list(each)) for kind, each in parses]
        partial = next(filter(None, (place_without_head(each) for _, each in parses)), "")
        if not partial:
            return _evaluated([each for _, each in parses], files, sides, buckets), [RULES] * systems
        note(f"{partial}: a word has no head, so {TOKEN_RULES} apply instead of rules:CoNLL18")
    readers: list[Reader] = [reader(kind, partial=number < systems) for number, (kind, _) in enumerate(parses)]
    rows = side_by_side(files.paths(), [*(iter(each) for _, each in parses), *sides], "sentence")
    return (_row(row, readers, files, buckets) for row in rows), [TOKEN_RULES] * systems


def _evaluated(
    parses: Sequence[Iterable[Line]], files: Files, sides: Sequence[Iterator[Line]], buckets: LengthBuckets | None
) -> Iterator[Row[Any]]:
    """Yield a row for each segment of CoNLL-U, or with buckets for each sentence. Raises BadInput."""
    from synmt.metrics.conll18 import Evaluation, segments

    rows = (
        Row(
            [Evaluation(gold, each) for each in found],
            [gold],
            lines=[each.blocks[0] for each in found],
            sentences=max(len(each.blocks) for each in (*found, gold)),
        )
        for *found, gold in segments(parses)
    )
    if not buckets:
        yield from rows
        return
    names = files.paths()
    streams: list[Iterator[Any]] = [one_by_one(rows), sides[0]]
    for row, line in side_by_side([names[0], names[-1]], streams, "sentence"):
        yield row._replace(bucket=buckets.bucket(len(_read(line, read_words))))


def one_by_one(rows: Iterable[Row[Any]]) -> Iterator[Row[Any]]:
    """Yield the rows. Raises BadInput for a row of several sentences, which have no scores of their own."""
    for row in rows:
        if row.sentences > 1:
            raise row.lines[0].error("sentences or tokens end elsewhere than in the reference: no scores by sentence")
        yield row


def _detokenizer(language: str) -> Reader:
    moses = MosesTokenizer(language)
    return lambda text: moses.detokenize(text.split(), unescape=True)


def _open_links(compared: Compared, files: Files, config: MetricConfig) -> tuple[list[LinkLines], list[Iterator[Line]]]:
    """Return the links of each hypothesis and of the reference, and the lines of the sides. Raises BadInput."""
    lines, systems = files.lines(), len(files.hypotheses)
    bases = [0 if BASED[compared] else config.link_base] * systems + [config.reference_base]
    return [open_links(each, base) for each, base in zip(lines, bases, strict=False)], lines[systems + 1 :]


def _row(lines: Sequence[Line], readers: Sequence[Reader], files: Files, buckets: LengthBuckets | None) -> Row[Any]:
    systems, sides = len(files.hypotheses), lines[len(readers) :]
    items = [_read(line, reader) for line, reader in zip(lines, readers, strict=False)]
    if isinstance(items[0], Links | Prediction | Mapping):
        _check_words(items, lines, sides if files.target is not None else ())
    measured = sides[0] if files.source is not None else lines[systems]
    bucket = buckets.bucket(len(_read(measured, read_words))) if buckets else 0
    return Row(items[:systems], items[systems:], bucket, lines)


def _check_words(items: Sequence[Any], lines: Sequence[Line], sides: Sequence[Line]) -> None:
    """Raise BadInput for links outside the sides, if these are given, and for lines in JSON with other words than the
    sides or the first line in JSON."""
    words = [_read(side, read_words) for side in sides]
    for item, line in zip(items, lines, strict=False):
        try:
            fields = read_json(line.text, needed=False)[0] if line.text.startswith("{") else {}
            words = words or [fields[side] for side in ("source", "target") if isinstance(fields.get(side), list)]
            if len(words) == 2:
                check_words(fields, *words)
            if sides:
                check_inside(_links_of(item), *map(len, words))
        except ValueError as error:
            raise line.error(f"{error} (words count from 0)" if fields == {} else error) from None


def _links_of(item: Links | Prediction | Mapping[Link, float]) -> Set[Link]:
    if isinstance(item, Mapping):
        return item.keys()
    return item.links if isinstance(item, Prediction) else item.possible


def _read(line: Line, read: Reader) -> Any:
    with line.naming():
        return read(line.text)
