"""Scoring and comparison: the functions behind `synmt score`, `significance`, `sign-test` and `segment-test`."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import starmap
from numbers import Real
from pathlib import Path

from synmt.api.given import HasLine, Sentence, as_given, lines_of, numbered, public
from synmt.metrics import METRICS, MetricName
from synmt.metrics.comparisons import SignTest, compare_settings, findings_as_text, signs_as_text
from synmt.metrics.config import MetricConfig, SignificanceConfig, choose, owners, unknown
from synmt.metrics.metric import Score
from synmt.metrics.reading import Files, Input, open_input
from synmt.metrics.report import Results, as_text
from synmt.metrics.scoring import score_systems
from synmt.metrics.segments import segments_input
from synmt.metrics.significance import Comparison, compare
from synmt.options import Rules, check_used, given, options_in
from synmt.streams import BadInput, Line, WrongUsage
from synmt.trees.record import ParseRecord

Metrics = MetricName | Sequence[MetricName]


@public
def score(
    hypotheses: Iterable[Sentence] | Path,
    *references: Iterable[Sentence] | Path,
    metrics: Metrics = ("bleu", "chrf"),
    config: MetricConfig = MetricConfig(),
) -> list[Score]:
    """Return the score of the hypotheses by each metric, against one or more references per hypothesis.

    metrics: names, as for `synmt score --metric`. Translations are text, parses are records or brackets, and links are
    lines such as `0-0 1-2`. Raises BadInput, also if lengths differ; TypeError; and ValueError, also for a setting that
    no metric uses.
    """
    with _opened({"hypotheses": hypotheses}, references, metrics, config) as opened:
        found = score_systems(opened)
    return Results(found[0][1], as_text(found))


@public
def significance(
    systems: Mapping[str, Iterable[Sentence] | Path],
    *references: Iterable[Sentence] | Path,
    metrics: Metrics = ("bleu", "chrf"),
    test: SignificanceConfig = SignificanceConfig(),
    config: MetricConfig = MetricConfig(),
) -> list[Comparison]:
    """Compare systems with the first one by each metric, or with `SignificanceConfig(against="best")` with the best
    one: score, difference and p.

    systems: hypotheses by name; metrics: as for `score`. Raises as `score`.
    """
    _check_level(test)
    if not isinstance(systems, Mapping):
        raise TypeError("systems must be a mapping from names to hypotheses, such as {'base': Path('base.de')}")
    if len(systems) < 2:
        raise TypeError("significance needs at least two systems")
    with _opened(systems, references, metrics, config) as opened:
        found = compare(opened, test.test, test.resamples, test.seed, test.against)
    return Results((each for row in found.comparisons for each in row), findings_as_text(found, test.level))


@public
def segment_test(
    scores: Mapping[str, Iterable[float]],
    test: SignificanceConfig = SignificanceConfig(),
    *,
    lower_is_better: bool = False,
) -> list[Comparison]:
    """Compare systems with the first one by sentence scores of another program, such as COMET's, as `synmt
    segment-test`.

    scores: of each sentence, by the name of the system. Raises TypeError and ValueError.
    """
    _check_level(test)
    rows = ([(score, 1.0) for score in row] for row in _rows(scores))
    opened = segments_input(list(scores), rows, not lower_is_better)
    found = compare(opened, test.test, test.resamples, test.seed, test.against)
    return Results((comparison for (comparison,) in found.comparisons), findings_as_text(found, test.level))


@public
def sign_test(scores: Mapping[str, Iterable[float]]) -> list[SignTest]:
    """Compare each system with the first one over settings, such as test sets, as `synmt sign-test`.

    scores: of each setting, by the name of the system; higher is better. Raises TypeError and ValueError.
    """
    tests = compare_settings(list(scores), list(_rows(scores)))
    return Results(tests, signs_as_text(tests))


def _rows(scores: Mapping[str, Iterable[float]]) -> Iterator[tuple[float, ...]]:
    """Return the scores of all systems in each row. Raises TypeError and ValueError."""
    if not isinstance(scores, Mapping):
        raise TypeError("scores must be a mapping from names to numbers, such as {'base': [0.7, 0.8]}")
    columns = {name: list(column) for name, column in scores.items()}
    if len(columns) < 2:
        raise TypeError("scores: fewer than two systems")
    for name, column in columns.items():
        for number, score in enumerate(column, 1):
            if not isinstance(score, Real) or not math.isfinite(score):
                raise ValueError(f"scores: number {number} of {name!r} is not a finite number: {score!r:.60}")
    if not all(columns.values()):
        raise ValueError("scores: no settings")
    if len({*map(len, columns.values())}) > 1:
        raise ValueError(f"scores: {', '.join(f'{name!r} has {len(each)}' for name, each in columns.items())}")
    return zip(*columns.values(), strict=True)


def _check_level(test: SignificanceConfig) -> None:
    """Raise ValueError for a level, which only marks p values in a table."""
    if test.level != SignificanceConfig.level:
        raise ValueError("level has no effect: it marks p values in a table")


@contextmanager
def _opened(
    systems: Mapping[str, Iterable[Sentence] | Path],
    references: Sequence[Iterable[Sentence] | Path],
    metrics: Metrics,
    config: MetricConfig,
) -> Iterator[Input]:
    """Open the input of metrics. Turns errors about the input as a whole into BadInput."""
    names = [metrics] if isinstance(metrics, str) else metrics
    for name in names:
        if name not in METRICS:
            raise ValueError(f"metrics: {unknown(name, 'test its scores with the command synmt segment-test')}")
    if not references:
        raise TypeError("no references")
    numbers = ["references"] if len(references) == 1 else [f"references {n}" for n in range(1, len(references) + 1)]
    if same := systems.keys() & set(numbers):
        raise ValueError(f"systems: {min(same)!r} is the name of the references")
    compared = {**systems, **dict(zip(numbers, references, strict=True))}
    if METRICS[names[0]](config).compares == "translations":
        compared = {
            name: each if isinstance(each, Path | str) else starmap(_text, numbered(each, name))
            for name, each in compared.items()
        }
    lines = {name: lines_of(sentences, name) for name, sentences in compared.items()}
    check_used(as_given(given(config)), options_in(MetricConfig), Rules(lambda given: choose(list(names)), owners))
    try:
        yield open_input(list(names), Files(list(systems), numbers, given=lines), config)
    except WrongUsage:
        raise
    except ValueError as error:  # concerns the input as a whole
        raise BadInput(str(error)) from None


def _text(line: Line, sentence: Sentence) -> Sentence:
    """Return a translation, with words as text. Raises TypeError, which names the line, for a record, whose text may
    differ from its words."""
    kind = f"{line.source}:{line.number}: a translation is a str or a list of words, not"
    if isinstance(sentence, ParseRecord):
        raise TypeError(f"{kind} a ParseRecord; pass its text")
    if isinstance(sentence, str | HasLine):
        return sentence
    if not isinstance(sentence, Sequence):
        raise TypeError(f"{kind} {type(sentence).__name__}")
    return " ".join(sentence)
