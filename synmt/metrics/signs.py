"""The sign test over settings: how likely one of two equal systems wins that often.

A setting is a test set or challenge set with a metric. Ties are dropped; of n settings that remain, a system wins
each with probability 1/2, so p of w wins or more is Σ_{i≥w} C(n, i) / 2^n, one-sided, and twice that two-sided.
This is the test of Choshen & Abend (2021).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig
from synmt.streams import BadInput, Line

NEEDED = {"system", "metric", "score"}
NOT_OF_A_SETTING = {"system", "score", "sentences", "signature"}


@dataclass(frozen=True)
class SignTest:
    """A system against the first one. p: of the one with more wins, one-sided and two-sided."""

    system: str
    wins: int
    ties: int
    losses: int
    one_sided: float
    two_sided: float


def sign_test(wins: int, losses: int) -> tuple[float, float]:
    """Return p of the one with more wins, one-sided and two-sided; 1 where neither has any."""
    settings = wins + losses
    most = max(wins, losses)
    one_sided = sum(math.comb(settings, won) for won in range(most, settings + 1)) / 2**settings
    return one_sided, min(1.0, 2 * one_sided)


def compare_settings(systems: Sequence[str], settings: Sequence[Sequence[float]]) -> list[SignTest]:
    """Compare the systems with the first by their scores, [settings][systems], the higher the better."""
    tests = []
    for place, system in enumerate(systems[1:], 1):
        gains = [scores[place] - scores[0] for scores in settings]
        wins, losses = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        tests.append(SignTest(system, wins, len(gains) - wins - losses, losses, *sign_test(wins, losses)))
    return tests


@dataclass
class ScoreTable:
    """Rows under one header. settings: for each of them the score of each system, the higher the better."""

    columns: Sequence[str]
    systems: list[str] = field(default_factory=list)
    settings: dict[tuple[str, ...], dict[str, float]] = field(default_factory=dict)

    def add(self, cells: Sequence[str]) -> None:
        """Add a row. Raises ValueError for a row that is none of this table, or whose score is no number."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} columns under {len(self.columns)} names")
        row = dict(zip(self.columns, cells, strict=True))
        system, score = row["system"], float(row["score"])
        if not math.isfinite(score):
            raise ValueError(f"score of {system} is {row['score']}")
        if system not in self.systems:
            self.systems.append(system)
        setting = tuple(cell for name, cell in row.items() if name not in NOT_OF_A_SETTING)
        scores = self.settings.setdefault(setting, {})
        if system in scores:
            raise ValueError(f"a second score of {system} for {' '.join(setting)}")
        scores[system] = score if higher_is_better(row["metric"]) else -score


@cache
def higher_is_better(column: str) -> bool:
    """Return whether more is better of the metric of METRICS that tables call so; of an unknown one it is."""
    name = next((name for name in METRICS if name.lower() == column.lower()), None)
    return name is None or METRICS[name](MetricConfig()).higher_is_better


def read_settings(lines: Iterable[Line]) -> tuple[list[str], list[list[float]]]:
    """Return the systems, and of each setting their scores, the higher the better: [settings][systems].

    lines: tables such as `synmt score --format tsv` writes, one after the other: the names of the columns, and a
    row a system and metric; all other columns tell settings apart, and so do tables. Systems go by their place in
    a table, so that their files may have other names in each. Raises BadInput.
    """
    tables: list[ScoreTable] = []
    for line in lines:
        cells = line.text.split("\t")
        if set(cells) >= NEEDED:
            tables.append(ScoreTable(cells))
        elif not tables:
            raise line.error(f"a table begins with the names of its columns, {', '.join(sorted(NEEDED))} among them")
        elif line.text.strip():
            with line.naming():
                tables[-1].add(cells)
    settings = []
    for table in tables:
        if len(table.systems) != len(tables[0].systems):
            raise BadInput(f"tables of {len(tables[0].systems)} and of {len(table.systems)} systems")
        for setting, scores in table.settings.items():
            missing = [system for system in table.systems if system not in scores]
            if missing:
                raise BadInput(f"no score of {missing[0]} for {' '.join(setting)}")
            settings.append([scores[system] for system in table.systems])
    if not settings or len(tables[0].systems) < 2:
        raise BadInput("no scores of two systems to compare")
    return tables[0].systems, settings
