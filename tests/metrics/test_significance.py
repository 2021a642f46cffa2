"""Significance tests, compared with sacreBLEU and with sentences drawn one by one; and laws."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest, Result

from synmt.metrics.config import MetricConfig, SignificanceConfig
from synmt.metrics.links import LinkMetric
from synmt.metrics.metric import Metric, corpus_score
from synmt.metrics.parses import Bracketing, read_parse
from synmt.metrics.significance import (
    RESAMPLES,
    SEED,
    TESTS,
    Comparison,
    compare,
    confidence_intervals,
    draws,
    p_value,
    sentence_statistics,
    shifted,
    shifted_sizes,
    swapped,
    swaps,
    t_test,
    trained,
    two_sided,
    weighted_sums,
    wins,
)
from synmt.metrics.translations import Ribes, bleu, chrf, ter
from synmt.text.links import read_links
from tests.metrics.inputs import given_input

NONE = MetricConfig("none")
RIBES = Ribes(NONE)


def noisy(lines: Sequence[str], errors: float, seed: int) -> list[str]:
    """Return the lines with some of their words replaced."""
    source = random.Random(seed)
    return [
        " ".join(source.choice("xyz") if source.random() < errors else word for word in line.split()) for line in lines
    ]


def references(sentences: int, seed: int = 0) -> list[str]:
    source = random.Random(seed)
    return [" ".join(source.choices("abcdefghij", k=source.randrange(4, 12))) for _ in range(sentences)]


REFERENCE = references(150)
BASE, LIKE_BASE, BETTER = noisy(REFERENCE, 0.30, 1), noisy(REFERENCE, 0.29, 2), noisy(REFERENCE, 0.2, 3)


def found(
    metric: Metric[Any],
    systems: Sequence[Sequence[Any]],
    test: str,
    reference: Sequence[Any] = REFERENCE,
    resamples: int = 500,
    seed: int = 12345,
    **options: Any,
) -> list[Comparison]:
    findings = compare(given_input([metric], systems, [reference]), test, resamples, seed, **options)
    return [row[0] for row in findings.comparisons]


def test_worked_numbers() -> None:
    differences = np.array([0.5, 1.2, 0.8, 1.9, 0.1, 1.0, 0.7, 1.4])
    assert shifted(differences, 0.9, 8) == 0.125
    assert wins(differences, 0.9, 8) == 0
    assert shifted_sizes(differences, 0.9, 8) == 2 / 9
    spread = differences.std(ddof=1) * (8 / 7) ** 0.5
    assert t_test(differences, 0.9, 8) == two_sided(0.9 / spread, 7)
    assert swapped(differences, 1.2, 8) == 4 / 9
    assert wins(differences - 0.7, 0.2, 8) == 3 / 8


def test_resamples_equal_those_of_sacrebleu() -> None:
    """This holds for one block of resamples and for several."""
    sentences, resamples = 700, 6000
    drawn = np.random.default_rng(5).choice(sentences, size=(resamples, sentences), replace=True)
    blocks = list(draws(sentences, resamples, 5))
    assert len(blocks) == 2
    counts = np.vstack(blocks)
    assert (counts.sum(axis=1) == sentences).all()
    for row in (0, 1, 5999):
        assert (counts[row] == np.bincount(drawn[row], minlength=sentences)).all()


def test_intervals_equal_those_of_sacrebleu() -> None:
    """sacreBLEU reports half of their width."""
    sacre = BLEU(force=True, tokenize="none")
    theirs: Any = sacre.corpus_score(BASE, [REFERENCE], n_bootstrap=1000)
    metric = bleu(NONE)
    statistics = metric.statistics(BASE, [REFERENCE])
    (((low, high),),) = confidence_intervals([metric], [[statistics]], resamples=1000)
    assert low < theirs.score < high
    assert (high - low) / 2 == pytest.approx(theirs._ci, rel=0.02)


def test_half_of_the_sentences_are_swapped() -> None:
    chosen = np.vstack(list(swaps(900, 5000, 1)))
    assert chosen.shape == (5000, 900)
    assert set(np.unique(chosen)) == {0, 1}
    assert abs(chosen.mean() - 0.5) < 0.001


def test_products_equal_sums_over_drawn_sentences() -> None:
    metrics = [bleu(NONE), chrf(), ter()]
    parts = [metric.statistics(BASE[:30], [REFERENCE[:30]]) for metric in metrics]
    (weights,) = draws(30, 20, 1)
    for metric, sums in zip(metrics, weighted_sums([weights[:7], weights[7:]], parts), strict=True):
        for resample in range(20):
            chosen = np.repeat(np.arange(30), weights[resample].astype(int))
            picked = [BASE[i] for i in chosen], [[REFERENCE[i] for i in chosen]]
            assert metric.scores(sums)[resample] == pytest.approx(corpus_score(metric, *picked).score)


@pytest.mark.parametrize("other", [LIKE_BASE, BETTER], ids=["like", "better"])
@pytest.mark.parametrize(("ours", "theirs"), [("bootstrap-sacrebleu", "bs"), ("randomization", "ar")])
def test_p_equals_that_of_sacrebleu(ours: str, theirs: str, other: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """p is the same up to rounding if the resamples are the same, else within four standard errors."""
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    resamples = 500
    metrics = {"BLEU": BLEU(tokenize="none", force=True), "chrF2": CHRF()}
    named: list[tuple[str, Sequence[str]]] = [("base", BASE), ("other", other)]
    _, results = PairedTest(named, metrics, [REFERENCE], theirs, resamples)()
    for name, metric in (("BLEU", bleu(NONE)), ("chrF2", chrf())):
        (expected,) = (each.p_value for each in results[name] if isinstance(each, Result) and each.p_value is not None)
        _, comparison = found(metric, [BASE, other], ours, resamples=resamples)
        error = 4 * (2 * max(expected * (1 - expected), 1 / resamples) / resamples) ** 0.5
        assert comparison.p == pytest.approx(expected, abs=1.5 / resamples if theirs == "bs" else error)


def test_bootstrap_tests_agree_only_on_large_differences() -> None:
    small = {test: found(bleu(NONE), [BASE, LIKE_BASE], test)[1].p for test in TESTS}
    large = {test: found(bleu(NONE), [BASE, BETTER], test)[1].p for test in TESTS}
    assert max(large.values()) < 0.02
    assert all(0.05 < p < 1 for p in small.values())
    assert small["bootstrap-wins"] != small["bootstrap-sacrebleu"]


CASES: dict[str, tuple[Metric[Any], Any, Any]] = {
    "BLEU": (bleu(NONE), "a b x d", "a b c d"),
    "chrF": (chrf(), "a b x d", "a b c d"),
    "TER": (ter(), "a b x d", "a b c d"),
    "RIBES": (RIBES, "a c b d", "a b c d"),
    "AER": (LinkMetric("AER"), read_links("0-0 1-2"), read_links("0-0 1-1")),
    "recall": (LinkMetric("Recall"), read_links("0-0"), read_links("0-0 1-1")),
    "evalb": (Bracketing(), read_parse("(S (X (T a)))"), read_parse("(S (Y (T a)))")),
}


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("name", CASES)
def test_every_metric_works_with_every_test(name: str, test: str) -> None:
    """Equal systems have p = 1, and a system that is right where the other one is wrong is better."""
    metric, wrong, right = CASES[name]
    gold = [right] * 30
    bad, good = [wrong] * 20 + [right] * 10, [wrong] * 5 + [right] * 25
    same, better = found(metric, [bad, bad, good], test, gold)[1:]
    assert (same.p, same.difference, same.better) == (1, 0, False)
    assert better.p < 0.02
    assert better.better
    assert (better.difference > 0) == metric.higher_is_better
    worse = found(metric, [good, bad], test, gold)[1]
    assert (worse.p, worse.better) == (pytest.approx(better.p, rel=1e-9), False)
    assert worse.difference == -better.difference


WORDS = st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join)


@pytest.mark.parametrize("test", TESTS)
@settings(max_examples=20)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS.filter(bool)), min_size=1, max_size=8), st.integers(0, 99))
def test_laws_on_small_corpora(test: str, rows: list[tuple[str, str, str]], seed: int) -> None:
    one, other, reference = map(list, zip(*rows, strict=True))
    for metric in (bleu(NONE), ter(), RIBES):
        _, comparison = found(metric, [one, other], test, reference, 50, seed)
        _, reverse = found(metric, [other, one], test, reference, 50, seed)
        scores = [corpus_score(metric, system, [reference]).score for system in (one, other)]
        gain = (scores[1] - scores[0]) * (1 if metric.higher_is_better else -1)
        assert comparison.better == (gain > 1e-9)
        assert comparison.difference == pytest.approx(scores[1] - scores[0])
        assert 0 <= comparison.p <= 1
        assert reverse.p == comparison.p
        assert not (comparison.better and reverse.better)


@pytest.mark.parametrize("test", TESTS)
def test_the_order_of_sentences_changes_p_only_by_chance(test: str) -> None:
    order = random.Random(4).sample(range(150), 150)
    shuffled = [[lines[i] for i in order] for lines in (BASE, LIKE_BASE, REFERENCE)]
    p = found(bleu(NONE), [BASE, LIKE_BASE], test, resamples=2000)[1].p
    other = found(bleu(NONE), shuffled[:2], test, shuffled[2], resamples=2000)[1].p
    assert other == pytest.approx(p, abs=4 * (2 * 0.25 / 2000) ** 0.5)


def test_against_best_compares_with_the_best_system_by_each_metric() -> None:
    metrics = [bleu(NONE), ter()]
    findings = compare(given_input(metrics, [BASE, BETTER, LIKE_BASE], [REFERENCE]), "bootstrap-wins", 200, 1, "best")
    for row, against in zip(findings.comparisons, ("b", None, "b"), strict=True):
        assert [comparison.against for comparison in row] == [against, against]
        assert not any(comparison.better for comparison in row)


def test_one_sentence_shows_no_significance() -> None:
    for test in TESTS:
        found = compare(given_input([chrf(NONE)], [["a b"], ["c d"]], [["c d"]]), test, 200, 1).comparisons[1][0]
        assert found.better and found.p == 1


def test_findings_are_explained_and_reproducible() -> None:
    once, again, other = (
        compare(given_input([bleu(NONE)], [BASE, LIKE_BASE], [REFERENCE]), "bootstrap-wins", 100, seed)
        for seed in (1, 1, 2)
    )
    assert once == again != other
    assert (once.test, once.resamples, once.sentences, once.seed) == ("bootstrap-wins", 100, 150, 1)


def test_the_t_test_is_that_of_a_run_with_one_seed() -> None:
    """Up to rounding: the same resamples of the same sentences."""
    metrics = [bleu(NONE), chrf(NONE), ter()]
    systems = [BASE, BETTER, LIKE_BASE]
    statistics = sentence_statistics(given_input(metrics, systems, [REFERENCE]))
    models = [trained(metrics, [row]) for row in statistics]
    found = compare(given_input(metrics, systems, [REFERENCE]), "t-test", RESAMPLES, SEED)
    for system in (1, 2):
        of_run = [p_value(own, base, len(BASE)) for own, base in zip(models[system], models[0], strict=True)]
        assert [each.p for each in found.comparisons[system]] == pytest.approx(of_run, rel=1e-12, abs=1e-300)
    assert SignificanceConfig() == SignificanceConfig("t-test", RESAMPLES, SEED)
