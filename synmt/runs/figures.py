"""Figures of a run for a paper, one or two columns of a page wide: gains, scores by length, and curves.

A system has the same colour, marker and line style in all of them but the curves, which have a line per size.

Whiskers of gains are 95 % confidence intervals, from the same test as p: an interval without 0 has a p below 0.05. They
are not corrected for the number of systems; a filled marker has a corrected p below 0.05.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from synmt.inspection.curves import draw_curves, dress, grid, look
from synmt.inspection.matrix import WIDTHS, Picture
from synmt.runs.report import by_length
from synmt.runs.table import Result, RunFindings, by_test
from synmt.text.graphemes import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_SPAN = 0.01  # points of a metric that an axis of gains shows
Kind = Literal["gains", "sizes", "lengths", "curves"]
KINDS = get_args(Kind)
CAPS: dict[str, Any] = {"capsize": 2, "elinewidth": 0.8}


def draw(found: RunFindings, kind: Kind, metric: str | None = None, columns: int = 1) -> Picture:
    """Return a figure of a run. Raises ValueError if the run has no such metric, or nothing to draw.

    metric: as the table names it, by default the first one, which curves do not need.
    """
    whole = [each for each in found.results if not each.part]
    names = list(dict.fromkeys(each.metric for each in whole))
    metric = metric or names[0]
    if metric not in names:
        raise ValueError(f"no metric {metric!r} in the table, only {', '.join(names)}")
    chosen = [each for each in whole if each.metric == metric]
    if kind in ("gains", "sizes") and all(each.difference is None for each in chosen):
        raise ValueError(f"a figure of {kind} needs at least two systems")
    if kind == "gains":
        return Picture(partial(_gains, found=by_test(chosen), columns=columns))
    if kind == "sizes":
        sizes = {each.size for each in chosen}
        if len(sizes) < 2 or None in sizes:
            raise ValueError("a figure of sizes needs a run with at least two sizes of the training data")
        tests = dict.fromkeys(each.test for each in chosen)
        own = [[each for each in chosen if each.test == test] for test in tests]
        return Picture(partial(_sizes, found=own, columns=columns))
    systems = list(dict.fromkeys(each.system for each in whole))
    if kind == "lengths":
        tables = [by_length(each, found.run, systems) for each in found.measured]
        known = {each["name"] for each in tables[0]["metrics"]}
        if metric not in known:
            raise ValueError(f"{metric} has no scores by length")
        return Picture(partial(_lengths, tables=tables, systems=systems, metric=metric, columns=columns))
    runs = list(found.curves.values())
    if not runs:
        raise ValueError("no model of the run has a log")
    return Picture(partial(draw_curves, runs=runs, columns=columns))


def _gains(figure: "Figure", found: Sequence[Sequence[Result]], columns: int) -> None:
    panels = grid(figure, len(found), columns)
    rows = max(map(len, found))
    figure.set_size_inches(WIDTHS[columns], (0.22 * rows + 0.75) * -(-len(found) // columns))
    for axes, results in zip(panels, found, strict=True):
        draw_gains(axes, results)
        axes.set_title(_title(results[0].test, results[0].size, len({each[0].size for each in found}) > 1), fontsize=9)


def _title(test: str, size: int | None, several: bool) -> str:
    return label(f"{test}, {size or 'all'} pairs" if several else test, 60)


def draw_gains(axes: "Axes", results: Sequence[Result]) -> None:
    """Draw the gain of each system over the first one by one metric on one test, with its confidence interval."""
    first, *others = results
    for place, each in enumerate(others):
        own = {**look(place + 1), "linestyle": "none", "markersize": 5}
        face = own["color"] if each.verdict else "white"
        axes.errorbar([each.difference or 0.0], [place], xerr=[each.margin], markerfacecolor=face, **own, **CAPS)
    dress(axes, "", f"{first.metric} above {label(first.system)}", "")
    axes.axvline(0, color="black", linewidth=0.8)
    low, high = axes.get_xlim()
    if high - low < LEAST_SPAN:  # all systems score the same
        axes.set_xlim(-LEAST_SPAN / 2, LEAST_SPAN / 2)
    axes.set_yticks(range(len(others)), [label(each.system, 40) for each in others], fontsize=8)
    axes.set_ylim(len(others) - 0.4, -0.6)


def _sizes(figure: "Figure", found: Sequence[Sequence[Result]], columns: int) -> None:
    lines: list[Any] = []
    for axes, results in zip(grid(figure, len(found), columns), found, strict=True):
        lines = draw_sizes(axes, results)
        axes.set_title(label(results[0].test, 60), fontsize=9)
    figure.legend(handles=lines, fontsize=7, loc="outside lower center", ncols=columns)


def draw_sizes(axes: "Axes", results: Sequence[Result]) -> list[Any]:
    """Draw the gain of each system over the first one as the training data grow, and return the lines."""
    sizes, lines = sorted({each.size for each in results if each.size}), list[Any]()
    systems = dict.fromkeys(each.system for each in results if each.difference is not None)
    for place, system in enumerate(systems):
        own = sorted((each for each in results if each.system == system), key=lambda each: each.size or 0)
        aside = 1 + 0.02 * (place - (len(systems) - 1) / 2)  # whiskers stand beside each other
        x, gains = [(each.size or 0) * aside for each in own], [each.difference or 0.0 for each in own]
        style = {**look(place + 1), "marker": None}
        drawn = axes.errorbar(x, gains, yerr=[each.margin for each in own], **style, linewidth=1.2, **CAPS)
        drawn.lines[0].set_gid(data_of(own))
        points = {**look(place + 1), "linestyle": "none", "markersize": 5}
        for at, gain, each in zip(x, gains, own, strict=True):
            axes.plot([at], [gain], **points, markerfacecolor=points["color"] if each.verdict else "white")
        lines.append(axes.plot([], [], **look(place + 1), label=label(system, 60))[0])
    first = results[0]
    dress(axes, "", "training pairs", f"{first.metric} above {label(first.system)}")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{each:,}" for each in sizes])
    axes.minorticks_off()
    return lines


def data_of(results: Sequence[Result]) -> str:
    """Return sizes, gains and corrected p as text, which an SVG keeps as the name of their line."""
    ps = ("" if each.holm is None else f"{each.holm:.4g}" for each in results)
    return " ".join(f"{each.size}:{each.difference:.4g}:{p}" for each, p in zip(results, ps, strict=True))


def _lengths(figure: "Figure", tables: Sequence[Any], systems: Sequence[str], metric: str, columns: int) -> None:
    for axes, table in zip(grid(figure, len(tables), columns), tables, strict=True):
        (number,) = (place for place, each in enumerate(table["metrics"]) if each["name"] == metric)
        for place, (system, own) in enumerate(zip(table["systems"], table["scores"][number], strict=True)):
            means, deviations = zip(*own, strict=True)
            spread = None if None in deviations else deviations
            aside = 0.08 * (place - (len(table["systems"]) - 1) / 2)
            x = [bucket + aside for bucket in range(len(means))]
            axes.errorbar(x, means, yerr=spread, **look(place), label=label(systems[system], 40), linewidth=1.2, **CAPS)
        title = _title(table["test"], table["size"], len({each["size"] for each in tables}) > 1)
        dress(axes, title, "words of the source", metric)
        names = [f"{bucket}\n$n$={count}" for bucket, count in zip(table["buckets"], table["sentences"], strict=True)]
        axes.set_xticks(range(len(names)), [name.replace("$n$", "n") for name in names])
        axes.tick_params(labelsize=7)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, loc="outside lower center", ncols=columns)
