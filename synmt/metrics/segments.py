"""Sentence scores computed by another program, such as COMET, as a further metric: their mean.

A table has one column per system and one row per sentence; its header names the systems. Columns are separated by tabs.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.metrics.config import Compared
from synmt.metrics.metric import Row, Score, Statistics
from synmt.metrics.reading import Input
from synmt.streams import BadInput, Line, counted

DECIMALS = 4  # most such metrics range from about 0 to 1


@dataclass
class Mean:
    """The mean of sentence scores. name: as tables show it. Statistics: the score of the sentence, and 1."""

    higher_is_better: bool
    name: str = "mean"
    compares: Compared = "translations"  # the other program has read them

    def statistics(self, hypotheses: Sequence[float], references: Sequence[Sequence[float]]) -> Statistics:
        return np.array([(number, 1.0) for number in hypotheses])

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        total, count = totals.astype(np.float64).T
        found: npt.NDArray[np.float64] = total / count
        return found

    def score(self, totals: Statistics) -> Score:
        signature = f"from:segments|better:{'higher' if self.higher_is_better else 'lower'}|synmt:{__version__}"
        return Score(self.name, float(self.scores(totals[None])[0]), signature, decimals=DECIMALS)


def read_segments(lines: Iterable[Line], higher_is_better: bool) -> Input:
    """Return the systems of a table, and its rows as a stream.

    Raises BadInput for a header that does not name two systems or more, each once, and while rows are read.
    """
    systems, rows = _table(lines, 2)
    return Input(systems, [Mean(higher_is_better)], (Row(numbers, []) for numbers in rows), [""] * len(systems))


def read_columns(lines: Iterable[Line]) -> dict[str, Statistics]:
    """Return the statistics of each system of a table, [n, 2]. Raises BadInput."""
    systems, rows = _table(lines, 1)
    numbers = np.array(list(rows), dtype=np.float64).reshape(-1, len(systems))
    return {
        system: np.stack([column, np.ones(len(column))], 1) for system, column in zip(systems, numbers.T, strict=True)
    }


def _table(lines: Iterable[Line], least: int) -> tuple[list[str], Iterator[list[float]]]:
    """Return the names and the rows of a table of at least so many columns. Raises BadInput."""
    rest = iter(lines)
    header = next(rest, None)
    systems = header.text.split("\t") if header else []
    if len(systems) < least or len(set(systems)) < len(systems) or not all(map(str.strip, systems)):
        names = "two or more systems" if least > 1 else "systems"
        cause = f"a table of sentence scores starts with the names of {names}, each once, between tabs"
        raise header.error(cause) if header else BadInput(cause)
    return systems, _rows(rest, len(systems))


def _rows(lines: Iterable[Line], systems: int) -> Iterator[list[float]]:
    for line in lines:
        with line.naming():
            numbers = _numbers(line.text, systems)
        yield numbers


def _numbers(text: str, systems: int) -> list[float]:
    cells = text.split("\t")
    if len(cells) != systems:
        raise ValueError(f"{counted(len(cells), 'column')}, but the header has {systems}")
    numbers = list(map(float, cells))
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"a score is not finite: {text!r:.60}")
    return numbers
