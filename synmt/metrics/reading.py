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
from synmt.metrics.parses import read_parse
from synmt.streams import Line, WrongUsage, check_stdin_once, read_lines, readable, side_by_side, sniff
from synmt.text.links import Link, LinkError, Links, check_inside, detect_base, read_links
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
    systems, references = len(files.hypotheses), len(files.references)
    notes = [""] * systems
    lines: Iterable[Sequence[Line]]
    readers: list[Reader]
    if compared == "records":
        lines, readers = read_records(files)
    elif compared == "trees":
        lines, readers = read_trees(files), [read_parse] * (systems + references)
    elif compared == "translations":
        lines, readers = side_by_side(files.paths(), _translations(files, name)), [str] * (systems + references)
        if config.detokenize:
            readers[:systems] = [_detokenizer(config.detokenize)] * systems
            notes = [f"detok:moses-{config.detokenize}"] * systems
    else:
        lines = list(side_by_side(files.paths(), files.lines()))
        readers, notes = _link_readers(compared, lines, systems, config)
    return (_row(line, readers, files, buckets) for line in lines), notes


def _translations(files: Files, name: str) -> list[Iterator[Line]]:
    """Return the lines of each file. Raises BadInput if the first reference has links or trees instead of text."""
    lines, place = files.lines(), len(files.hypotheses)
    first, lines[place] = sniff(lines[place])
    if form := _form(first.strip()):
        found, metric = OTHERS[form]
        line = next(line for line in lines[place] if line.text.strip())
        raise line.error(f"{name} compares translations, not {found}: add --metric {metric}")
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


def read_records(files: Files) -> tuple[Iterator[tuple[Line, ...]], list[Reader]]:
    """Return sentence n of each file of records or CoNLL-U together, and a reader for each file of hypotheses and
    references. Hypotheses may be partial trees. Raises BadInput."""
    lines, systems = files.lines(), len(files.hypotheses)
    parses = [as_parses(each) for each in lines[: systems + len(files.references)]]
    readers: list[Reader] = [reader(kind, partial=number < systems) for number, (kind, _) in enumerate(parses)]
    sentences = [iter(each) for _, each in parses]
    return side_by_side(files.paths(), [*sentences, *lines[len(parses) :]], "sentence"), readers


def _detokenizer(language: str) -> Reader:
    moses = MosesTokenizer(language)
    return lambda text: moses.detokenize(text.split(), unescape=True)


def _link_readers(
    compared: Compared, lines: Sequence[Sequence[Line]], systems: int, config: MetricConfig
) -> tuple[list[Reader], list[str]]:
    read_json = BASED[compared]
    said = [0 if read_json else config.link_base] * systems + [config.reference_base]
    columns = ([row[place].text for row in lines] for place in range(systems + 1))
    bases = [detect_base(column) if base is None else base for column, base in zip(columns, said, strict=True)]
    readers: list[Reader] = [partial(read_links, base=base) for base in bases]
    if read_json:
        readers[:systems] = [read_json] * systems
    return readers, [f"base:{base}|refbase:{bases[-1]}" for base in bases[:-1]]


def _row(lines: Sequence[Line], readers: Sequence[Reader], files: Files, buckets: LengthBuckets | None) -> Row[Any]:
    systems, sides = len(files.hypotheses), lines[len(readers) :]
    items = [_read(line, reader) for line, reader in zip(lines, readers, strict=False)]
    if files.target is not None:
        _check_inside(items, lines, sides)
    counted = sides[0] if files.source is not None else lines[systems]
    bucket = buckets.bucket(len(_read(counted, read_words))) if buckets else 0
    return Row(items[:systems], items[systems:], bucket, lines)


def _check_inside(items: Sequence[Any], lines: Sequence[Line], sides: Sequence[Line]) -> None:
    words = [len(_read(side, read_words)) for side in sides]
    for item, line in zip(items, lines, strict=False):
        try:
            check_inside(_links_of(item), *words)
        except ValueError as error:
            raise line.error(f"{error} (words count from 0)") from None


def _links_of(item: Links | Prediction | Mapping[Link, float]) -> Set[Link]:
    if isinstance(item, Mapping):
        return item.keys()
    return item.links if isinstance(item, Prediction) else item.possible


def _read(line: Line, read: Reader) -> Any:
    with line.naming():
        return read(line.text)
