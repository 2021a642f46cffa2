"""Scores from Python equal those of sacreBLEU and of the command."""

import json
import math
import pickle
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from sacrebleu import BLEU, CHRF, TER

import synmt
from tests.cli.commands import output_of

HYPOTHESES = ["The dog bit the man.", "It was not unexpected.", "The man bit him first."]
REFERENCES = [
    ["The dog bit the man.", "It was not unexpected.", "The man bit him first."],
    ["The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."],
]


@pytest.mark.parametrize("references", [REFERENCES, REFERENCES[1:]])
def test_scores_equal_those_of_sacrebleu(references: list[list[str]]) -> None:
    found = synmt.score(
        HYPOTHESES, *references, metrics=["bleu", "chrf++", "ter"], config=synmt.MetricConfig(tokenize="intl")
    )
    metrics = BLEU(tokenize="intl"), CHRF(word_order=2), TER()
    for score, metric in zip(found, metrics, strict=True):
        assert score.score == pytest.approx(metric.corpus_score(HYPOTHESES, references).score)
        assert score.signature == str(metric.get_signature())


SYSTEMS = {"<b>a & b</b>": HYPOTHESES, "line\nfeed": HYPOTHESES[::-1]}
NUMBERS = {name: [0.25, float(place)] for place, name in enumerate(SYSTEMS)}


@pytest.mark.parametrize(
    ("results", "command"),
    [
        (lambda: synmt.score(HYPOTHESES, REFERENCES[1]), "score"),
        (lambda: synmt.significance(SYSTEMS, REFERENCES[0], metrics=["bleu", "ter"]), "significance"),
        (lambda: synmt.segment_test(NUMBERS), "segment-test"),
        (lambda: synmt.sign_test(NUMBERS), "sign-test"),
    ],
)
def test_a_notebook_shows_results_as_a_table(results: Callable[[], Any], command: str) -> None:
    """They are lists, and a notebook shows the table and the notes of the command, with escaped text."""
    found = results()
    assert found and found == list(found) and repr(found) == repr(list(found))
    assert pickle.loads(pickle.dumps(found)) == found
    shown = ElementTree.fromstring(f"<div>{found._repr_html_()}</div>")
    table = shown.find("table")
    assert table is not None
    header, *rows = [[cell.text or "" for cell in row] for row in table]
    assert header[0] == "system" and {len(row) for row in rows} == {len(header)}
    names = ["hypotheses"] if command == "score" else ["<b>a & b</b>", "line\\nfeed"]
    assert [row[0] for row in rows] == names or [row[0] for row in rows] == names[1:]
    notes = [each.text or "" for each in shown.findall("div")]
    assert any("sacrebleu" in each or "p: " in each or "nrefs:" in each for each in notes), notes


def test_iterators_and_line_ends_are_accepted() -> None:
    (bleu,) = synmt.score((f"{each}\n" for each in HYPOTHESES), iter(REFERENCES[0]), metrics="bleu")
    assert bleu.score == pytest.approx(100)


def test_words_are_accepted_instead_of_text() -> None:
    words = [each.split() for each in HYPOTHESES]
    assert synmt.score(words, *REFERENCES) == synmt.score(HYPOTHESES, *REFERENCES)


def test_links_and_parses_are_scored() -> None:
    aer, precision = synmt.score(["0-0 1-1", ""], ["0-0 1p1", ""], metrics=["aer", "precision"])
    assert (aer.score, precision.score) == (0, 100)
    record = synmt.ParseRecord(tokens=["a", "b"], heads=[2, 0], deprels=["x", "root"])
    other = synmt.ParseRecord(tokens=["a", "b"], heads=[0, 1], deprels=["root", "x"])
    assert [each.score for each in synmt.score([record, other], [record, record], metrics=["uas"])] == [50]


def test_results_of_other_functions_are_scored() -> None:
    translations = [synmt.Translation(text=each) for each in HYPOTHESES]
    assert synmt.score(translations, *REFERENCES) == synmt.score(HYPOTHESES, *REFERENCES)
    links = [synmt.WordLinks(["a", "b"], ["c"], {(0, 0): 0.9, (1, 0): 0.8}, 0.9)]
    assert synmt.score(links, ["0-0"], metrics="precision")[0].score == 50


