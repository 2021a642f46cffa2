"""Contrastive pairs: their files, and how many of them a model wins.

Sennrich (2017), "How Grammatical is Character-level Neural Machine Translation? Assessing MT Quality with Contrastive
Translation Pairs", EACL (LingEval97), and Müller et al. (2018), "A Large-Scale Test Set for the Evaluation of
Context-Aware Pronoun Translation in Neural Machine Translation", WMT (ContraPro), in which all wrong translations of an
item must be less probable than the right one.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from synmt.metrics.report import Fields, Part, Table, in_form
from synmt.metrics.significance import wilson
from synmt.streams import BadInput, BadLines, Line, OnError, counted, read_lines
from synmt.streams.numbers import whole_number

COLUMNS = "source", "right", "wrong", "category", "distance"
ROUNDING = 1e-3  # nats by which a log-probability may differ between batches
LONGEST = 15  # greater distances share a row, as in LingEval97


@dataclass
class Item:
    """A right translation and its wrong ones.

    distance: None if unknown; scores: the log-probability of the right translation, then of each wrong one; NaN if a
    translation cannot be scored.
    """

    category: str
    distance: int | None
    scores: list[float] = field(default_factory=list)

    @property
    def is_won(self) -> bool:
        """Whether the right translation is more probable than each wrong one by more than rounding."""
        return all(self.scores[0] > each + ROUNDING for each in self.scores[1:])


@dataclass(frozen=True)
class Wins:
    """How many items of a group are won. group: category, distance or all; name: of the category or distance."""

    group: str
    name: str
    items: int
    wins: int

    @property
    def percentages(self) -> tuple[float, float, float]:
        """The percentage of wins, and its 95% interval."""
        return (100 * self.wins / self.items, *wilson(self.wins, self.items))


def translations(lines: Iterable[Line], bad: BadLines, waiting: deque[Item]) -> Iterator[tuple[Line, Line]]:
    """Yield a source with its right translation, then with each wrong one, and append the item of each to those that
    wait for a score. A line with neither source nor right translation has another wrong one for the item before."""
    item, source = None, ""
    for line in lines:
        cells: list[str] = bad.read(line, _cells, [])
        if not cells:
            continue
        if cells[0]:
            source, item = cells[0], Item(cells[3], whole_number(cells[4]) if cells[4] else None)
            waiting.append(item)
            yield replace(line, text=source), replace(line, text=cells[1])
        elif item is None:
            bad.add(line.error("the first line has no source"))
            continue
        waiting.append(item)
        yield replace(line, text=source), replace(line, text=cells[2])


def check_pairs(file: str | Path, on_error: OnError) -> None:
    """Raise BadInput for a file without items, and unless bad lines are left out, for one with a bad line."""
    waiting = deque[Item]()
    for _ in translations(read_lines([str(file)], on_error), BadLines(on_error), waiting):
        pass
    if not waiting:
        raise BadInput("has no contrastive pairs", str(file))


def _cells(text: str) -> list[str]:
    """Return the five cells of a line, none if it is empty. Raises ValueError."""
    if not text.strip():
        return []
    cells = [cell.strip() for cell in text.split("\t")]
    if not 3 <= len(cells) <= len(COLUMNS):
        raise ValueError(f"expected `{' TAB '.join(COLUMNS)}`, found {counted(len(cells), 'column')}")
    cells += [""] * (len(COLUMNS) - len(cells))
    if not cells[2] or bool(cells[0]) != bool(cells[1]):
        empty = "wrong translation" if not cells[2] else "right translation" if cells[0] else "source"
        raise ValueError(f"the {empty} is empty")
    if cells[4]:
        try:
            whole_number(cells[4])
        except ValueError:
            raise ValueError(f"the distance {cells[4]!r:.40} is not a whole number") from None
    return cells


def shares(items: Iterable[Item]) -> list[Wins]:
    """Return the share of items won by category, by distance, and of all; none if there are no items."""
    counts: dict[tuple[str, int, str], list[int]] = {}
    for item in items:
        keys = [("all", 0, "")]
        if item.category:
            keys.append(("category", 0, item.category))
        if item.distance is not None:
            far = item.distance > LONGEST
            keys.append(("distance", min(item.distance, LONGEST + 1), f">{LONGEST}" if far else str(item.distance)))
        for key in keys:
            count = counts.setdefault(key, [0, 0])
            count[0] += 1
            count[1] += item.is_won
    order = "category", "distance", "all"
    return [
        Wins(group, name, *counts[group, place, name])
        for group, place, name in sorted(counts, key=lambda key: (order.index(key[0]), *key[1:]))
    ]


def report(found: Sequence[Wins], form: str) -> Iterator[str]:
    """Return the shares in a form: tables, or one row per group."""
    fields: Iterator[Fields] = (
        {
            "group": each.group, "name": each.name, "items": each.items, "wins": each.wins,
            **dict(zip(("percent", "low", "high"), each.percentages, strict=True)),
        }
        for each in found
    )  # fmt: skip
    return in_form(form, _as_text(found), fields)


def _as_text(found: Sequence[Wins]) -> Iterator[Part]:
    for group in dict.fromkeys(each.group for each in found):
        rows = [
            [each.name or "all", str(each.items), str(each.wins), *(f"{value:.1f}" for value in each.percentages)]
            for each in found
            if each.group == group
        ]
        yield Table([[group if group != "all" else "", "items", "wins", "%", "low", "high"], *rows])
    yield "wins: items whose right translation has a higher log-probability than each wrong one; 95% intervals (Wilson)"
