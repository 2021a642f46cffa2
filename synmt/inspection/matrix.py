"""Labelled matrices as tables and heat maps, and matplotlib figures as PNG, SVG or PDF.

Heat maps use colours that only get lighter or darker, so no kind of colour blindness confuses them: blues for weights,
cividis for strengths (Nuñez, Anderton & Renslow 2018). Matplotlib's global state is not touched.
"""

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, cast, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from synmt.inspection import PictureForm
from synmt.metrics.report import json_array, printable
from synmt.streams import BadInput, note
from synmt.text.graphemes import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL = 0.17  # inches per row or column, enough for a label
LABEL_POINTS, TITLE_POINTS = 7, 9
LETTER = 0.065  # inches per letter of a label
WIDTHS = {1: 3.3, 2: 6.9}  # inches of the columns of a page
BAR = 0.75  # inches of a colour bar and the margins
MOST_CELLS = 250  # rows or columns of a picture; more would be illegible
MOST_NUMBERED = 12  # rows or columns; with more, cells are smaller and without numbers
MOST_DOTS, LONGEST_SIDE = 2**30, 2**16  # of a PNG: 4 GiB of memory, and what matplotlib can draw
MARK = "#d55e00"
METADATA: dict[PictureForm, Any] = {"png": None, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
DPI = 150  # dots per inch of a PNG
FONTS = ("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Hebrew")


@dataclass(frozen=True, slots=True)
class Matrix:
    """A labelled matrix. values: [rows, columns]; marks: cells (row, column) to highlight."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: npt.NDArray[np.float32]
    marks: Sequence[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Legend:
    """The meaning of rows, columns and values. colors: a colour map of matplotlib; low, high: values at its ends."""

    rows: str
    columns: str
    values: str
    colors: str
    low: float
    high: float


def decimals(low: float, high: float) -> int:
    """Return the number of decimals needed to distinguish values in this range, at least two."""
    span = high - low
    return 2 if not 0 < span < 0.1 else 2 - math.floor(math.log10(span))


def short_names(paths: Sequence[str]) -> list[str]:
    """Return the last parts of the paths, or the whole paths if two of these are the same."""
    names = [PurePath(path).name or path for path in paths]
    return names if len(set(names)) == len(paths) else list(paths)


def as_tsv(matrices: Sequence[Matrix], legend: Legend) -> Iterator[str]:
    """Yield a header and one row per cell. Rows and columns count from 0."""
    rows, columns = legend.rows, legend.columns
    yield f"matrix\t{rows}\t{columns}\t{rows}_token\t{columns}_token\tvalue"
    for matrix in matrices:
        title, *names = (printable(name.strip(" ")) for name in (matrix.title, *matrix.rows, *matrix.columns))
        row_names, column_names = names[: len(matrix.rows)], names[len(matrix.rows) :]
        for (row, column), value in np.ndenumerate(matrix.values):
            yield f"{title}\t{row}\t{column}\t{row_names[row]}\t{column_names[column]}\t{value:.6g}"


def as_jsonl(matrices: Sequence[Matrix], legend: Legend) -> Iterator[str]:
    """Yield one JSON object per matrix."""
    for matrix in matrices:
        fields = {
            "matrix": matrix.title,
            legend.rows: [token.strip(" ") for token in matrix.rows],
            legend.columns: [token.strip(" ") for token in matrix.columns],
            "values": matrix.values.tolist(),
        }
        yield msgspec.json.encode(fields).decode()


TABLES: dict[str, Callable[[Sequence[Matrix], Legend], Iterator[str]]] = {
    "tsv": as_tsv,
    "json": lambda matrices, legend: json_array(as_jsonl(matrices, legend)),
    "jsonl": as_jsonl,
}


def draw_matrices(
    figure: "Figure", matrices: Sequence[Matrix], legend: Legend, page_columns: int | None = None
) -> None:
    """Draw the matrices side by side under one scale. Raises BadInput for too many rows or columns.

    page_columns: of a page that each matrix fills, 1 or 2, with cells and labels as large as they can be there; by
    default the picture is as large as the matrices need.
    """
    rows, columns = (max(len(labels) for labels in side) for side in _labels(matrices))
    if max(rows, columns) > MOST_CELLS:
        raise BadInput(f"{max(rows, columns)} tokens, but a picture can show {MOST_CELLS} at most")
    numbered = max(rows, columns) <= MOST_NUMBERED and not page_columns
    cell, points = (2.5 if numbered else 1) * CELL, float(LABEL_POINTS)
    left, top = (LETTER * max(len(each) for labels in side for each in labels) for side in _labels(matrices))
    across, down = _grid(len(matrices))
    if page_columns:
        across, down = 1, len(matrices)
        cell = min(CELL, (WIDTHS[page_columns] - left - BAR) / columns)
        points = min(points, 0.9 * 72 * cell)
        left, top = left * points / LABEL_POINTS, top * points / LABEL_POINTS
    width = WIDTHS[page_columns] if page_columns else across * (columns * cell + left + 0.4) + 1.0
    figure.set_size_inches(width, down * (rows * cell + top + 0.6) + 0.2)
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for panel, matrix in zip(panels, matrices, strict=False):
        image = panel.imshow(matrix.values, legend.colors, vmin=legend.low, vmax=legend.high, interpolation="none")
        _dress(panel, matrix, legend, points)
        if numbered:
            _write_numbers(panel, matrix.values, image.to_rgba(matrix.values), decimals(legend.low, legend.high))
    for panel in panels[len(matrices) :]:
        panel.set_axis_off()
    bar = figure.colorbar(image, ax=panels, shrink=min(1.0, 3 / (down * rows * cell)), aspect=30)
    bar.set_label(legend.values, fontsize=LABEL_POINTS if page_columns else TITLE_POINTS)
    bar.ax.tick_params(labelsize=LABEL_POINTS)


def _grid(panels: int) -> tuple[int, int]:
    """Return the number of panels across and down: about twice as many across, with few places left empty."""
    across = min(range(1, panels + 1), key=lambda n: -panels % n + abs(n - math.sqrt(2 * panels)))
    return across, math.ceil(panels / across)


def _labels(matrices: Sequence[Matrix]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the row labels and the column labels of each matrix."""
    return [list(map(label, each.rows)) for each in matrices], [list(map(label, each.columns)) for each in matrices]


def _dress(panel: "Axes", matrix: Matrix, legend: Legend, points: float) -> None:
    """Draw the title, labels, lines between cells, and frames around marked cells."""
    panel.set_title(matrix.title, fontsize=TITLE_POINTS)
    panel.set_ylabel(legend.rows, fontsize=LABEL_POINTS)
    panel.set_xlabel(legend.columns, fontsize=LABEL_POINTS)
    panel.xaxis.tick_top()
    panel.xaxis.set_label_position("top")
    panel.set_yticks(range(len(matrix.rows)), map(label, matrix.rows), fontsize=points)
    upright = max(map(len, matrix.columns)) > 2
    names = map(label, matrix.columns)
    panel.set_xticks(range(len(matrix.columns)), names, fontsize=points, rotation=90 * upright)
    panel.tick_params(length=0)
    panel.autoscale(False)
    rows, columns = len(matrix.rows), len(matrix.columns)
    panel.hlines(np.arange(0.5, rows - 1), -0.5, columns - 0.5, color="white", linewidth=0.4)
    panel.vlines(np.arange(0.5, columns - 1), -0.5, rows - 0.5, color="white", linewidth=0.4)
    for row, column in matrix.marks:
        corners = [(column + x, row + y) for x, y in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5))]
        panel.plot(*zip(*corners, strict=True), color=MARK, linewidth=1.5, clip_on=False)