def test_significance_equals_that_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    systems, quick = {"one": HYPOTHESES, "other": REFERENCES[1]}, synmt.SignificanceConfig(resamples=1000, seed=3)
    found = synmt.significance(systems, REFERENCES[0], metrics=["bleu", "chrf"], test=quick)
    for name, lines in (*systems.items(), ("references", REFERENCES[0])):
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    asked = "significance one other --references references --metric bleu,chrf --resamples 1000 --seed 3 --format jsonl"
    rows = [json.loads(line) for line in output_of(*asked.split()).splitlines()]
    assert [(each.system, each.score.score, each.difference, each.p) for each in found] == [
        (row["system"], row["score"], row["difference"] or 0.0, 1.0 if row["p"] is None else row["p"]) for row in rows
    ]


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_tests_of_numbers_equal_those_of_the_commands(lower_is_better: bool, tmp_path: Path) -> None:
    scores = {"one": [0.5, 0.25, 0.75, 1.0] * 5, "other": [0.5, 0.5, 0.5, 1.25] * 5}
    (tmp_path / "table").write_text(
        "one\tother\n" + "".join(f"{a}\t{b}\n" for a, b in zip(*scores.values(), strict=True))
    )
    found = synmt.segment_test(scores, synmt.SignificanceConfig(resamples=500, seed=3), lower_is_better=lower_is_better)
    options = ["--lower-is-better"] * lower_is_better
    asked: list[str | Path] = [
        "segment-test",
        tmp_path / "table",
        *options,
        "--resamples",
        "500",
        "--seed",
        "3",
        "--format",
        "jsonl",
    ]
    _, row = [json.loads(line) for line in output_of(*asked).splitlines()]
    assert (row["score"], row["difference"], row["p"]) == (found[1].score.score, found[1].difference, found[1].p)
    rows = [f"{name}\tBLEU\t{score}\t{n}" for name, column in scores.items() for n, score in enumerate(column)]
    (tmp_path / "scores").write_text("\n".join(["system\tmetric\tscore\tset", *rows, ""]))
    (row,) = [
        json.loads(line) for line in output_of("sign-test", tmp_path / "scores", "--format", "jsonl").splitlines()
    ]
    assert [asdict(each) for each in synmt.sign_test(scores)] == [row]


@pytest.mark.parametrize("test", [synmt.segment_test, synmt.sign_test])
@pytest.mark.parametrize(
    ("scores", "kind", "cause"),
    [
        ([[1.0], [2.0]], TypeError, "must be a mapping from names to numbers"),
        ({"a": [], "b": []}, ValueError, "^scores: "),
        ({"a": [1.0]}, TypeError, "fewer than two systems"),
        ({"a": [1.0], "b": [1.0, 2.0]}, ValueError, "^scores: 'a' has 1, 'b' has 2$"),
        ({"a": [1.0], "b": [math.nan]}, ValueError, "^scores: number 1 of 'b' is not a finite number: nan$"),
        ({"a": [1.0], "b": ["2"]}, ValueError, "number 1 of 'b' is not a finite number: '2'"),
    ],
)
def test_scores_that_cannot_be_compared(test: Any, scores: object, kind: type[Exception], cause: str) -> None:
    with pytest.raises(kind, match=cause):
        test(scores)


@pytest.mark.parametrize(
    ("wrong", "kind", "cause"),
    [
        (lambda: synmt.score(["a"], ["a", "b"]), synmt.BadInput, "^hypotheses: 1 line, references: 2 lines$"),
        (lambda: synmt.score([], []), synmt.BadInput, "^no lines to score$"),
        (lambda: synmt.score(["1-x"], ["0-0"], metrics="aer"), synmt.BadInput, "^hypotheses:1: "),
        (lambda: synmt.score("a", ["a"]), TypeError, "not a single str"),
        (lambda: synmt.score([synmt.ParseRecord(text="a")], ["a"]), TypeError, "^hypotheses:1: .* not a ParseRecord"),
        (lambda: synmt.score(["a"]), TypeError, "no references"),
        (lambda: synmt.significance({"a": ["a"]}, ["a"]), TypeError, "at least two systems"),
        (lambda: synmt.significance([["a"], ["b"]], ["a"]), TypeError, "must be a mapping from names"),  # type: ignore[arg-type]
        (lambda: synmt.significance({"a": ["a"], "references": ["b"]}, ["a"]), ValueError, "name of the references"),
        (lambda: synmt.score(["a"], ["a"], metrics="blue"), ValueError, "^metrics: 'blue' is not one of bleu, "),  # type: ignore[arg-type]
        (lambda: synmt.score(["a"], ["a"], metrics="bleurt"), ValueError, "^metrics: synmt does not compute bleurt"),  # type: ignore[arg-type]
        (lambda: synmt.score(["a"], ["a"], metrics=[]), ValueError, r"^metrics cannot be \[\]$"),
        (lambda: synmt.score([1], ["a"]), TypeError, "^hypotheses:1: .* not int"),  # type: ignore[list-item]
        (lambda: synmt.score(["a"], ["a"], metrics=["bleu", "aer"]), ValueError, "compare different things"),
        (lambda: synmt.score(["a"], ["a"], lowercase=True), TypeError, "'lowercase'"),  # type: ignore[call-arg]
        (
            lambda: synmt.significance({"a": ["a"], "b": ["a"]}, ["a"], test=synmt.SignificanceConfig(level=0.1)),
            ValueError,
            "^level has no effect: it marks p values in a table$",
        ),
    ],
)
def test_wrong_arguments(wrong: Callable[[], object], kind: type[Exception], cause: str) -> None:
    with pytest.raises(kind, match=cause):
        wrong()
