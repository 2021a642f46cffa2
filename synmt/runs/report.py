"""The report of a run: one self-contained page with its tables, curves, scores by length, words, costs and sentences.

The page is `inspection/report.html`; this module gathers its data.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.alignment import ALIGNERS
from synmt.citations import SYNMT, cited, entries
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.data.records import sentences_in
from synmt.data.words import sides_of
from synmt.inspection.curves import Curves, mean_of, panels
from synmt.inspection.page import filled, shown_trees
from synmt.inspection.words import RecallCounts, on_words
from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig
from synmt.metrics.metric import Metric
from synmt.metrics.reading import LengthBuckets
from synmt.model.files import CONFIG_FILE, read_config
from synmt.parsers.config import CITES
from synmt.runs.aligners import gold_of
from synmt.runs.contrast import Contrasted
from synmt.runs.file import RunFile
from synmt.runs.steps import Record
from synmt.runs.systems import trees_of
from synmt.runs.table import (
    Measured,
    RunFindings,
    SystemOutput,
    by_test,
    chosen_on_dev,
    legend,
    span_of,
    title_of,
    warnings_of,
)
from synmt.streams import read_lines
from synmt.text.graphemes import label
from synmt.text.links import read_links
from synmt.text.tokenization import language_of
from synmt.trees.record import ParseRecord, RecordError, read_record

BUCKETS = 5  # length buckets with about the same number of sentences each
MOST_OUTPUTS = 60_000  # per page, about 10 MB; if there are more, we show the sentences on which systems differ most
MOST_POINTS = 200  # per curve
MOST_TRAINING = 100_000  # training sentences in which words are counted
MOST_VALUES = 7  # parts of speech or relations, the most frequent ones
LONGEST_LINE, LONGEST_WORD = 3000, 100  # characters
DIGITS = 2  # decimals of scores
CLOSEST = ("chrf", "las", "aer")  # metrics that judge a single sentence best
Numbers = npt.NDArray[np.float64]


def page(found: RunFindings, file: Path) -> str:
    """Return the report of a run. file: the run file. Raises BadInput."""
    first = found.results[0]
    systems = list(dict.fromkeys(each.system for each in found.results))
    sentences = sum(len(each.outputs) * each.sentences for each in found.measured)
    share = min(1.0, MOST_OUTPUTS / max(1, sentences))
    data = {
        "version": __version__,
        "kind": found.run.kind,
        "systems": [label(each, LONGEST_WORD) for each in systems],
        "seeds": len(first.scores),
        "seed": list(dict.fromkeys(each.seed for each in found.made)),
        "sizes": [size or "all" for size in found.run.sizes],
        "tables": list(_tables(found, systems)),
        "curves": list(_curves(found, systems)),
        "lengths": [by_length(each, found.run, systems) for each in found.measured],
        "words": [
            each for own in found.measured if found.run.kind == "systems" for each in words_in(own, found, systems)
        ],
        "pairs": list(pairs_in(found.contrasts, systems)),
        "costs": list(_costs(found, systems)),
        "tests": [_sentences(each, found, max(1, int(share * each.sentences)), systems) for each in found.measured],
        "notes": [*chosen_on_dev(first), *legend(found.results), *warnings_of(found.results, found.learned)],
        "signatures": list(dict.fromkeys(f"{each.metric}|{each.signature}" for each in found.results)),
        "citations": "\n".join(entries(_cites(found))),
        "file": [label(line.text, LONGEST_LINE) for line in read_lines([str(file)])],
    }
    return filled("report.html", label(file.name, LONGEST_WORD), data)


def _cites(found: RunFindings) -> Iterator[str]:
    """Yield the papers of synmt, and of the components, aligners, parsers and metrics of the run."""
    yield SYNMT
    for model in dict.fromkeys(output.learned for output in found.made):
        if (model / CONFIG_FILE).exists():
            fields = read_config(model)
            if "aligner" in fields:
                yield from cited(ALIGNERS, [fields["aligner"]])
            else:
                yield from cited(ENCODER_COMPONENTS, fields["model"]["source"])
                yield from cited(DECODER_COMPONENTS, fields["model"]["target"]["components"])
    for path in sorted((found.folder.path / "data" / "parsed").rglob("*.jsonl")):
        if parsed := found.folder.record(path):
            yield from (key for name in parsed.inputs["parser"].split("+") for key in CITES[name])
    yield from cited(METRICS, (name for name in found.run.metrics if name in METRICS))


def _shown_metric(name: str, higher: bool, digits: int) -> dict[str, Any]:
    """Return a metric as the page shows it. higher: whether higher is better; digits: decimals of its scores."""
    return {"name": name, "higher": higher, "digits": digits}


def _rounded(value: float | None, digits: int = DIGITS) -> float | None:
    return None if value is None or not np.isfinite(value) else round(float(value), digits)


def _tables(found: RunFindings, systems: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a table for each size, test and challenge set. A cell holds the numbers for one system and metric."""
    for own in by_test(found.results):
        metrics = {each.metric: each for each in own}
        rows = dict[str, dict[str, Any]]()
        for each in own:
            row = rows.setdefault(each.system, {"system": systems.index(each.system), "cells": []})
            row["updates"] = span_of(found.learned[each.size, each.system].updates)
            row["chosen"] = [f"{option} {value}" for option, value in each.chosen.items()]
            row["cells"].append(
                {
                    "scores": [_rounded(score, each.decimals) for score in each.scores],
                    "mean": _rounded(each.mean, each.decimals),
                    "deviation": _rounded(each.deviation, each.decimals),
                    "difference": _rounded(each.difference, each.decimals),
                    "p": each.p,
                    "holm": each.holm,
                    "verdict": each.verdict,
                }
            )
        yield {
            "title": label(title_of(own[0]), LONGEST_LINE),
            "size": own[0].size,
            "test": label(own[0].test.removesuffix(f", {own[0].part}") if own[0].part else own[0].test, LONGEST_WORD),
            "part": label(own[0].part, LONGEST_WORD),
            "metrics": [_shown_metric(name, each.higher_is_better, each.decimals) for name, each in metrics.items()],
            "rows": list(rows.values()),
        }


