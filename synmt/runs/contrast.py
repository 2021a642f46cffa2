"""Contrastive pairs in a run: how many of them the systems win, by category and distance."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np

from synmt.challenge.contrast import Wins
from synmt.metrics.report import Fields, Part, Table
from synmt.metrics.significance import wilson
from synmt.streams import read_lines

EXPLANATION = "% of contrastive pairs won, mean over seeds, with 95% intervals (Wilson) over pairs but not over seeds"
SIGNATURE = "interval:95% Wilson"


@dataclass(frozen=True)
class Contrasted:
    """The wins of one system in a group of contrastive pairs. size: number of training pairs, None for all; pairs:
    their name in the run file; group, name: as in Wins; wins: of each seed."""

    size: int | None
    pairs: str
    system: str
    group: str
    name: str
    wins: Sequence[Wins]

    @property
    def items(self) -> int:
        """The number of items; the most of any seed, if models leave out different ones."""
        return max(each.items for each in self.wins)

    @property
    def scores(self) -> list[float]:
        """The percentage that each seed wins."""
        return [each.percentages[0] for each in self.wins]

    @property
    def percentages(self) -> tuple[float, float, float]:
        """The mean percentage of wins over the seeds, and its 95% interval."""
        mean = float(np.mean(self.scores))
        return (mean, *wilson(mean / 100 * self.items, self.items))


def read_wins(path: Path) -> list[Wins]:
    """Read the JSON lines of `synmt challenge contrast`."""
    return [msgspec.json.decode(line.text, type=Wins) for line in read_lines([str(path)])]


def contrasted(size: int | None, pairs: str, files: Mapping[str, Sequence[Path]]) -> Iterator[Contrasted]:
    """Yield the wins of each system in each group. files: of each seed, by system."""
    for system, paths in files.items():
        groups: dict[tuple[str, str], list[Wins]] = {}
        for each in (won for path in paths for won in read_wins(path)):
            groups.setdefault((each.group, each.name), []).append(each)
        yield from (Contrasted(size, pairs, system, *key, wins) for key, wins in groups.items())


def parts_of(found: Sequence[Contrasted]) -> Iterator[Part]:
    """Yield a table for each size, set of pairs and group, with a row for each name."""
    for (size, pairs, group), own in groupby(_in_order(found), lambda each: (each.size, each.pairs, each.group)):
        names, systems = dict[str, dict[str, Contrasted]](), dict[str, None]()
        for each in own:
            names.setdefault(each.name, {})[each.system], systems[each.system] = each, None
        header = [pairs if group == "all" else group, "items"]
        rows = [[*header, *(cell for system in systems for cell in (system, "low", "high"))]]
        for name, of_system in names.items():
            shares = (of_system[system].percentages if system in of_system else () for system in systems)
            cells = (f"{value:.1f}" for share in shares for value in share or [math.nan] * 3)
            rows.append([name or "all", str(max(each.items for each in of_system.values())), *cells])
        by = "" if group == "all" else f" by {group}"
        yield f"{pairs}{by}, trained on {f'{size} pairs' if size else 'all pairs'}"
        yield Table(rows)
    yield EXPLANATION


def _in_order(found: Sequence[Contrasted]) -> list[Contrasted]:
    """Return the wins in the order of tables: all, category, distance."""
    places = list(dict.fromkeys((each.size, each.pairs) for each in found))
    return sorted(found, key=lambda each: (places.index((each.size, each.pairs)), each.group))


def fields_of(each: Contrasted) -> Fields:
    """Return the wins as a row of the table of results. Its test is the set of pairs with the group."""
    mean, low, high = each.percentages
    return {
        "size": each.size,
        "test": f"{each.pairs}, {each.group} {each.name}" if each.name else each.pairs,
        "system": each.system,
        "metric": "wins",
        "mean": mean,
        "deviation": float(np.std(each.scores, ddof=1)) if len(each.wins) > 1 else None,
        "seeds": len(each.wins),
        "signature": f"items:{each.items}|{SIGNATURE}",
        "low": low,
        "high": high,
    }
