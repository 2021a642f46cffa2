"""The test for systems with several seeds, compared with loops and known distributions, and on equal systems."""

import math
from collections.abc import Sequence
from statistics import mean, variance
from typing import Any

import numpy as np
import pytest
from sacrebleu import corpus_bleu

from synmt.metrics.metric import Compared, Score, Statistics
from synmt.metrics.significance import Trained, holm, p_value, trained, two_sided
from synmt.metrics.translations import bleu, ter
from tests.metrics.test_significance import NONE, REFERENCE, noisy


class Mean:
    """A metric whose score is the mean of one number per sentence."""

    compares: Compared = "translations"
    higher_is_better = True

    def statistics(self, hypotheses: Sequence[Any], references: Sequence[Sequence[Any]]) -> Statistics:
        return np.array([[float(each), 1.0] for each in hypotheses])

    def scores(self, totals: Statistics) -> Any:
        return totals[:, 0] / totals[:, 1]

    def score(self, totals: Statistics) -> Score:
        return Score("mean", float(totals[0] / totals[1]), "")


def models(system: int, seeds: int) -> list[list[str]]:
    """Return translations by several models of a system. Seeds differ in which words are wrong, and how many."""
    return [noisy(REFERENCE, 0.3 - 0.03 * system + 0.02 * seed, 10 * system + seed) for seed in range(seeds)]


def slow_p(one: list[list[str]], other: list[list[str]], resamples: int, seed: int) -> float:
    """Compute p from the texts with loops over resamples, models and sentences."""
    n = len(REFERENCE)
    generator = np.random.default_rng(seed)
    drawn = [list(row) for row in generator.integers(n, size=(resamples, n))]

    def score(model: list[str], places: Sequence[int]) -> float:
        lines, references = [model[place] for place in places], [REFERENCE[place] for place in places]
        return corpus_bleu(lines, [references], tokenize="none", force=True).score

    scores = [[score(model, range(n)) for model in system] for system in (one, other)]
    on_draws = [[[score(model, places) for model in system] for places in drawn] for system in (one, other)]
    between = [variance(each) / len(each) if len(each) > 1 else 0.0 for each in scores]
    within = []
    for system in on_draws:
        k, total = len(system[0]), 0.0
        for model in range(k):
            total += variance([row[model] - mean(row) for row in system])
        within.append(total / (k * (k - 1)) if k > 1 else 0.0)
    of_draws = variance([mean(mine) - mean(its) for mine, its in zip(*on_draws, strict=True)])
    of_sentences = max(0.0, of_draws - sum(within)) * n / (n - 1)
    total = sum(between) + of_sentences
    warnings = [value**2 / (len(each) - 1) for value, each in zip(between, scores, strict=True) if value]
    degrees = total**2 / (sum(warnings) + of_sentences**2 / (n - 1))
    difference = abs(mean(scores[0]) - mean(scores[1]))
    least = two_sided(difference / math.sqrt(of_draws * n / (n - 1)), n - 1)
    return max(least, two_sided(difference / math.sqrt(total), degrees))


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_p_matches_loops(seeds: int) -> None:
    metric = bleu(NONE)
    systems = [models(system, seeds) for system in (0, 1)]
    one, other = (
        trained([metric], [[metric.statistics(model, [REFERENCE])] for model in system], 30, 7)[0] for system in systems
    )
    assert p_value(one, other, len(REFERENCE)) == pytest.approx(slow_p(systems[0], systems[1], 30, 7), rel=1e-6)


def test_metrics_are_independent() -> None:
    both, statistics = [bleu(NONE), ter()], []
    for model in models(0, 3):
        statistics.append([metric.statistics(model, [REFERENCE]) for metric in both])
    together = trained(both, statistics, 20)
    for place, metric in enumerate(both):
        (alone,) = trained([metric], [[row[place]] for row in statistics], 20)
        assert (alone.scores == together[place].scores).all()
        assert (alone.resampled == together[place].resampled).all()


