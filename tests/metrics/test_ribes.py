"""RIBES, compared with its definition and with the numbers of its authors' program."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.metrics.config import MetricConfig
from synmt.metrics.metric import corpus_score
from synmt.metrics.translations import Ribes, reference_places, ribes

FIXTURES = Path(__file__).parents[3] / "shared" / "data" / "ribes"
needs_fixtures = pytest.mark.skipif(not FIXTURES.exists(), reason="needs the outputs that the program scored")
SENTENCES = st.lists(st.sampled_from("abcd"), max_size=9)


def occurrences(ngram: list[str], words: list[str]) -> list[int]:
    return [start for start in range(len(words)) if words[start : start + len(ngram)] == ngram]


def slow_places(hypothesis: list[str], reference: list[str]) -> list[int]:
    """Find the place of each word from the shortest n-gram that has the word at one end and occurs once on each side;
    n-grams that end with the word come first."""
    places = []
    for word in range(len(hypothesis)):
        for n in range(1, len(hypothesis) + 1):
            found = []
            for start, offset in ((word - n + 1, n - 1), (word, 0)):
                ngram = hypothesis[start : start + n]
                if start >= 0 and len(ngram) == n and len(occurrences(ngram, hypothesis)) == 1:
                    there = occurrences(ngram, reference)
                    found += [there[0] + offset] if len(there) == 1 else []
            if found:
                places.append(found[0])
                break
    return places


@given(SENTENCES, SENTENCES)
def test_places_match_the_definition(hypothesis: list[str], reference: list[str]) -> None:
    places = reference_places(hypothesis, reference)
    assert places == slow_places(hypothesis, reference)
    assert all(word in hypothesis for word in (reference[place] for place in places))


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("he saw the dog yesterday", "yesterday he saw the dog", 0.6),
        ("he saw the dog", "yesterday he saw the dog", 0.975310),
        ("a", "a", 1.0),
        ("a b c d", "a b c d", 1.0),
        ("the the the", "the cat", 0.0),
        (
            "he was interested in world history because he read the book",
            "he read the book because he was interested in world history",
            0.345455,
        ),
        ("x y", "a b", 0.0),
        ("", "a b", 0.0),
        ("a b", "", 0.0),
        ("b a", "a b", 0.0),
        ("a b a b c", "a b c a b", 0.880112),
    ],
)
def test_worked_numbers(hypothesis: str, reference: str, expected: float) -> None:
    assert ribes(hypothesis.split(), reference.split()) == pytest.approx(expected, abs=5e-7)


def test_the_formula() -> None:
    """Three of the four words match the five-word reference, and one pair of them is out of order."""
    expected = (2 / 3) * (3 / 4) ** 0.5 * math.exp(1 - 5 / 4) ** 0.2
    assert ribes(list("acbx"), list("abcde"), 0.5, 0.2) == pytest.approx(expected)


@given(SENTENCES.filter(bool))
def test_distinct_words_match_themselves(words: list[str]) -> None:
    numbered = [f"{word}{place}" for place, word in enumerate(words)]
    assert ribes(numbered, numbered) == 1


def metric(**settings: Any) -> Ribes:
    return Ribes(MetricConfig("none", **settings))


def test_case_references_and_mean_are_as_documented() -> None:
    hypotheses, references = ["A b c", "x y"], ["a B c", "y x"]
    score = corpus_score(metric(), hypotheses, [references])
    assert score.score == 50
    assert score.line.startswith("RIBES|nrefs:1|case:lc|tok:none|alpha:0.25|beta:0.1|synmt:")
    assert corpus_score(metric(case="mixed"), hypotheses, [references]).score == 0
    best = corpus_score(metric(ribes_alpha=0.5), hypotheses, [references, ["z", "x y"]])
    assert best.score == 100
    assert best.signature.startswith("nrefs:2|case:lc|tok:none|alpha:0.5|")


def lines(name: str) -> list[str]:
    return (FIXTURES / name).read_text(encoding="utf-8").split("\n")[:-1]


@needs_fixtures
def test_sentence_scores_equal_those_of_the_program() -> None:
    hypotheses, reference = lines("nt16.de-en.transformer.hyp.tok.en"), lines("nt16.de-en.ref.tok.en")
    found = metric().statistics(hypotheses, [reference])[:, 0] / 100
    expected = [float(line.split()[0]) for line in lines("expected_sentence_scores.nt16.de-en.transformer.txt")]
    assert found.tolist() == pytest.approx(expected[:-1], abs=6e-7)
    assert found.mean() == pytest.approx(expected[-1], abs=5e-7)


@needs_fixtures
@pytest.mark.parametrize(
    ("hypotheses", "references", "options", "expected"),
    [
        ("edge.hyp", ["edge.ref"], {}, 0.458396),
        ("nt16.de-en.transformer_pascal.hyp.tok.en", ["nt16.de-en.ref.tok.en"], {"case": "mixed"}, 0.809140),
        ("nt17.en-tr.transformer.hyp.tok.tr", ["nt17.en-tr.ref.tok.tr"], {}, 0.734305),
        (
            "nt16.de-en.transformer.hyp.tok.en",
            ["nt16.de-en.ref.tok.en"],
            {"ribes_alpha": 0.5, "ribes_beta": 0.2},
            0.713075,
        ),
        (
            "nt16.de-en.transformer.hyp.tok.en",
            ["nt16.de-en.ref.tok.en", "nt16.de-en.transformer_pascal.hyp.tok.en"],
            {},
            0.900451,
        ),
    ],
    ids=["edge cases", "case", "Turkish", "alpha and beta", "two references"],
)
def test_corpus_scores_equal_those_of_the_program(
    hypotheses: str, references: list[str], options: dict[str, Any], expected: float
) -> None:
    score = corpus_score(metric(**options), lines(hypotheses), [lines(name) for name in references])
    assert score.score / 100 == pytest.approx(expected, abs=5e-7)
