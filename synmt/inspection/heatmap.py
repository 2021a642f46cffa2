"""Matrices as heat maps whose colours only grow lighter or darker, so that no colour blindness confuses them:
blues for weights, cividis for strengths (Nuñez, Anderton & Renslow 2018)."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from synmt.inspection.matrix import Legend, Matrix, decimals, label
from synmt.streams import BadInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL = 0.17  # inches a row or column, enough for a label
LABEL_POINTS, TITLE_POINTS = 7, 9
LETTER = 0.065  # inches of a label
MOST_CELLS = 250  # rows or columns of a picture; more could not be read
MOST_NUMBERED = 12  # rows and columns up to which cells are larger and show their numbers
MARK = "#d55e00"


def draw_matrices(figure: "Figure", matrices: Sequence[Matrix], legend: Legend) -> None:
    """Draw the matrices side by side under one scale. Raises BadInput for more rows or columns than can be read."""
    rows, columns = (max(len(labels) for labels in side) for side in _labels(matrices))
    if max(rows, columns) > MOST_CELLS:
        raise BadInput(f"{max(rows, columns)} tokens are more than the {MOST_CELLS} that a picture can show")
    numbered = max(rows, columns) <= MOST_NUMBERED
    cell = 2.5 * CELL if numbered else CELL
    left, top = (LETTER * max(len(each) for labels in side for each in labels) for side in _labels(matrices))
    across, down = _grid(len(matrices))
    figure.set_size_inches(across * (columns * cell + left + 0.4) + 1.0, down * (rows * cell + top + 0.6) + 0.2)
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for panel, matrix in zip(panels, matrices, strict=False):
        image = panel.imshow(matrix.values, legend.colors, vmin=legend.low, vmax=legend.high, interpolation="none")
        _dress(panel, matrix, legend)
        if numbered:
            _write_numbers(panel, matrix.values, image.to_rgba(matrix.values), decimals(legend.low, legend.high))
    for panel in panels[len(matrices) :]:
        panel.set_axis_off()
    bar = figure.colorbar(image, ax=panels, shrink=min(1.0, 3 / (down * rows * cell)), aspect=30)
    bar.set_label(legend.values, fontsize=TITLE_POINTS)
    bar.ax.tick_params(labelsize=LABEL_POINTS)


def _grid(panels: int) -> tuple[int, int]:
    """Return how many panels stand across and down: about twice as wide as high, with few places left empty."""
    across = min(range(1, panels + 1), key=lambda n: -panels % n + abs(n - math.sqrt(2 * panels)))
    return across, math.ceil(panels / across)


def _labels(matrices: Sequence[Matrix]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the labels of the rows and of the columns of each matrix."""
    return [list(map(label, each.rows)) for each in matrices], [list(map(label, each.columns)) for each in matrices]


def _dress(panel: "Axes", matrix: Matrix, legend: Legend) -> None:
    """Draw title, labels, lines between the cells, and frames around the marked ones."""
    panel.set_title(matrix.title, fontsize=TITLE_POINTS)
    panel.set_ylabel(legend.rows, fontsize=LABEL_POINTS)
    panel.set_xlabel(legend.columns, fontsize=LABEL_POINTS)
    panel.xaxis.tick_top()
    panel.xaxis.set_label_position("top")
    panel.set_yticks(range(len(matrix.rows)), map(label, matrix.rows), fontsize=LABEL_POINTS)
    upright = max(map(len, matrix.columns)) > 2
    columns = map(label, matrix.columns)
    panel.set_xticks(range(len(matrix.columns)), columns, fontsize=LABEL_POINTS, rotation=90 * upright)
    panel.tick_params(length=0)
    panel.set_yticks(np.arange(0.5, len(matrix.rows) - 1), minor=True)
    panel.set_xticks(np.arange(0.5, len(matrix.columns) - 1), minor=True)
    panel.grid(which="minor", color="white", linewidth=0.4)
    panel.tick_params(which="minor", length=0)
    for row, column in matrix.marks:
        corners = [(column + x, row + y) for x, y in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5))]
        panel.plot(*zip(*corners, strict=True), color=MARK, linewidth=1.5, scalex=False, scaley=False, clip_on=False)


def _write_numbers(
    panel: "Axes", values: npt.NDArray[np.float32], colors: npt.NDArray[np.float64], digits: int
) -> None:
    """Write each value in its cell, in black or white, whichever its colour [rows, columns, 4] sets off."""
    lightness = colors[..., :3] @ np.array([0.2126, 0.7152, 0.0722])
    for row, column in np.argwhere(np.isfinite(values)):
        value = values[row, column]
        ink = "black" if lightness[row, column] > 0.4 else "white"
        text = f"{float(value):z.{digits}f}"
        panel.text(column, row, text, ha="center", va="center", fontsize=LABEL_POINTS, color=ink)