def _write_numbers(
    panel: "Axes", values: npt.NDArray[np.float32], colors: npt.NDArray[np.float64], digits: int
) -> None:
    """Write each value in its cell, in black or white depending on its colour, [rows, columns, 4]."""
    lightness = colors[..., :3] @ np.array([0.2126, 0.7152, 0.0722])
    for row, column in np.argwhere(np.isfinite(values)):
        value = values[row, column]
        ink = "black" if lightness[row, column] > 0.4 else "white"
        text = f"{float(value):z.{digits}f}"
        panel.text(column, row, text, ha="center", va="center", fontsize=LABEL_POINTS, color=ink)


@dataclass(frozen=True)
class Picture:
    """A picture that a notebook shows in place. `fill` draws it on a figure of matplotlib."""

    fill: "Callable[[Figure], None]" = field(repr=False)

    def figure(self) -> "Figure":
        """Return a figure of matplotlib, whose `axes` can be changed before it is saved."""
        return _figure(self.fill)

    def _repr_svg_(self) -> str:
        return picture(self.fill, "svg").decode()

    def save(self, path: str | Path) -> None:
        """Write the picture to a PNG, SVG or PDF file. Raises ValueError for another suffix."""
        form, forms = Path(path).suffix.removeprefix("."), get_args(PictureForm)
        if form not in forms:
            raise ValueError(f"{path}: the suffix must be one of {', '.join(forms)}")
        Path(path).write_bytes(picture(self.fill, cast(PictureForm, form)))


def _figure(draw: "Callable[[Figure], None]") -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    draw(figure)
    return figure


def picture(draw: "Callable[[Figure], None]", form: PictureForm) -> bytes:
    """Return the file of a figure filled by `draw`.

    Warns on stderr if the installed fonts lack some of its characters; an SVG leaves fonts to the viewer. Raises
    BadInput for a PNG with too many dots.
    """
    import matplotlib
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    settings: Any = {
        "font.sans-serif": [font for font in FONTS if font in installed],
        "text.parse_math": False,  # PRP$ is a label, not a formula
        "svg.fonttype": "none",  # text stays text
        "pdf.fonttype": 42,  # TrueType, which publishers accept
        "svg.hashsalt": "synmt",  # makes files reproducible
    }
    file = io.BytesIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = _figure(draw)
        wide, high = map(int, figure.get_size_inches() * DPI)
        if form == "png" and (wide * high > MOST_DOTS or max(wide, high) >= LONGEST_SIDE):
            raise BadInput(f"a PNG of {wide} x {high} dots is too large: use SVG or PDF")
        figure.savefig(file, format=form, dpi=DPI, metadata=METADATA[form])
    if form != "svg" and any("missing from font" in str(warning.message) for warning in caught):
        note("no installed font has some of the characters; an SVG would keep them")
    return file.getvalue()
