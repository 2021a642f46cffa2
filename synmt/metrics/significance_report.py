"""What significance tests found, as text, TSV or JSON lines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from synmt.metrics.config import MetricConfig, SignificanceConfig
from synmt.metrics.reading import Files, open_input
from synmt.metrics.report import Fields, Part, Table, in_form, signatures
from synmt.metrics.significance import TESTS, Comparison, Findings, compare
from synmt.metrics.signs import SignTest, compare_settings, read_settings
from synmt.streams import Line


def findings_as_text(findings: Findings, level: float) -> Iterator[Part]:
    """Yield a row a system: score, difference and p by each metric, marked if it is under `level`; then how."""
    header = ["system"]
    for comparison in findings.comparisons[0]:
        header += [comparison.score.name, "Δ", "p  "]
    rows = []
    for row in findings.comparisons:
        cells = [row[0].system]
        for comparison in row:
            cells += [f"{comparison.score.score:.2f}", *_difference(comparison, level, findings.resamples)]
        rows.append(cells)
    yield Table([header, *rows])
    others = {comparison.against for row in findings.comparisons for comparison in row} - {None}
    yield f"+ better, - worse than {others.pop() if len(others) == 1 else 'the best'} with p < {level:g}"
    yield f"p: {TESTS[findings.test].definition}"
    yield f"test:{findings.test}|resamples:{findings.resamples}|sentences:{findings.sentences}|seed:{findings.seed}"
    yield from signatures([(row[0].system, [each.score for each in row]) for row in findings.comparisons])


def _difference(comparison: Comparison, level: float, resamples: int) -> tuple[str, str]:
    if comparison.against is None:
        return "", ""
    p = f"{comparison.p:.4f}" if comparison.p else f"<{1 / resamples:.4f}"
    mark = {"better": "+", "worse": "-"}.get(verdict(comparison, level), " ")
    return f"{comparison.difference:+.2f}", f"{p} {mark}"


def verdict(comparison: Comparison, level: float) -> str:
    """Return `better` or `worse` than the other system, where p is under `level`."""
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
    rows = [
        [
            test.system,
            str(test.wins),
            str(test.ties),
            str(test.losses),
            f"{test.one_sided:.6f}",
            f"{test.two_sided:.6f}",
        ]
        for test in tests
    ]
    yield Table([["system", "wins", "ties", "losses", "p one-sided", "p two-sided"], *rows])
    yield "wins: settings in which the system is better than the first one; ties are left out (sign test)"
    yield "p: the chance of as many wins for the one that has more, or for either, if both were equal"


def report_findings(findings: Findings, level: float, form: str) -> Iterator[str]:
    """Return what a test found in a form: a table, or a row of TSV or JSON a system and metric."""
    return in_form(form, findings_as_text(findings, level), _fields(findings, level))


def report_signs(tests: Sequence[SignTest], form: str) -> Iterator[str]:
    """Return what the sign test found in a form: a table, or a row of TSV or JSON a system."""
    return in_form(form, signs_as_text(tests), map(asdict, tests))


def compare_files(
    names: Sequence[str], files: Files, metrics: MetricConfig, config: SignificanceConfig, form: str
) -> Iterator[str]:
    """Return what a test finds, in a form: text, tsv or json.

    Raises BadInput, and ValueError as `open_input`.
    """
    given = open_input(names, files, metrics)
    findings = compare(given, config.test, config.resamples, config.seed, config.against)
    return report_findings(findings, config.level, form)


def compare_tables(lines: Iterable[Line], form: str) -> Iterator[str]:
    """Return what the sign test finds in tables, in a form: text, tsv or json. Raises BadInput."""
    return report_signs(compare_settings(*read_settings(lines)), form)
