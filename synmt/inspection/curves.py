"""Training curves: the columns of a model folder's log.tsv over updates."""

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from synmt.inspection.matrix import WIDTHS, short_names
from synmt.metrics import METRICS
from synmt.metrics.report import json_array
from synmt.model.files import check_inside
from synmt.streams import BadInput, readable
from synmt.streams.numbers import number, whole_number
from synmt.text.graphemes import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The title and unit of the first panels, in this order. `loss` includes label smoothing, `valid_loss` does not.
NATS = "nats per token"
PANELS = {
    "loss": ("training loss", NATS),
    "valid_loss": ("validation loss", NATS),
    "valid_loss_words": ("validation loss without arcs", NATS),
    "valid_bleu": ("validation BLEU", "BLEU"),
}
ACCURACY = "valid_"  # prefix of all other columns that have a panel
PART = "valid_loss_"  # prefix of the losses of arcs and of components
NOT_FINITE = "nan", "inf", "-inf"  # as synmt train writes them
PERPLEXITY = "valid_perplexity"  # redundant with the loss
# Okabe & Ito's colours, which colour-blind people can distinguish, with line styles for black-and-white print.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MARKED = 10  # points of a curve with a marker; all if there are not more than three times as many
_SEED = re.compile(r"\.\d+$")  # the end of a model's name in a run
LARGEST_LOG = 2**24  # bytes; a quarter of a million rows
MOST_COLUMNS, LARGEST_NUMBER = 50, 1e15  # more than any training run writes


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of a training run.

    points: updates and values of each column of the log that is not empty; epoch: updates of an epoch, by the first row
    of the last epoch that has one, nan if no epoch is complete.
    """

    name: str
    points: dict[str, tuple[list[int], list[float]]]
    epoch: float = field(default=math.nan, compare=False)

    def over(self, column: str, by: str) -> tuple[list[float], list[float]]:
        """Return the points of a column over updates or, with `by` epoch, over epochs. Raises BadInput if none is
        complete."""
        if by == "epoch" and math.isnan(self.epoch):
            raise BadInput("no epoch is complete, so the curve has no epochs", self.name)
        updates, values = self.points.get(column, ([], []))
        return [each / (self.epoch if by == "epoch" else 1) for each in updates], values


def read_curves(path: Path) -> Curves:
    """Read a log.tsv. path: the file, or its model folder. Raises BadInput."""
    file = path / "log.tsv" if path.is_dir() else path
    check_inside(file.resolve().parent if file is path else path, file, LARGEST_LOG)
    points: dict[str, tuple[list[int], list[float]]] = {}
    epoch, updates_of_epoch = 0, math.nan
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
            if len(rows.fieldnames or ()) > MOST_COLUMNS:
                raise BadInput(f"too many columns: at most {MOST_COLUMNS} can be read", str(file), 1)
            for number, row in enumerate(rows, 2):
                try:
                    _add(points, row)
                    if row.get("epoch") and (latest := whole_number(row["epoch"])) > epoch:
                        epoch, updates_of_epoch = latest, whole_number(row["update"]) / latest
                except (AttributeError, KeyError, TypeError, ValueError):  # a cell too many or too few
                    raise BadInput("not a row of the log of a training run", str(file), number) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(getattr(error, "strerror", None) or "not UTF-8", str(file)) from None
    except csv.Error as error:
        raise BadInput(str(error), str(file)) from None
    if not points:
        raise BadInput("the log has no numbers", str(file))
    return Curves(readable(str(file.parent)), points, updates_of_epoch)


def as_jsonl(runs: Sequence[Curves]) -> Iterator[str]:
    """Yield one JSON object per run and update with numbers."""
    for run in runs:
        rows: dict[int, dict[str, float | None]] = {}
        for name, (updates, values) in run.points.items():
            for update, value in zip(updates, values, strict=True):
                rows.setdefault(update, {})[name] = value if math.isfinite(value) else None
        for update in sorted(rows):
            yield msgspec.json.encode({"run": run.name, "update": update, **rows[update]}).decode()


TABLES: dict[str, Callable[[Sequence[Curves]], Iterator[str]]] = {
    "json": lambda runs: json_array(as_jsonl(runs)),
    "jsonl": as_jsonl,
}


def panels(runs: Iterable[Curves]) -> dict[str, tuple[str, str]]:
    """Return the columns of the logs in the order of their panels, each with its title and the unit of its values."""
    shown = {name for run in runs for name in run.points}
    others = sorted(shown - PANELS.keys(), key=lambda name: (not name.startswith(PART), name))
    return {
        **{name: panel for name, panel in PANELS.items() if name in shown},
        **{name: _panel(name) for name in others},
    }


def _panel(name: str) -> tuple[str, str]:
    """Return the title and the unit of a column that is not among PANELS."""
    if name.startswith(PART):
        return f"validation loss of {name.removeprefix(PART)}", NATS
    score = name.removeprefix(ACCURACY)
    score = score.upper() if score in METRICS else score
    return f"validation {score}", score


def mean_of(runs: Sequence[Curves]) -> Curves:
    """Return the mean over runs, for each column at the updates that all runs have. Its name is the runs' name without
    the seed."""
    points = {}
    for name in runs[0].points:
        values = [dict(zip(*run.points.get(name, ([], [])), strict=True)) for run in runs]
        if updates := sorted(set(values[0]).intersection(*values)):
            points[name] = updates, [sum(each[update] for each in values) / len(runs) for update in updates]
    return Curves(_SEED.sub("", runs[0].name), points, sum(run.epoch for run in runs) / len(runs))


def by_seed(runs: Sequence[Curves]) -> list[list[Curves]]:
    """Group the runs whose names differ only in the seed at the end, `SYSTEM.SEED`."""
    groups: dict[str, list[Curves]] = {}
    for run in runs:
        groups.setdefault(_SEED.sub("", run.name), []).append(run)
    return list(groups.values())


def _add(points: dict[str, tuple[list[int], list[float]]], row: dict[str, str]) -> None:
    """Add a row of the log. Raises ValueError for numbers too large to draw; infinities and nan leave a gap."""
    update = whole_number(row["update"])
    if abs(update) > LARGEST_NUMBER:
        raise ValueError(update)
    for name in row:
        if row[name] and (name in PANELS or (name.startswith(ACCURACY) and name != PERPLEXITY)):
            updates, values = points.setdefault(name, ([], []))
            updates.append(update)
            values.append(float(row[name]) if row[name] in NOT_FINITE else number(row[name]))
            if math.isfinite(values[-1]) and abs(values[-1]) > LARGEST_NUMBER:
                raise ValueError(values[-1])


def look(place: int) -> dict[str, Any]:
    """Return the colour, line style and marker of the nth line of a plot."""
    names = ("color", COLORS), ("linestyle", STYLES), ("marker", MARKERS)
    return {"markersize": 3.5, **{name: values[place % len(values)] for name, values in names}}


def dress(axes: "Axes", title: str, across: str, up: str) -> None:
    """Write the title and the names of the axes, and draw a grid."""
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(across, fontsize=8)
    axes.set_ylabel(up, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)


def grid(figure: "Figure", panels: int, columns: int) -> "list[Axes]":
    """Return the axes of panels under each other in one column of a page, or in pairs in two columns."""
    across = min(panels, columns)
    down = -(-panels // across)
    figure.set_size_inches(WIDTHS[columns], (2.4 if across == columns else 3.0) * down)
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for empty in axes[panels:]:
        empty.set_axis_off()
    return axes[:panels]


def draw_curves(figure: "Figure", runs: Sequence[Curves], by: str = "update", columns: int | None = None) -> None:
    """Draw one panel per column of the logs, with one line per run. Runs that differ only in the seed are drawn as thin
    lines, and their mean as a thick one.

    by: update or epoch, the unit of the x axis. columns: of a page that the figure fills; by default all panels are in
    one row.
    """
    groups = by_seed(runs)
    lines = [mean_of(group) if len(group) > 1 else group[0] for group in groups]
    seeds = (f", mean of {len(group)} seeds" if len(group) > 1 else "" for group in groups)
    labels = [
        label(name, longest=60) + end
        for name, end in zip(short_names([line.name for line in lines]), seeds, strict=True)
    ]
    shown = panels(runs)
    if columns:
        axes = grid(figure, len(shown), columns)
    else:
        figure.set_size_inches(4 * len(shown) + 0.5, 3)
        axes = list(figure.subplots(1, len(shown), squeeze=False, gridspec_kw={"wspace": 0.25})[0])
    drawn: list[Any] = []
    for panel, (column, (title, unit)) in zip(axes, shown.items(), strict=True):
        drawn = [
            draw_curve(panel, column, place, *pair, by) for place, pair in enumerate(zip(groups, lines, strict=True))
        ]
        dress(panel, title, by, unit)
    # By itself, a legend leaves out names like _base.
    if columns:
        figure.legend(drawn, labels, fontsize=7, loc="outside lower center", ncols=columns)
    else:
        axes[0].legend(drawn, labels, fontsize=8)


def draw_curve(axes: "Axes", column: str, place: int, group: Sequence[Curves], mean: Curves, by: str) -> Any:
    """Draw a column of a system's logs, and return the line of the mean."""
    own = look(place)
    thin = {"color": own["color"], "linestyle": own["linestyle"], "linewidth": 0.6, "alpha": 0.45}
    for run in group if len(group) > 1 else ():
        axes.plot(*run.over(column, by), **thin)
    x, y = mean.over(column, by)
    step = -(-len(x) // MARKED) if len(x) > 3 * MARKED else 1
    return axes.plot(x, y, **own, linewidth=1.2, markevery=(place % step, step))[0]
