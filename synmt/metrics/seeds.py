"""Whether two systems differ by more than chance when each was trained several times, with different seeds.

The difference Δ of two mean scores varies for two reasons: another seed gives another model, and another test set gives
another score. Its variance is estimated as

    V = s²₁/k₁ + s²₂/k₂ + max(0, B - W)

s²/k: the variance of the k scores of a system, over k. These runs are independent, so the seeds of two systems are not
paired. It contains what each model does differently on the sentences of this very test set.
B: the variance of Δ over bootstrap resamples of the sentences, drawn once for all models, so sentences are paired.
W: the part of B that s²/k contains already: the variance over the resamples of each model's distance from the mean of
its system, summed over models, over k (k - 1).

p is that of Δ/√V by Student's t, two-sided, with Satterthwaite's degrees of freedom. Without sentences this is Welch's
test. A bootstrap over the seeds themselves would be too optimistic: with few of them, it neither sees that s² is a
guess nor reaches its tails. With one seed per system, V is B alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synmt.metrics.metric import Metric, Statistics
from synmt.metrics.significance import ROUNDING, Floats, draws, weighted_sums

RESAMPLES, SEED = 2000, 12345
MOST_DEGREES = 1e5  # of freedom; beyond, t is normal


@dataclass(frozen=True)
class Trained:
    """One system by one metric on a test. scores: [k] of its k models; resampled: [k, r], their scores on r resamples
    of the sentences."""

    scores: Floats
    resampled: Floats

    @property
    def variance(self) -> float:
        """Return that of the mean score over other seeds; 0 of one seed, which does not tell."""
        k = len(self.scores)
        return float(self.scores.var(ddof=1)) / k if k > 1 else 0.0

    @property
    def variance_of_sentences(self) -> float:
        """Return the part of `variance` that comes from the sentences, on which each model does differently."""
        k = len(self.scores)
        distances = self.resampled - self.resampled.mean(axis=0)
        return float(distances.var(axis=1, ddof=1).sum()) / (k * (k - 1)) if k > 1 else 0.0


def trained(
    metrics: Sequence[Metric[Any]],
    statistics: Sequence[Sequence[Statistics]],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Trained]:
    """Return one system by each metric. statistics: of the sentences, [models][metrics] of [n, k].

    Systems with the same number of sentences share the resamples.
    """
    sums = weighted_sums(draws(len(statistics[0][0]), resamples, seed), [part for row in statistics for part in row])
    count = len(metrics)
    return [
        Trained(
            np.array([metric.score(row[place].sum(axis=0)).score for row in statistics]),
            np.array([metric.scores(part) for part in sums[place::count]]),
        )
        for place, metric in enumerate(metrics)
    ]


def p_value(one: Trained, other: Trained, sentences: int) -> float:
    """Return how likely mean scores differ by as much if other seeds and sentences would give the same means."""
    difference = abs(float(one.scores.mean() - other.scores.mean()))
    if difference <= ROUNDING or sentences < 2:
        return 1.0
    resampled = one.resampled.mean(axis=0) - other.resampled.mean(axis=0)
    of_sentences = float(resampled.var(ddof=1)) - one.variance_of_sentences - other.variance_of_sentences
    of_sentences = max(0.0, of_sentences) * sentences / (sentences - 1)  # a bootstrap divides by n
    parts = [
        (one.variance, len(one.scores) - 1),
        (other.variance, len(other.scores) - 1),
        (of_sentences, sentences - 1),
    ]
    variance = sum(each for each, _ in parts)
    doubt = sum(each**2 / degrees for each, degrees in parts if each)
    if not doubt:
        return 0.0
    return two_sided(difference / math.sqrt(variance), variance**2 / doubt)


def two_sided(t: float, degrees: float) -> float:
    """Return how likely Student's t is as far from 0. degrees: of freedom, 1 or more, not always whole."""
    degrees = min(degrees, MOST_DEGREES)
    first, cells = math.atan(t / math.sqrt(degrees)), 20_000
    width = (math.pi / 2 - first) / cells
    tail = width * (np.cos(first + width * (np.arange(cells) + 0.5)) ** (degrees - 1)).sum()
    half = math.exp(math.lgamma(0.5) + math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2)) / 2
    return min(1.0, float(tail) / half)


def holm(ps: Sequence[float]) -> list[float]:
    """Return each p corrected for their number, so that all below a level are right at once (Holm 1979)."""
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = largest
    return corrected
