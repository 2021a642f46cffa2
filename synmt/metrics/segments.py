"""Sentence scores computed by another program, such as COMET, as a further metric: their mean.

A table has one column per system and one row per sentence; its header names the systems. Columns are separated by tabs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.metrics.config import Compared
from synmt.metrics.metric import Row, Score, Statistics
from synmt.metrics.reading import Input
from synmt.streams import BadInput, Line, counted
from synmt.streams.numbers import number

DECIMALS = 4  # most such metrics range from about 0 to 1
Parts = tuple[float, float]  # of a sentence, for the two sums of a Ratio


@dataclass
class Ratio:
    """A metric whose score is the ratio of two sums over sentences, times `scale`. Statistics: the parts of both sums,
    computed elsewhere."""

    name: str
    signature: str
    scale: float
    higher_is_better: bool
    decimals: int = 2
    compares: Compared = "translations"

    def statistics(self, hypotheses: Sequence[Parts], references: Sequence[Sequence[Parts]]) -> Statistics:
        return np.array(hypotheses)

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        sums = totals.astype(np.float64)
        return self.scale * sums[:, 0] / np.maximum(1, sums[:, 1])

    def score(self, totals: Statistics) -> Score:
        return Score(self.name, float(self.scores(totals[None])[0]), self.signature, decimals=self.decimals)


def mean(higher_is_better: bool, name: str = "mean") -> Ratio:
    """Return the mean of sentence scores, as a metric. name: as tables show it."""
    signature = f"from:segments|better:{'higher' if higher_is_better else 'lower'}|synmt:{__version__}"
    return Ratio(name, signature, 1.0, higher_is_better, DECIMALS)


def read_segments(lines: Iterable[Line], higher_is_better: bool) -> Input:
    """Return the systems of a table, and its rows as a stream.

    Raises BadInput for a header that does not name two systems or more, each once, and while rows are read.
    """
    systems, rows = _table(lines, 2)
    return segments_input(systems, rows, higher_is_better)


def segments_input(systems: Sequence[str], rows: Iterable[Sequence[Parts]], higher_is_better: bool) -> Input:
    return Input(systems, [mean(higher_is_better)], (Row(row, []) for row in rows), [""] * len(systems))


def read_columns(lines: Iterable[Line]) -> dict[str, Statistics]:
    """Return the statistics of each system of a table, [n, 2]. Raises BadInput."""
    systems, rows = _table(lines, 1)
    numbers = np.array(list(rows)).reshape(-1, len(systems), 2)
    return {system: numbers[:, place] for place, system in enumerate(systems)}


def _table(lines: Iterable[Line], least: int) -> tuple[list[str], Iterator[list[Parts]]]:
    """Return the names and the rows of a table of at least so many columns. Raises BadInput."""
    rest = iter(lines)
    header = next(rest, None)
    systems = header.text.split("\t") if header else []
    if len(systems) < least or len(set(systems)) < len(systems) or not all(map(str.strip, systems)):
        names = "two or more systems" if least > 1 else "systems"
        cause = f"a table of sentence scores starts with the names of {names}, each once, between tabs"
        raise header.error(cause) if header else BadInput(cause)
    if header and all(map(_is_score, systems)):
        raise header.error(f"only numbers, {header.text!r:.60}, where the names of the systems should be")
    return systems, _rows(rest, len(systems))


def _rows(lines: Iterable[Line], systems: int) -> Iterator[list[Parts]]:
    for line in lines:
        cells = line.text.split("\t")
        if len(cells) != systems:
            raise line.error(f"{counted(len(cells), 'column')}, but the header has {systems}")
        with line.naming():
            yield [(number(cell), 1.0) for cell in cells]


def _is_score(cell: str) -> bool:
    """Return whether a cell was meant as a number, even if we do not read it as one, such as `nan`."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
