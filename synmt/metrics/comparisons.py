"""Comparisons of systems: significance tests on sentences, and the sign test over settings.

A setting is a test set or challenge set with a metric. The sign test drops ties. Of n remaining settings, a system wins
each with probability 1/2 if both are equal, so p for w or more wins is Σ_{i≥w} C(n, i) / 2^n, one-sided, and twice that
two-sided. Choshen & Abend (2021) use this test.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache

from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig
from synmt.metrics.report import Fields, Part, Table, in_form, signatures
from synmt.metrics.significance import TESTS, Comparison, Findings
from synmt.streams import BadInput, Line, counted
from synmt.streams.numbers import number

ALL = "all"  # the row of all lengths in `synmt score --by-length`
NEEDED = {"system", "metric", "score"}
NOT_SETTINGS = {"system", "score", "low", "high", "sentences", "signature"}


@dataclass(frozen=True)
class SignTest:
    """A system compared with the first one. one_sided, two_sided: p values for whichever has more wins."""

    system: str
    wins: int
    ties: int
    losses: int
    one_sided: float
    two_sided: float


def sign_test(wins: int, losses: int) -> tuple[float, float]:
    """Return one-sided and two-sided p for the system with more wins; 1 if there are no wins."""
    settings = wins + losses
    most = max(wins, losses)
    one_sided = sum(math.comb(settings, won) for won in range(most, settings + 1)) / 2**settings
    return one_sided, min(1.0, 2 * one_sided)


def compare_settings(systems: Sequence[str], settings: Sequence[Sequence[float]]) -> list[SignTest]:
    """Compare systems with the first by their scores, [settings][systems]; higher is better."""
    tests = []
    for place, system in enumerate(systems[1:], 1):
        gains = [scores[place] - scores[0] for scores in settings]
        wins, losses = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        tests.append(SignTest(system, wins, len(gains) - wins - losses, losses, *sign_test(wins, losses)))
    return tests


@dataclass
class ScoreTable:
    """Rows under one header. settings: for each setting, the score of each system; higher is better."""

    columns: Sequence[str]
    systems: list[str] = field(default_factory=list)
    settings: dict[tuple[str, ...], dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError for two columns of one name."""
        for name in self.columns:
            if self.columns.count(name) > 1:
                raise ValueError(f"has two columns {name}")

    def add(self, cells: Sequence[str]) -> None:
        """Add a row. Raises ValueError if it does not fit the table, or if its score is not a number."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{counted(len(cells), 'column')}, but the header has {len(self.columns)}")
        row = dict(zip(self.columns, cells, strict=True))
        system = row["system"]
        if row.get("length") == ALL:  # the sum of other rows
            return
        try:
            score = number(row["score"])
        except ValueError:
            raise ValueError(f"the score of {system} is not a finite number: {row['score']}") from None
        if system not in self.systems:
            self.systems.append(system)
        setting = tuple(cell for name, cell in row.items() if name not in NOT_SETTINGS)
        scores = self.settings.setdefault(setting, {})
        if system in scores:
            raise ValueError(f"a second score of {system} for {' '.join(setting)}")
        scores[system] = score if higher_is_better(row["metric"]) else -score


@cache
def higher_is_better(column: str) -> bool:
    """Return whether higher is better for a metric as named in tables; true for an unknown metric."""
    name = next((name for name in METRICS if name.lower() == column.lower()), None)
    return name is None or METRICS[name](MetricConfig()).higher_is_better


def read_settings(lines: Iterable[Line]) -> tuple[list[str], list[list[float]]]:
    """Return the systems, and their scores in each setting, [settings][systems]; higher is better.

    lines: one or more tables, as `synmt score --format tsv` writes them: a header, and one row per system and metric.
    Every other column distinguishes settings, and so does the table. If tables name different systems, since each test
    set has its own files, a system is identified by its place in a table. Raises BadInput.
    """
    tables: list[ScoreTable] = []
    for line in lines:
        cells = line.text.split("\t")
        if set(cells) >= NEEDED:
            with line.naming():
                tables.append(ScoreTable(cells))
        elif not tables:
            raise line.error(f"a table starts with the names of its columns, including {', '.join(sorted(NEEDED))}")
        elif line.text.strip():
            with line.naming():
                tables[-1].add(cells)
    settings = []
    for table in tables:
        if len(table.systems) != len(tables[0].systems):
            raise BadInput(f"tables of {len(tables[0].systems)} and {len(table.systems)} systems cannot be compared")
        for setting, scores in table.settings.items():
            missing = [system for system in table.systems if system not in scores]
            if missing:
                raise BadInput(f"no score of {missing[0]} for {' '.join(setting)}")
            same = set(table.systems) == set(tables[0].systems)
            settings.append([scores[system] for system in (tables[0] if same else table).systems])
    if not settings or len(tables[0].systems) < 2:
        raise BadInput("fewer than two systems to compare")
    return tables[0].systems, settings


def findings_as_text(findings: Findings, level: float) -> Iterator[Part]:
    """Yield one row per system with score, difference and p for each metric, then an explanation. Marks p below
    `level`."""
    header = ["system", *(cell for each in findings.comparisons[0] for cell in (each.score.name, "Δ", "p  "))]
    rows = [
        [row[0].system, *(cell for each in row for cell in _cells(each, level, findings.resamples))]
        for row in findings.comparisons
    ]
    yield Table([header, *rows])
    others = {comparison.against for row in findings.comparisons for comparison in row} - {None}
    yield f"+ better, - worse than {others.pop() if len(others) == 1 else 'the best'} with p < {level:g}"
    yield f"p: {TESTS[findings.test].definition}"
    yield f"test:{findings.test}|resamples:{findings.resamples}|sentences:{findings.sentences}|seed:{findings.seed}"
    yield from signatures([(row[0].system, [each.score for each in row]) for row in findings.comparisons])


def _cells(comparison: Comparison, level: float, resamples: int) -> tuple[str, str, str]:
    score, digits = comparison.score.score, comparison.score.decimals
    if comparison.against is None:
        return f"{score:.{digits}f}", "", ""
    p = f"{comparison.p:.4f}" if comparison.p >= 0.00005 else f"<{max(1 / resamples, 0.0001):.4f}"
    mark = {"better": "+", "worse": "-"}.get(verdict(comparison, level), " ")
    return f"{score:.{digits}f}", f"{comparison.difference:+.{digits}f}", f"{p} {mark}"


def verdict(comparison: Comparison, level: float) -> str:
    """Return whether the system is `better` or `worse` than the other, or "" if p is not below `level`."""
    if comparison.p >= level:
        return ""
    return "better" if comparison.better else "worse"


def _fields(findings: Findings, level: float) -> Iterator[Fields]:
    for row in findings.comparisons:
        for comparison in row:
            alone = comparison.against is None
            yield {
                "system": comparison.system,
                "metric": comparison.score.name,
                "score": comparison.score.score,
                "against": comparison.against,
                "difference": None if alone else comparison.difference,
                "p": None if alone else comparison.p,
                "verdict": verdict(comparison, level),
                "test": findings.test,
                "resamples": findings.resamples,
                "sentences": findings.sentences,
                "seed": findings.seed,
                "signature": comparison.score.signature,
            }


def signs_as_text(tests: Sequence[SignTest]) -> Iterator[Part]:
    rows = []
    for test in tests:
        counts, ps = (test.wins, test.ties, test.losses), (test.one_sided, test.two_sided)
        rows.append([test.system, *map(str, counts), *(f"{p:.6f}" for p in ps)])
    yield Table([["system", "wins", "ties", "losses", "p one-sided", "p two-sided"], *rows])
    yield "wins: settings in which the system is better than the first one; ties are dropped (sign test)"
    yield "p: the probability of as many wins for the system with more (one-sided) or for either, if both were equal"


def report_findings(findings: Findings, level: float, form: str) -> Iterator[str]:
    """Return the findings in a form: a table, or one row per system and metric."""
    return in_form(form, findings_as_text(findings, level), _fields(findings, level))


def report_signs(tests: Sequence[SignTest], form: str) -> Iterator[str]:
    """Return the result of the sign test in a form: a table, or one row per system."""
    return in_form(form, signs_as_text(tests), map(asdict, tests))
