import json

import pytest

from synmt.metrics.comparisons import SignTest, report_findings, report_signs
from synmt.metrics.metric import Score
from synmt.metrics.significance import TESTS, Comparison, Findings

BLEU, TER = Score("BLEU", 27.304, "nrefs:1|tok:13a"), Score("TER", 55.5, "nrefs:1|case:lc")
FINDINGS = Findings(
    [
        [Comparison("base.de", BLEU), Comparison("base.de", TER)],
        [Comparison("m", BLEU, "base.de", 0.5, True, 0.0), Comparison("m", TER, "base.de", 0.25, False, 0.049)],
        [Comparison("n", BLEU, "base.de", -0.5, False, 0.05), Comparison("n", TER, "base.de", 0.0, False, 1.0)],
    ],
    "bootstrap-wins",
    10_000,
    3000,
    1,
)


def test_a_table_with_marks_and_an_explanation() -> None:
    assert list(report_findings(FINDINGS, 0.05, "text")) == [
        "system      BLEU        Δ        p        TER        Δ       p",
        "base.de    27.30                        55.50",
        "m          27.30    +0.50  <0.0001 +    55.50    +0.25  0.0490 -",
        "n          27.30    -0.50   0.0500      55.50    +0.00  1.0000",
        "+ better, - worse than base.de with p < 0.05",
        f"p: {TESTS['bootstrap-wins'].definition}",
        "test:bootstrap-wins|resamples:10000|sentences:3000|seed:1",
        "BLEU|nrefs:1|tok:13a",
        "TER|nrefs:1|case:lc",
    ]
    assert "0.0490 -" not in "\n".join(report_findings(FINDINGS, 0.01, "text"))


@pytest.mark.parametrize(
    ("p", "resamples", "shown"),
    [
        (0.0, 1000, "<0.0010"), (1 / 1001, 1000, "0.0010"), (0.0, 10_000, "<0.0001"), (1 / 10_001, 10_000, "0.0001"),
        (0.0, 50_000, "<0.0001"), (0.00002, 50_000, "<0.0001"), (0.00006, 50_000, "0.0001"),
    ],
)  # fmt: skip
def test_no_p_is_shown_as_0(p: float, resamples: int, shown: str) -> None:
    rows = [[Comparison("a", BLEU)], [Comparison("b", BLEU, "a", 1, True, p)]]
    table = list(report_findings(Findings(rows, "bootstrap-wins", resamples, 3, 1), 0.05, "text"))
    assert table[2].split()[3] == shown


def test_against_the_best_of_each_metric() -> None:
    rows = [
        [Comparison("a", BLEU), Comparison("a", TER, "b", 1, False, 0.01)],
        [Comparison("b", BLEU, "a"), Comparison("b", TER)],
    ]
    text = list(report_findings(Findings(rows, "bootstrap-wins", 10, 3, 1), 0.05, "text"))
    assert "+ better, - worse than the best with p < 0.05" in text


def test_tsv_and_json_have_one_row_per_number() -> None:
    header, first, _, third, *_ = report_findings(FINDINGS, 0.05, "tsv")
    assert header.split("\t") == [
        "system", "metric", "score", "against", "difference", "p", "verdict",
        "test", "resamples", "sentences", "seed", "signature",
    ]  # fmt: skip
    how = "bootstrap-wins\t10000\t3000\t1\tnrefs:1|tok:13a"
    assert first == f"base.de\tBLEU\t27.3040\t\t\t\t\t{how}"
    assert third == f"m\tBLEU\t27.3040\tbase.de\t0.5000\t0.0000\tbetter\t{how}"
    rows = [json.loads(line) for line in report_findings(FINDINGS, 0.05, "jsonl")]
    assert [row["verdict"] for row in rows] == ["", "", "better", "worse", "", ""]
    assert (rows[0]["p"], rows[3]["p"]) == (None, 0.049)


def test_sign_tests() -> None:
    tests = [SignTest("mask.de", 18, 1, 2, 0.000201, 0.000402)]
    table = list(report_signs(tests, "text"))
    assert table[0].split() == ["system", "wins", "ties", "losses", "p", "one-sided", "p", "two-sided"]
    assert table[1].split() == ["mask.de", "18", "1", "2", "0.000201", "0.000402"]
    assert json.loads(next(report_signs(tests, "jsonl")))["losses"] == 2
    assert next(report_signs(tests, "tsv")).startswith("system\twins\tties")