def _curves(found: RunFindings, systems: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a panel for each size and column of the logs, with each system's curves: one per seed, and their mean."""
    for size in found.run.sizes:
        models = dict.fromkeys((output.system, output.learned) for output in found.made if output.size == size)
        of_system: dict[str, list[Curves]] = {}
        for system, model in models:
            if model in found.curves:
                of_system.setdefault(system, []).append(found.curves[model])
        for column, (title, unit) in panels([each for runs in of_system.values() for each in runs]).items():
            lines = [
                {
                    "system": systems.index(system),
                    "seeds": [_points(run, column) for run in runs] if len(runs) > 1 else [],
                    "mean": _points(mean_of(runs), column),
                }
                for system, runs in of_system.items()
                if any(column in run.points for run in runs)
            ]
            yield {"size": size, "title": title, "unit": unit, "lines": lines}


def _points(run: Curves, column: str) -> list[tuple[int, float | None]]:
    """Return at most MOST_POINTS points of a curve, including the last one."""
    updates, values = run.points.get(column, ([], []))
    points = [(update, _rounded(value, 4)) for update, value in zip(updates, values, strict=True)]
    step = -(-len(points) // MOST_POINTS) or 1
    return points[::-1][::step][::-1]


def _costs(found: RunFindings, systems: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the costs for each size and system: of training, minutes and updates of each model, and peak megabytes; of
    translating, seconds per 1,000 sentences of each test and model, and peak megabytes."""
    sentences = {(each.outputs[0].size, each.outputs[0].test): each.sentences for each in found.measured}
    for size in found.run.sizes:
        for number, system in enumerate(systems):
            own = {output.learned: made for output, made in _of(found.made, size, system)}
            written = dict(_of(found.written, size, system))
            yield {
                "size": size,
                "system": number,
                "minutes": [_rounded(made.cpu_seconds / 60) for made in own.values()],
                "updates": list(found.learned[size, system].updates) if own else [],
                "megabytes": _peak(own.values()),
                "seconds": [
                    _rounded(1000 * made.cpu_seconds / sentences[size, output.test]) for output, made in written.items()
                ],
                "peak": _peak(written.values()),
            }


def _of(
    made: Mapping[SystemOutput, Record | None], size: int | None, system: str
) -> Iterator[tuple[SystemOutput, Record]]:
    """Yield the known costs of one system with one size of the data."""
    return ((output, each) for output, each in made.items() if each and (output.size, output.system) == (size, system))


def _peak(made: Iterable[Record]) -> int | None:
    """Return the most megabytes that anything took."""
    return max((each.megabytes or 0 for each in made), default=0) or None


def by_length(measured: Measured, run: RunFile, systems: Sequence[str]) -> dict[str, Any]:
    """Return scores by number of source words: [metrics][systems][buckets] of mean and standard deviation."""
    lengths = [len(each.tokens) for each in _sources(measured.outputs[0], run)]
    quantiles = np.quantile(lengths, np.arange(1, BUCKETS) / BUCKETS, method="inverted_cdf").astype(int).tolist()
    buckets = LengthBuckets(tuple(dict.fromkeys(each for each in quantiles if each < max(lengths))))
    places = np.array([buckets.bucket(length) for length in lengths])
    count = len(buckets.labels())

    shown = list(_metrics(measured))

    def scores(metric: Metric[Any], number: int, seeds: Sequence[Any]) -> Iterator[tuple[float | None, float | None]]:
        digits = shown[number]["digits"]
        for bucket in range(count):
            yield _spread([metric.score(seed[number][places == bucket].sum(axis=0)).score for seed in seeds], digits)

    return {
        "size": measured.outputs[0].size,
        "test": label(measured.outputs[0].test, LONGEST_WORD),
        "buckets": [
            f"{each.removesuffix('-')}+" if each.endswith("-") else each.replace("-", "–") for each in buckets.labels()
        ],
        "sentences": np.bincount(places, minlength=count).tolist(),
        "scores": [
            [list(scores(metric, number, seeds)) for seeds in measured.statistics.values()]
            for number, metric in enumerate(measured.metrics)
        ],
        "metrics": shown,
        "systems": list(map(systems.index, measured.statistics)),  # that have output for the test
    }


def words_in(measured: Measured, found: RunFindings, systems: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield how many of the reference words the translations contain, in percent, for each attribute of words that is
    known: [systems][values] of mean and standard deviation over seeds."""
    first = measured.outputs[0]
    language = language_of(str(first.reference)) or "en"
    side = sides_of((language, language), "words")[0]
    frequencies = None
    if found.run.train:
        train = islice(sentences_in(found.run.train.target, "blank"), first.size or MOST_TRAINING)
        frequencies = Counter(word for each in islice(train, MOST_TRAINING) for word in side.of_text(_text(each)))
    own = [each for system in measured.statistics for each in measured.outputs if each.system == system]
    counts = RecallCounts(len(own), frequencies)
    texts = zip(*(read_lines([str(each.path)]) for each in own), strict=True)
    for reference, lines in zip(sentences_in(first.reference, "blank"), texts, strict=True):
        counts.add(on_words(reference, side), [side.of_text(line.text) for line in lines])
    places = [[place for place, each in enumerate(own) if each.system == system] for system in measured.statistics]
    for attribute in [name for name in counts.groups if name != "all"]:
        groups = [(value, group) for name, value, group in counts.rows() if name == attribute][:MOST_VALUES]
        shares = [
            [[100 * group.right[place] / group.words for place in seeds] for _, group in groups] for seeds in places
        ]
        yield {
            "size": first.size,
            "test": label(first.test, LONGEST_WORD),
            "attribute": attribute,
            "values": [label(value.replace("-", "–").replace("1000–", "1000+"), LONGEST_WORD) for value, _ in groups],
            "items": [group.words for _, group in groups],
            "scores": [[_spread(seeds) for seeds in of_system] for of_system in shares],
            "systems": list(map(systems.index, measured.statistics)),
        }


def pairs_in(contrasts: Sequence[Contrasted], systems: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the contrastive pairs that systems win, in percent, all and by category, and by distance:
    [systems][values] of the mean over seeds and its interval."""
    for size, pairs in dict.fromkeys((each.size, each.pairs) for each in contrasts):
        for attribute, groups in (("category", ("all", "category")), ("distance", ("distance",))):
            own = {
                (each.system, each.group, each.name): each
                for group in groups
                for each in contrasts
                if (each.size, each.pairs, each.group) == (size, pairs, group)
            }
            values = dict.fromkeys((group, name) for _, group, name in own)
            shown = list(dict.fromkeys(system for system, _, _ in own))
            if not values:
                continue
            found = [[own.get((system, *value)) for value in values] for system in shown]
            yield {
                "size": size,
                "test": label(pairs, LONGEST_WORD),
                "attribute": attribute,
                "values": [label(name or "all", LONGEST_WORD) for _, name in values],
                "items": [
                    max(each.items for each in own.values() if (each.group, each.name) == value) for value in values
                ],
                "scores": [[_interval(each) for each in of_system] for of_system in found],
                "systems": list(map(systems.index, shown)),
            }


def _interval(wins: Contrasted | None) -> tuple[float | None, list[float] | None]:
    """Return the percentage of wins, and its interval."""
    if wins is None:
        return None, None
    mean, low, high = (round(each, DIGITS) for each in wins.percentages)
    return mean, [low, high]


def _spread(of_seeds: Sequence[float], digits: int = DIGITS) -> tuple[float | None, float | None]:
    """Return the mean and the standard deviation over seeds, which a single seed does not have."""
    deviation = float(np.std(of_seeds, ddof=1)) if len(of_seeds) > 1 else None
    return _rounded(float(np.mean(of_seeds)), digits), _rounded(deviation, digits)


def _text(record: ParseRecord) -> str:
    return record.text or " ".join(record.tokens)


def _metrics(measured: Measured) -> Iterator[dict[str, Any]]:
    """Yield each metric as the page shows it."""
    first = next(iter(measured.statistics.values()))[0]
    for metric, statistics in zip(measured.metrics, first, strict=True):
        score = metric.score(statistics.sum(axis=0))
        yield _shown_metric(score.name, metric.higher_is_better, score.decimals)


def _sentences(measured: Measured, found: RunFindings, most: int, systems: Sequence[str]) -> dict[str, Any]:
    """Return at most `most` sentences of a test with all outputs and their scores: those on which the systems' mean
    scores over seeds differ most."""
    first, run = measured.outputs[0], found.run
    names = run.of_outputs
    scores = _of_sentences(measured, names)
    judge = next((names.index(name) for name in CLOSEST if name in names), 0)
    spread = np.ptp(np.nan_to_num(scores[judge]).mean(axis=1), axis=0)
    chosen = sorted(np.argsort(-spread, kind="stable")[:most].tolist())
    texts = [
        [_outputs(each, found) for each in measured.outputs if each.system == system] for system in measured.statistics
    ]
    sources, references = _sides(first, run)
    shown = list(_metrics(measured))
    return {
        "size": first.size,
        "test": label(first.test, LONGEST_WORD),
        "total": measured.sentences,
        "judge": judge,
        "metrics": shown,
        "items": [
            {
                "line": number + 1,
                "source": sources[number],
                "reference": references[number],
                "outputs": [[seed[number] for seed in seeds] for seeds in texts],
                "scores": [[[_rounded(each, metric["digits"]) for each in seeds] for seeds in of_metric]
                           for metric, of_metric in zip(shown, scores[:, :, :, number].tolist(), strict=True)],
            }
            for number in chosen
        ],
        "systems": list(map(systems.index, measured.statistics)),  # that have output for the test
    }  # fmt: skip


def _of_sentences(measured: Measured, names: Sequence[str]) -> Numbers:
    """Return the score of each sentence, [metrics, systems, seeds, n]. Corpus metrics score a sentence as in
    `synmt score --by-sentence`."""
    config = MetricConfig(effective_order=True, link_base=0)
    metrics = [*(METRICS[name](config) for name in names), *measured.metrics[len(names) :]]
    return np.array(
        [
            [[metric.scores(seed[number]) for seed in seeds] for seeds in measured.statistics.values()]
            for number, metric in enumerate(metrics)
        ]
    )


def _sources(output: SystemOutput, run: RunFile) -> Iterator[ParseRecord]:
    """Yield the source sentences of a test, or for projections the sentences whose trees are scored."""
    assert output.pair
    if run.kind == "aligners":
        yield from (ParseRecord(tokens=words) for (words, _), _ in gold_of(output.pair))
    else:
        yield from sentences_in(output.pair.source, "blank")


def _sides(output: SystemOutput, run: RunFile) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the sources and references of a test as the page shows them. Sources are empty if the test has none."""
    assert output.pair
    sources = list(map(_shown, _sources(output, run)))
    if run.kind != "aligners":
        references = [_shown(each) for each in sentences_in(output.reference, "blank")]
        return ([{"text": ""}] * len(references) if output.pair.source == output.pair.target else sources), references
    gold = [
        ([[label(word, LONGEST_WORD) for word in side] for side in pair], each) for pair, each in gold_of(output.pair)
    ]
    return (
        [{**shown, "words": source} for shown, ((source, _), _) in zip(sources, gold, strict=True)],
        [
            {"words": target, "links": sorted(each.sure), "possible": sorted(each.possible - each.sure)}
            for (_, target), each in gold
        ],
    )


def _outputs(output: SystemOutput, found: RunFindings) -> list[Any]:
    """Return the lines of an output as the page shows them: translations, with trees if they have any; links; or
    trees."""
    if found.run.kind == "aligners":
        return [{"links": sorted(read_links(line.text, 0).possible)} for line in read_lines([str(output.path)])]
    if found.run.kind == "projections":
        return [_shown(each) for each in sentences_in(output.path, "blank")]
    texts = [line.text for line in read_lines([str(output.path)])]
    trees = trees_of(found.folder, output.path)
    records = [_tree_of(line.text) for line in read_lines([str(trees)])] if trees.exists() else []
    if len(records) != len(texts):
        records = [ParseRecord()] * len(texts)
    pairs = zip(texts, records, strict=True)
    return [_shown(record if record.text == text else ParseRecord(text)) for text, record in pairs]


def _tree_of(line: str) -> ParseRecord:
    """Return the record of a translation, or the empty record if its words do not spell its text."""
    try:
        return read_record(line, partial=True)
    except RecordError:
        return ParseRecord()


def _shown(record: ParseRecord) -> dict[str, Any]:
    """Return the text of a record and the trees that it has."""
    return {"text": label(_text(record), LONGEST_LINE), **shown_trees(record)}
