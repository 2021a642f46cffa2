"""What a metric is: statistics of each sentence first, one score of their sum after.

So a corpus is scored in pieces, and a significance test resamples sentences without scoring them again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from synmt.streams import windows

Item = TypeVar("Item", contravariant=True)
T = TypeVar("T")


@dataclass(slots=True, frozen=True)
class Score:
    """One number of a paper's table, and what is needed to compute it again.

    name: the metric as sacreBLEU prints it, such as `BLEU` or `chrF2`.
    score: 0 to 100.
    signature: sacreBLEU's account of references, case, tokenization and version.
    line: all of it on one line, with the metric's details.
    """

    name: str
    score: float
    signature: str
    line: str


class Metric(Protocol[Item]):
    """A corpus metric that is a function of summed sentence statistics, over texts, trees or records."""

    def statistics(self, hypotheses: Sequence[Item], references: Sequence[Sequence[Item]]) -> npt.NDArray[np.int64]:
        """The statistics of n sentences, [n, k]. references: one list of n items a reference, [r][n]."""

    def score(self, totals: npt.NDArray[np.int64]) -> Score:
        """The score of a corpus from the sum of its sentences' statistics, [k]."""


def corpus_score(metric: Metric[T], hypotheses: Sequence[T], references: Sequence[Sequence[T]]) -> Score:
    """The score of n hypotheses against one list of n items a reference, [r][n]."""
    return metric.score(metric.statistics(hypotheses, references).sum(axis=0))


def stream_scores(metrics: Sequence[Metric[T]], rows: Iterable[Sequence[T]], systems: int) -> list[list[Score]]:
    """The score of each system by each metric, [systems][metrics], in constant memory.

    rows: for each sentence the hypotheses of all systems, then its references.
    Raises ValueError if there are no rows.
    """
    totals: dict[tuple[int, int], npt.NDArray[np.int64]] = {}
    for window in windows(rows, 1000):
        columns = list(zip(*window, strict=True))
        for system, (place, metric) in product(range(systems), enumerate(metrics)):
            sums = metric.statistics(columns[system], columns[systems:]).sum(axis=0)
            totals[system, place] = totals.get((system, place), 0) + sums
    if not totals:
        raise ValueError("no lines to score")
    return [
        [metric.score(totals[system, place]) for place, metric in enumerate(metrics)] for system in range(systems)
    ]
