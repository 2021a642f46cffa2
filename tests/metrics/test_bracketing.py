"""evalb's counts, on examples worked out by hand and on evalb's own sample."""

import json
from pathlib import Path

import pytest

import synmt
from synmt.metrics.metric import corpus_score
from synmt.metrics.parses import Bracketing, read_parse
from synmt.streams import Note
from synmt.trees.constituency import TreeError

SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "trees" / "evalb_sample"
GOLD = "(S (NP (PRP He)) (VP (VBZ is) (NP (NN home))) (. .))"


def counts(gold: str, predicted: str) -> list[int]:
    """Return the counts: matched, gold, predicted, right tags, words, complete, counted, errors."""
    row: list[int] = Bracketing().statistics([read_parse(predicted)], [[read_parse(gold)]])[0].tolist()
    return row


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        (GOLD, [4, 4, 4, 3, 3, 1, 1, 0]),
        (f"(TOP {GOLD})", [4, 4, 4, 3, 3, 1, 1, 0]),
        ("(S (NP (X He)) (VP (X is) (X home)) (. .))", [3, 4, 3, 0, 3, 0, 1, 0]),
        ("(S (NP-SBJ=2 (PRP He)) (VP (VBZ is) (NP (NN home)) (X (. .))))", [4, 4, 4, 3, 3, 1, 1, 0]),
        ("(S (VP (PRP He)) (NP (VBZ is) (NP (NN home))) (. .))", [2, 4, 4, 3, 3, 0, 1, 0]),
        ("(S (NP (PRP He)) (VP (VBZ is) (NP (NN home))) (NN .))", [0, 0, 0, 0, 0, 0, 0, 1]),
        ("", [0, 0, 0, 0, 0, 0, 0, 1]),
    ],
    ids=["same", "TOP", "flatter", "punctuation and functions", "labels", "punctuation as a word", "none"],
)
def test_counts_worked_by_hand(predicted: str, expected: list[int]) -> None:
    assert counts(GOLD, predicted) == expected


def test_a_doubled_bracket_matches_once() -> None:
    assert counts("(NP (NP (A a)))", "(NP (A a))")[:3] == [1, 2, 1]


def test_particles_are_adverbs() -> None:
    assert counts("(VP (VB go) (PRT (RP on)))", "(VP (VB go) (ADVP (RP on)))")[:3] == [2, 2, 2]


def test_records_and_brackets_compare() -> None:
    record, brackets = read_parse('{"tree": "(NP (NN x))"}'), read_parse("(NP (NN x))")
    assert Bracketing().statistics([record], [[brackets]]).tolist() == [[1, 1, 1, 1, 1, 1, 1, 0]]
    with pytest.raises(TreeError):
        read_parse("(NP (NN x)")


@pytest.mark.skipif(not SAMPLE.exists(), reason="evalb's sample is not here")
def test_the_sample_of_evalb_is_scored_alike() -> None:
    """The sample's parameter file treats TT as T and This as this. COLLINS.prm does not, so the test replaces them."""
    trees = []
    for side in ("gld", "tst"):
        text = (SAMPLE / f"sample.{side}").read_text().replace("TT", "T").replace("This", "this")
        trees.append([read_parse(line) for line in text.splitlines()])
    gold, predicted = trees
    score = corpus_score(Bracketing(), predicted, [gold])
    assert score.signature.startswith("rules:COLLINS|sentences:17|errors:7|")
    assert score.line.endswith("(R = 87.76 P = 90.53 complete = 52.94 tags = 98.15)")


@pytest.mark.parametrize("line", ["He is here .", "(S (X a)) b", "a (S (X b))"])
def test_words_outside_brackets_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match="words outside brackets"):
        read_parse(line)


UNLABELLED = ["{}", "( {} )", "( ( {}))", "(TOP {})", "(TOP ( {}))", "( (TOP {}))"]
PHRASES = ["(S (NP (PRP He)) (VP (VBZ is) (NP (NN home))))", "(NP (PRP He)) (VP (VBZ is))"]


@pytest.mark.parametrize("phrases", PHRASES, ids=["one phrase", "two phrases"])
@pytest.mark.parametrize("gold", UNLABELLED)
@pytest.mark.parametrize("predicted", UNLABELLED)
def test_tops_without_a_label_do_not_count(gold: str, predicted: str, phrases: str) -> None:
    matched, in_gold, in_predicted, *_ = counts(gold.format(phrases), predicted.format(phrases))
    assert matched == in_gold == in_predicted == phrases.count("(NP") + phrases.count("(VP") + phrases.count("(S")
    records = [json.dumps({"tree": each.format(phrases)}) for each in (gold, predicted) if each != "{}"]
    if len(records) == 2:
        assert counts(*records)[:3] == [matched] * 3


def test_a_bracket_without_a_label_inside_counts() -> None:
    assert counts("(S ( (NP (NN a))))", "(S (NP (NN a)))")[:3] == [2, 3, 2]


@pytest.mark.parametrize("empty", ["(())", "()", "( )", "( ( ) )", "(TOP)", "(TOP ())", "(ROOT )", "(S1 (()))", "  "])
def test_brackets_without_words_are_an_error_and_not_the_end(empty: str) -> None:
    assert counts(GOLD, empty) == counts(empty, GOLD) == counts(empty, empty) == [0, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("broken", ["(()", "())", "(S", "(S)", "(()) a"])
def test_broken_brackets_are_refused(broken: str) -> None:
    with pytest.raises(ValueError):
        read_parse(broken)


@pytest.mark.parametrize("label", ["ROOT", "S1", "VROOT"])
def test_a_top_that_only_one_side_has_is_announced(label: str) -> None:
    bare, wrapped = f"{GOLD}\n", f"({label} {GOLD})\n"
    for gold, predicted in ((bare, wrapped), (wrapped, bare)):
        with pytest.warns(Note, match="hypotheses: 2 trees and the reference differ in a top bracket, which counts"):
            synmt.score([predicted] * 2, [gold] * 2, metrics="evalb")
    assert synmt.score([wrapped, "(())"], [wrapped, bare], metrics="evalb")[0].score == 100
