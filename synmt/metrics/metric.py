"""Metrics compute statistics of each sentence first, then one score from their sum.

This lets us score a corpus in parts, makes buckets as cheap as the whole corpus, and lets a significance test resample
sentences without scoring them again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from synmt.metrics.config import Compared
from synmt.streams import Line, windows

Item = TypeVar("Item", contravariant=True)
T = TypeVar("T")

# Integers if the metric counts something, so that its details are printed as counts; else float64.
Statistics = npt.NDArray[np.number]


@dataclass(slots=True, frozen=True)
class Score:
    """One number in a paper's table, with everything needed to reproduce it.

    name: the metric as sacreBLEU prints it, such as `BLEU` or `chrF2`.
    score: 0 to 100, or higher for error rates.
    signature: references, case, tokenization and version, as in sacreBLEU's signatures.
    details: further numbers of the metric.
    interval: the bounds of the confidence interval, on request.
    decimals: number of decimals to print.
    """

    name: str
    score: float
    signature: str
    details: str = ""
    interval: tuple[float, float] | None = None
    decimals: int = 2

    def __repr__(self) -> str:
        return f"<Score {self.name} {self.number}>"

    @property
    def number(self) -> str:
        """Return the score with its interval."""
        digits = self.decimals
        bounds = "" if self.interval is None else f" [{', '.join(f'{each:.{digits}f}' for each in self.interval)}]"
        return f"{self.score:.{digits}f}{bounds}"

    @property
    def line(self) -> str:
        """Return everything on one line, as sacreBLEU prints it."""
        return f"{self.name}|{self.signature} = {self.number}{self.details and ' '}{self.details}"

    def noted(self, note: str) -> "Score":
        """Append a note on how the input was read to the signature."""
        return replace(self, signature=f"{self.signature}|{note}") if note else self


class Metric(Protocol[Item]):
    """A corpus metric that is a function of summed sentence statistics, over texts, trees, records or links.

    In a table of scores, a metric has its name in METRICS, in upper or lower case.
    """

    compares: Compared
    higher_is_better: bool

    def statistics(self, hypotheses: Sequence[Item], references: Sequence[Sequence[Item]]) -> Statistics:
        """Return the statistics of n sentences, [n, k]. references: one list of n items per reference, [r][n]."""

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        """Return the scores of m corpora, [m], from the summed statistics of each, [m, k]."""

    def score(self, totals: Statistics) -> Score:
        """Return the score of one corpus, [k], with name, signature and details."""


class Row(NamedTuple, Generic[T]):
    """One sentence: the hypothesis of each system, the references, the bucket, and the input lines of the systems, if
    any.

    sentences: more than one if the files have no sentence break in common before.
    """

    hypotheses: Sequence[T]
    references: Sequence[T]
    bucket: int = 0
    lines: Sequence[Line] = ()
    sentences: int = 1


def corpus_score(metric: Metric[T], hypotheses: Sequence[T], references: Sequence[Sequence[T]]) -> Score:
    """Return the score of n hypotheses against one list of n items per reference, [r][n]."""
    return metric.score(metric.statistics(hypotheses, references).sum(axis=0))


def stream_statistics(
    metrics: Sequence[Metric[T]], rows: Iterable[Row[T]]
) -> Iterator[tuple[list[int], list[list[Statistics]]]]:
    """Yield the buckets, [n], and the statistics, [systems][metrics] of [n, k], of each window of n rows.

    Raises ValueError if there are no rows, and BadInput or ValueError for a sentence that a metric cannot compare.
    """
    window: list[Row[T]] = []
    for window in windows(rows, 1000):
        systems = range(len(window[0].hypotheses))
        yield (
            [row.bucket for row in window],
            [[_statistics(metric, window, system) for metric in metrics] for system in systems],
        )
    if not window:
        raise ValueError("no lines to score")


def _statistics(metric: Metric[T], rows: Sequence[Row[T]], system: int) -> Statistics:
    references = list(zip(*(row.references for row in rows), strict=True))
    try:
        return metric.statistics([row.hypotheses[system] for row in rows], references)
    except ValueError as error:
        if len(rows) == 1 and rows[0].lines:
            raise rows[0].lines[system].error(error) from None
        if len(rows) > 1:  # find the sentence
            for row in rows:
                _statistics(metric, [row], system)
        raise


def stream_totals(
    metrics: Sequence[Metric[T]], rows: Iterable[Row[T]], buckets: int = 1
) -> tuple[list[int], list[list[Statistics]]]:
    """Return the number of sentences per bucket, [buckets], and their sums, [systems][metrics] of [buckets, k].

    Raises ValueError if there are no rows.
    """
    sentences = np.zeros(buckets, dtype=np.int64)
    totals: list[list[Statistics]] = []
    for bucket, statistics in stream_statistics(metrics, rows):
        sentences += np.bincount(bucket, minlength=buckets)
        if not totals:
            totals = [[np.zeros((buckets, part.shape[1]), part.dtype) for part in row] for row in statistics]
        for sums, parts in zip(totals, statistics, strict=True):
            for total, part in zip(sums, parts, strict=True):
                np.add.at(total, bucket, part)
    return sentences.tolist(), totals
