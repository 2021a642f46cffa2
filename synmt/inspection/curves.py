"""Training curves: the columns of a model folder's log.tsv over updates."""

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import orjson

from synmt.inspection.matrix import label
from synmt.model.files import check_inside
from synmt.streams import BadInput, readable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The first panels, in this order. `loss` includes label smoothing, `valid_loss` does not.
TITLES = {
    "loss": "training loss (nats per token)",
    "valid_loss": "validation loss (nats per token)",
    "valid_loss_words": "validation loss without arcs",
    "valid_loss_arcs": "validation loss of arcs",
    "valid_bleu": "validation BLEU",
}
ACCURACY = "valid_"  # prefix of the columns of other accuracies
PERPLEXITY = "valid_perplexity"  # redundant with the loss
# Okabe & Ito's colours, which colour-blind people can distinguish, with line styles for black-and-white print.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES = ("-", "--", "-.", ":")
LARGEST_LOG = 2**24  # bytes; a quarter of a million rows
MOST_COLUMNS, LARGEST_NUMBER = 50, 1e15  # more than any training run writes


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of a training run. points: updates and values of each column of the log that has any."""

    name: str
    points: dict[str, tuple[list[int], list[float]]]


def read_curves(path: Path) -> Curves:
    """Read a log.tsv, given its path or that of its model folder. Raises BadInput."""
    file = path / "log.tsv" if path.is_dir() else path
    check_inside(file.resolve().parent if file is path else path, file, LARGEST_LOG)
    points: dict[str, tuple[list[int], list[float]]] = {}
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
            if len(rows.fieldnames or ()) > MOST_COLUMNS:
                raise BadInput(f"too many columns: at most {MOST_COLUMNS} can be read", str(file), 1)
            for number, row in enumerate(rows, 2):
                try:
                    _add(points, row)
                except (KeyError, TypeError, ValueError):
                    raise BadInput("not a row of the log of a training run", str(file), number) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(getattr(error, "strerror", None) or "not UTF-8", str(file)) from None
    except csv.Error as error:
        raise BadInput(str(error), str(file)) from None
    if not points:
        raise BadInput("the log has no numbers", str(file))
    return Curves(readable(str(file.parent)), points)


def as_json(runs: Sequence[Curves]) -> Iterator[str]:
    """Yield one JSON object per run and update with numbers."""
    for run in runs:
        rows: dict[int, dict[str, float | None]] = {}
        for name, (updates, values) in run.points.items():
            for update, value in zip(updates, values, strict=True):
                rows.setdefault(update, {})[name] = value if math.isfinite(value) else None
        for update in sorted(rows):
            yield orjson.dumps({"run": run.name, "update": update, **rows[update]}).decode()


def _add(points: dict[str, tuple[list[int], list[float]]], row: dict[str, str]) -> None:
    """Add a row of the log. Raises ValueError for numbers too large to draw; infinities and nan leave a gap."""
    update = int(row["update"])
    if abs(update) > LARGEST_NUMBER:
        raise ValueError(update)
    for name in row:
        if row[name] and (name in TITLES or (name.startswith(ACCURACY) and name != PERPLEXITY)):
            updates, values = points.setdefault(name, ([], []))
            updates.append(update)
            values.append(float(row[name]))
            if math.isfinite(values[-1]) and abs(values[-1]) > LARGEST_NUMBER:
                raise ValueError(values[-1])


def draw_curves(figure: "Figure", runs: Sequence[Curves]) -> None:
    """Draw one panel per column of the logs, with one line per run."""
    shown = {name for run in runs for name in run.points}
    names = [*(name for name in TITLES if name in shown), *sorted(shown - TITLES.keys())]
    of_runs = [PurePath(run.name).name for run in runs]
    if len(set(of_runs)) < len(runs):
        of_runs = [run.name for run in runs]
    figure.set_size_inches(4 * len(names) + 0.5, 3)
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        for number, run in enumerate(runs):
            updates, values = run.points.get(name, ([], []))
            panel.plot(
                updates,
                values,
                color=COLORS[number % len(COLORS)],
                linestyle=STYLES[number % len(STYLES)],
                marker="o" if len(values) <= 30 else None,
                markersize=3,
                label=label(of_runs[number], longest=60),
            )
        panel.set_title(TITLES.get(name) or f"validation {name.removeprefix(ACCURACY).upper()}", fontsize=9)
        panel.set_xlabel("update", fontsize=8)
        panel.tick_params(labelsize=8)
        panel.grid(color="#dddddd", linewidth=0.5)
    panels[0].legend(fontsize=8)
