"""Sentence scores computed by another program, such as COMET, as a further metric: their mean.

A table has one column per system and one row per sentence; its header names the systems. Columns are separated by tabs.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.metrics.config import Compared
from synmt.metrics.metric import Row, Score, Statistics
from synmt.metrics.reading import Input
from synmt.streams import BadInput, Line, counted

DECIMALS = 4  # most such metrics range from about 0 to 1


class Mean:
    """The mean of sentence scores. Statistics: the score of the sentence, and 1."""

    compares: Compared = "translations"  # the other program has read them

    def __init__(self, higher_is_better: bool) -> None:
        self.higher_is_better = higher_is_better

    def statistics(self, hypotheses: Sequence[float], references: Sequence[Sequence[float]]) -> Statistics:
        return np.array([(number, 1.0) for number in hypotheses])

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        total, count = totals.astype(np.float64).T
        found: npt.NDArray[np.float64] = total / count
        return found

    def score(self, totals: Statistics) -> Score:
        signature = f"segments:{int(totals[1])}|{'higher' if self.higher_is_better else 'lower'}:better"
        score = float(self.scores(totals[None])[0])
        return Score("mean", score, f"{signature}|synmt:{__version__}", decimals=DECIMALS)


def read_segments(lines: Iterable[Line], higher_is_better: bool) -> Input:
    """Return the systems of a table, and its rows as a stream.

    Raises BadInput for a header that does not name two systems or more, each once, and while rows are read.
    """
    rest = iter(lines)
    header = next(rest, None)
    systems = header.text.split("\t") if header else []
    if len(systems) < 2 or len(set(systems)) < len(systems) or not all(map(str.strip, systems)):
        cause = "a table of sentence scores starts with the names of two or more systems, each once, between tabs"
        raise header.error(cause) if header else BadInput(cause)
    rows = _rows(rest, len(systems))
    return Input(systems, [Mean(higher_is_better)], rows, [""] * len(systems))


def _rows(lines: Iterable[Line], systems: int) -> Iterator[Row[float]]:
    for line in lines:
        with line.naming():
            numbers = _numbers(line.text, systems)
        yield Row(numbers, [])


def _numbers(text: str, systems: int) -> list[float]:
    cells = text.split("\t")
    if len(cells) != systems:
        raise ValueError(f"{counted(len(cells), 'column')}, but the header has {systems}")
    numbers = list(map(float, cells))
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"a score is not finite: {text!r:.60}")
    return numbers
