"""Contrastive pairs in a run: the wins of each system and seed, in all forms of the table and in the report."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from synmt.metrics.config import FORMS
from synmt.metrics.significance import wilson
from synmt.runs.contrast import Contrasted, contrasted
from synmt.runs.report import page
from synmt.runs.table import report
from tests.inspection.test_page import Tags, needed_width
from tests.runs.test_report import SYSTEMS, of_translations

WINS = {
    ("base", 1): [("category", "case", 10, 4), ("distance", ">15", 10, 4), ("all", "", 20, 8)],
    ("base", 2): [("category", "case", 10, 5), ("distance", ">15", 10, 5), ("all", "", 20, 10)],
    ("new", 1): [("category", "case", 10, 10), ("distance", ">15", 10, 9), ("all", "", 20, 19)],
    ("new", 2): [("category", "case", 10, 10), ("distance", ">15", 9, 9), ("all", "", 19, 19)],
}


@pytest.fixture
def wins(tmp_path: Path) -> list[Contrasted]:
    files: dict[str, list[Path]] = {}
    for (system, seed), rows in WINS.items():
        path = tmp_path / f"{system}.{seed}.wins"
        keys = "group", "name", "items", "wins"
        path.write_text("".join(f"{json.dumps(dict(zip(keys, row, strict=True)))}\n" for row in rows))
        files.setdefault(system, []).append(path)
    return list(contrasted(None, "pro_nouns", files))


def test_wins_are_means_over_seeds_with_intervals_over_pairs(wins: list[Contrasted]) -> None:
    found = {(each.system, each.group): (each.items, each.scores, each.percentages) for each in wins}
    assert found["base", "category"] == (10, [40, 50], pytest.approx((45, *wilson(4.5, 10))))
    assert found["new", "distance"] == (10, [90, 100], pytest.approx((95, *wilson(9.5, 10))))
    assert found["base", "all"] == (20, [40, 50], pytest.approx((45, *wilson(9, 20))))


def test_every_form_of_the_table_has_them(wins: list[Contrasted], tmp_path: Path) -> None:
    found = of_translations(tmp_path)
    forms = {form: list(report(found.results, found.learned, form, wins)) for form in FORMS}
    (first, header, row), *_ = [
        forms["text"][place : place + 3] for place, line in enumerate(forms["text"]) if line.startswith("pro_nouns")
    ]
    assert first == "pro_nouns, trained on all pairs"
    assert header.split() == ["pro_nouns", "items", "base", "low", "high", "new", "low", "high"]
    assert row.split() == ["all", "20", "45.0", "25.8", "65.8", "97.5", "80.0", "99.7"]
    assert ">15" in "\n".join(forms["text"]) and "$>$15" in "\n".join(forms["latex"])
    rows = [row for row in map(json.loads, forms["jsonl"]) if row["metric"] == "wins"]
    assert [row["test"] for row in rows[:3]] == ["pro_nouns, category case", "pro_nouns, distance >15", "pro_nouns"]
    assert (rows[2]["mean"], rows[2]["seeds"]) == (45, 2) and (rows[2]["low"], rows[2]["high"]) == wilson(9, 20)
    assert {tuple(row) for row in map(json.loads, forms["jsonl"])} == {tuple(rows[0])}
    assert len({line.count("\t") for line in forms["tsv"]}) == 1
    assert list(report(found.results, found.learned, "tsv")) != forms["tsv"]


def test_the_report_draws_them_by_category_and_distance(wins: list[Contrasted], tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("")
    found = replace(of_translations(tmp_path), contrasts=wins)
    text = page(found, tmp_path / "run.toml")
    category, distance = Tags(text).data["pairs"]
    assert (category["values"], category["items"], distance["values"]) == (["all", "case"], [20, 10], [">15"])
    mean, (low, high) = category["scores"][0][0]
    assert (mean, low, high) == pytest.approx((45, *wilson(9, 20)), abs=0.006)
    assert category["systems"] == [list(SYSTEMS).index(name) for name in ("base", "new")]
    assert needed_width(text.replace("<details", "<details open"), 390, tmp_path) <= 390