@pytest.mark.parametrize(
    ("t", "degrees", "p"),
    [
        (12.70620, 1, 0.05), (4.302653, 2, 0.05), (3.182446, 3, 0.05), (2.306004, 8, 0.05), (63.65674, 1, 0.01),
        (2.581, 1000, 0.01), (1.959964, 1e9, 0.05), (5.0, 1e9, 5.733e-7), (0.0, 1.5, 1.0),
    ],
)  # fmt: skip
def test_quantiles_of_students_t(t: float, degrees: float, p: float) -> None:
    assert two_sided(t, degrees) == pytest.approx(p, rel=2e-3)


def test_without_sentence_variance_it_is_welchs_test() -> None:
    one = np.array([27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4])
    other = np.array([27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.0, 23.9])
    found = [Trained(scores, np.repeat(scores[:, None], 3, axis=1)) for scores in (one, other)]
    of_one, of_other = one.var(ddof=1) / 15, other.var(ddof=1) / 15
    t = abs(one.mean() - other.mean()) / math.sqrt(of_one + of_other)
    degrees = 14 * (of_one + of_other) ** 2 / (of_one**2 + of_other**2)
    assert p_value(found[0], found[1], 1000) == pytest.approx(two_sided(t, degrees))


def test_constant_scores() -> None:
    same, less = (Trained(np.array([each, each]), np.full((2, 9), each)) for each in (30.0, 20.0))
    assert p_value(same, same, 100) == 1.0
    assert p_value(same, less, 100) == 0.0
    assert p_value(same, less, 1) == 1.0  # one sentence is not enough to generalize from


def test_holms_correction() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


# Shares of the variance of a model's score on the test set: between seeds, of a seed on these sentences, and of a
# system on these sentences.
KINDS = {"seeds": (0.9, 0.1, 0.0), "both": (0.5, 0.5, 0.0), "sentences": (0.1, 0.9, 0.0), "systems": (0.3, 0.3, 0.4)}


def share_below(kind: str, seeds: int, effect: float, runs: int, source: int) -> float:
    """Return how often p is below 0.05 if the means of two systems differ by `effect` standard deviations of the score
    of one model."""
    generator, n = np.random.default_rng(source), 100
    of_seeds, of_sentences, of_systems = np.sqrt(KINDS[kind])
    below = 0
    for run in range(runs):
        common = generator.normal(0, 20, n)  # hard and easy sentences, shared by all systems
        systems = []
        for system in range(2):
            own = common + generator.normal(0, of_systems * math.sqrt(n), n) + system * effect
            scores = own + generator.normal(0, of_seeds, (seeds, 1))
            scores = scores + generator.normal(0, of_sentences * math.sqrt(n), (seeds, n))
            statistics = [[Mean().statistics(row, [])] for row in scores]
            systems.append(trained([Mean()], statistics, 100, run)[0])
        below += p_value(systems[0], systems[1], n) < 0.05
    return below / runs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_equal_systems_rarely_differ(kind: str, seeds: int) -> None:
    assert share_below(kind, seeds, 0.0, 400, 3) <= 0.06


def test_p_is_never_below_that_of_the_bootstrap() -> None:
    """This holds for two models with equal scores, which do not show that other seeds would have them, too."""
    generator = np.random.default_rng(7)
    for seeds in (2, 3, 5):
        rows = generator.normal(0, 1, (2, seeds, 100))
        rows -= rows.mean(axis=2, keepdims=True)
        systems = [[[Mean().statistics(row + system, [])] for row in rows[system]] for system in (0, 1)]
        one, other = (trained([Mean()], each, 200)[0] for each in systems)
        assert one.scores.std() < 1e-9
        spread = (one.resampled.mean(axis=0) - other.resampled.mean(axis=0)).std(ddof=1)
        assert p_value(one, other, 100) >= two_sided(1 / spread, 1e9) > 0


def test_with_one_seed_only_sentences_are_tested() -> None:
    """As the table warns, a difference between seeds can then look like a difference between systems."""
    assert share_below("sentences", 1, 0.0, 300, 4) < 0.12
    assert share_below("seeds", 1, 0.0, 300, 4) > 0.3


@pytest.mark.parametrize(("seeds", "least"), [(3, 0.6), (5, 0.95)])
def test_a_difference_is_found(seeds: int, least: float) -> None:
    assert share_below("both", seeds, 3.0, 150, 5) > least
