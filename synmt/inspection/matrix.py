"""Labelled matrices, and what their numbers mean: what all tables and heat maps here are made of."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import orjson

LONGEST = 24
# Control characters and noncharacters, which XML forbids, and what turns the direction of the text around it.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Matrix:
    """values [rows, columns] with their labels; marks: cells (row, column) to point out."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: npt.NDArray[np.float32]
    marks: Sequence[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Legend:
    """What rows, columns and values are; colors: a map of matplotlib, low and high the values at its ends."""

    rows: str
    columns: str
    values: str
    colors: str
    low: float
    high: float


def decimals(low: float, high: float) -> int:
    """Return how many digits after the point tell numbers of this range apart: two, and of a small range more."""
    span = high - low
    return 2 if not 0 < span < 0.1 else 2 - math.floor(math.log10(span))


def label(token: str, longest: int = LONGEST) -> str:
    """Return the token without the space that marks structure, its end cut off where it is long."""
    text = _UNFIT.sub("\ufffd", token.strip(" "))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def as_tsv(matrices: Sequence[Matrix], legend: Legend) -> Iterator[str]:
    """Yield a header and a row a cell; rows and columns are counted from 0."""
    rows, columns = legend.rows, legend.columns
    yield f"matrix\t{rows}\t{columns}\t{rows}_token\t{columns}_token\tvalue"
    for matrix in matrices:
        for (row, column), value in np.ndenumerate(matrix.values):
            labels = f"{matrix.rows[row].strip()}\t{matrix.columns[column].strip()}"
            yield f"{matrix.title}\t{row}\t{column}\t{labels}\t{value:.6g}"


def as_json(matrices: Sequence[Matrix], legend: Legend) -> Iterator[str]:
    """Yield a JSON object a matrix."""
    for matrix in matrices:
        fields = {
            "matrix": matrix.title,
            legend.rows: [token.strip() for token in matrix.rows],
            legend.columns: [token.strip() for token in matrix.columns],
            "values": matrix.values.tolist(),
        }
        yield orjson.dumps(fields).decode()


TABLES: dict[str, Callable[[Sequence[Matrix], Legend], Iterator[str]]] = {"tsv": as_tsv, "json": as_json}
