import csv
import json
import re
from dataclasses import replace
from itertools import islice

import pytest

from synmt.metrics.metric import Score
from synmt.metrics.report import json_array, latex, printable, report

BLEU = Score("BLEU", 27.304, "nrefs:1|tok:13a", "(BP = 1.000)")
CHRF = Score("chrF2", 55.5, "nrefs:1|nc:6")


def test_one_system_gives_one_line_per_metric() -> None:
    assert list(report([("base.de", [BLEU, CHRF])], "text")) == [
        "BLEU|nrefs:1|tok:13a = 27.30 (BP = 1.000)",
        "chrF2|nrefs:1|nc:6 = 55.50",
    ]


def test_several_systems_give_a_table_with_signatures() -> None:
    assert list(report([("base.de", [BLEU, CHRF]), ("m", [BLEU, CHRF])], "text")) == [
        "system      BLEU    chrF2",
        "base.de    27.30    55.50",
        "m          27.30    55.50",
        "BLEU|nrefs:1|tok:13a",
        "chrF2|nrefs:1|nc:6",
    ]


def test_tsv_and_json_have_one_row_per_number() -> None:
    scores = [("base.de", [BLEU]), ("base.de", [CHRF])]
    assert list(report(scores, "tsv")) == [
        "system\tmetric\tscore\tsignature",
        "base.de\tBLEU\t27.3040\tnrefs:1|tok:13a",
        "base.de\tchrF2\t55.5000\tnrefs:1|nc:6",
    ]
    assert [json.loads(line) for line in report(scores, "jsonl")] == [
        {"system": "base.de", "metric": "BLEU", "score": 27.304, "signature": "nrefs:1|tok:13a"},
        {"system": "base.de", "metric": "chrF2", "score": 55.5, "signature": "nrefs:1|nc:6"},
    ]


def test_systems_that_were_read_differently_have_separate_signatures() -> None:
    scores = [("base.de", [BLEU.noted("detok:moses-de"), CHRF]), ("m", [BLEU, CHRF])]
    assert list(report(scores, "text"))[3:] == [
        "BLEU|nrefs:1|tok:13a|detok:moses-de (base.de)",
        "BLEU|nrefs:1|tok:13a (m)",
        "chrF2|nrefs:1|nc:6",
    ]


def test_intervals_are_next_to_their_scores() -> None:
    score = replace(BLEU, interval=(26.1234, 28.5))
    assert list(report([("base.de", [score])], "text")) == ["BLEU|nrefs:1|tok:13a = 27.30 [26.12, 28.50] (BP = 1.000)"]
    assert next(report([("base.de", [score])], "tsv")) == "system\tmetric\tscore\tlow\thigh\tsignature"
    (line,) = report([("base.de", [score])], "jsonl")
    assert json.loads(line)["low"] == 26.1234


def test_latex_has_the_table_and_comments() -> None:
    assert list(report([("a_b-c&d.de", [BLEU, CHRF])], "latex")) == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"system & BLEU & chrF2 \\",
        r"\midrule",
        r"a\_b-c\&d.de & 27.30 & 55.50 \\",
        r"\bottomrule",
        r"\end{tabular}",
        "% BLEU|nrefs:1|tok:13a",
        "% chrF2|nrefs:1|nc:6",
    ]


def test_latex_uses_mathematical_signs() -> None:
    (row,) = islice(latex([["system", "Δ"], ["x", "-0.31"]]), 4, 5)
    assert row == r"x & $-$0.31 \\"


NASTY = [
    "a\tb",
    "a\nb",
    "a\r",
    "\x1b[2J",
    "\u2028",
    "[1] x",
    "*",
    "a|b",
    "\\",
    "{",
    "%",
    "&",
    "a\\\nb",
    "$x_1^2$",
    "~",
    "#",
]


@pytest.mark.parametrize("form", ["text", "tsv", "csv", "latex", "json", "jsonl"])
def test_names_stay_in_their_cells(form: str) -> None:
    end = r" & 27.30 & 55.50 \\"
    plain = list(report([("x", [BLEU, CHRF]), ("y", [BLEU, CHRF])], form))
    for name in NASTY:
        lines = list(report([("x", [BLEU, CHRF]), (name, [BLEU, CHRF])], form))
        assert len(lines) == len(plain)
        if form in ("text", "latex"):
            assert all(map(str.isprintable, lines))
        if form == "tsv":
            assert [line.count("\t") for line in lines] == [line.count("\t") for line in plain]
        if form == "latex":
            cell = lines[5].removesuffix(end)
            assert lines[5].endswith(end) and not cell.startswith(("[", "*"))
            assert not re.search(r"(?<!\\)[&%#_]|\\\\", cell)


def test_json_is_one_document_and_jsonl_one_per_line() -> None:
    for scores in ([("base", [BLEU, CHRF]), ('"x"', [BLEU, CHRF])], [("base", [BLEU])]):
        rows = [json.loads(line) for line in report(scores, "jsonl")]
        assert json.loads("\n".join(report(scores, "json"))) == rows and len(rows) == sum(len(row) for _, row in scores)
    assert list(json_array([])) == ["[]"]


@pytest.mark.parametrize("name", [*NASTY, '"', 'a"b', '""', "a,b", '"a", b', "a\tb"])
def test_csv_is_quoted_and_tsv_is_not(name: str) -> None:
    """A reader that knows quotes gets all rows of CSV; for TSV it must be told that there are none."""
    scores = [(name, [BLEU]), ("y", [BLEU])]
    quoted = list(csv.reader(report(scores, "csv")))
    plain = list(csv.reader(report(scores, "tsv"), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert quoted == plain and [row[0] for row in plain] == ["system", printable(name), "y"]
