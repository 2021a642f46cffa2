"""Whether a difference between two systems is more than chance, by resampling sentences.

A resample is how often each sentence counts; the product of a matrix of resamples with the statistics of the
sentences gives the sums that they are scored by. All systems and metrics share the resamples, so a test is paired.
Differences are positive where the better system is better; those as large as the observed one count against it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from synmt.metrics.metric import Metric, Score, Statistics, stream_statistics
from synmt.metrics.reading import Input

Floats = npt.NDArray[np.float64]
Against = Literal["first", "best"]

ROUNDING = 1e-9  # scores that differ by less are equal
BLOCK = 4_000_000  # cells of a matrix of resamples: 32 MB


def wins(differences: Floats, observed: float) -> float:
    return float(np.mean(differences < ROUNDING))


def shifted(differences: Floats, observed: float) -> float:
    return float(np.mean(differences - differences.mean() > observed - ROUNDING))


def shifted_sizes(differences: Floats, observed: float) -> float:
    sizes = np.abs(differences)
    return (1 + int(np.sum(sizes - sizes.mean() > observed - ROUNDING))) / (1 + len(sizes))


def swapped(differences: Floats, observed: float) -> float:
    return (1 + int(np.sum(np.abs(differences) > observed - ROUNDING))) / (1 + len(differences))


@dataclass(frozen=True)
class ResamplingTest:
    """definition: of p, for people. p_value: from the differences in resamples and the observed one, positive.

    swaps: whether resamples swap the outputs of both systems, or draw sentences with replacement.
    """

    definition: str
    p_value: Callable[[Floats, float], float]
    swaps: bool = False


TESTS = {
    "bootstrap-wins": ResamplingTest(
        "the share of resamples in which the better system is not better (paired bootstrap, one-sided; Koehn 2004)",
        wins,
    ),
    "bootstrap-shifted": ResamplingTest(
        "the share of resamples whose difference, less the mean of all, is as large as the observed one (paired"
        " bootstrap shifted to no difference, one-sided)",
        shifted,
    ),
    "bootstrap-sacrebleu": ResamplingTest(
        "1 + the resamples whose size of difference, less the mean of all, is as large as the observed one, of 1 +"
        " all (paired bootstrap shifted to no difference, as in sacreBLEU and Moses)",
        shifted_sizes,
    ),
    "randomization": ResamplingTest(
        "1 + the trials in which swapping outputs at random makes a difference of the observed size, of 1 + all"
        " (approximate randomization, two-sided; Riezler & Maxwell 2005)",
        swapped,
        swaps=True,
    ),
}


@dataclass(frozen=True)
class Comparison:
    """One system by one metric, and how it compares with another.

    against: the other system; None for the one that the others are compared with, whose difference is 0 and p is 1.
    difference: its score less the other's. better: whether it is the better of the two.
    """

    system: str
    score: Score
    against: str | None = None
    difference: float = 0.0
    better: bool = False
    p: float = 1.0


@dataclass(frozen=True)
class Findings:
    """comparisons: [systems][metrics]; the rest says how they came about."""

    comparisons: Sequence[Sequence[Comparison]]
    test: str
    resamples: int
    sentences: int
    seed: int


class Contrast(NamedTuple):
    """Indices of a metric, a system, and the system that it is compared with."""

    metric: int
    system: int
    other: int


def compare(given: Input, test: str, resamples: int, seed: int, against: Against = "first") -> Findings:
    """Compare each system with the first or, by each metric, with the best, by the test of that name, of TESTS.

    Raises ValueError if there are no rows.
    """
    statistics = sentence_statistics(given)
    comparisons = [
        [
            Comparison(system, metric.score(part.sum(axis=0)).noted(note))
            for metric, part in zip(given.metrics, parts, strict=True)
        ]
        for system, note, parts in zip(given.systems, given.notes, statistics, strict=True)
    ]
    pairs = []
    for place, metric in enumerate(given.metrics):
        scores = [row[place].score.score for row in comparisons]
        best = max(scores) if metric.higher_is_better else min(scores)
        other = scores.index(best) if against == "best" else 0
        pairs += [Contrast(place, system, other) for system in range(len(scores)) if system != other]
    resampled = swapped_differences if TESTS[test].swaps else bootstrap_differences
    for pair, differences in zip(pairs, resampled(given.metrics, statistics, pairs, resamples, seed), strict=True):
        one, other_one = comparisons[pair.system][pair.metric], comparisons[pair.other][pair.metric]
        observed = one.score.score - other_one.score.score
        p = TESTS[test].p_value(np.sign(observed) * differences, abs(observed)) if abs(observed) > ROUNDING else 1.0
        better = observed * (1 if given.metrics[pair.metric].higher_is_better else -1) > ROUNDING
        comparisons[pair.system][pair.metric] = replace(
            one, against=other_one.system, difference=observed, better=better, p=p
        )
    return Findings(comparisons, test, resamples, len(statistics[0][0]), seed)


def confidence_intervals(
    metrics: Sequence[Metric[Any]],
    statistics: Sequence[Sequence[Statistics]],
    resamples: int = 10_000,
    seed: int = 12345,
) -> list[list[tuple[float, float]]]:
    """Return where 95 % of the scores of resamples lie, of [systems][metrics]: lowest, highest (Koehn 2004, section 3).

    statistics: of the sentences, [systems][metrics] of [n, k].
    """
    sums = iter(
        weighted_sums(draws(len(statistics[0][0]), resamples, seed), [part for row in statistics for part in row])
    )
    return [
        [tuple(np.percentile(metric.scores(next(sums)), [2.5, 97.5]).tolist()) for metric in metrics]
        for _ in statistics
    ]


def sentence_statistics(given: Input) -> list[list[Statistics]]:
    """Return the statistics of all sentences: [systems][metrics] of [n, k]. Raises ValueError if there are none."""
    windows = [statistics for _, statistics in stream_statistics(given.metrics, given.rows)]
    return [[np.concatenate(parts) for parts in zip(*rows, strict=True)] for rows in zip(*windows, strict=True)]


def bootstrap_differences(
    metrics: Sequence[Metric[Any]],
    statistics: Sequence[Sequence[Statistics]],
    pairs: Sequence[Contrast],
    resamples: int,
    seed: int,
) -> Iterator[Floats]:
    """Yield the differences of each pair in resamples of n sentences, drawn with replacement: [resamples].

    sacreBLEU draws the same ones with the same seed.
    """
    sentences = len(statistics[0][0])
    sums = weighted_sums(draws(sentences, resamples, seed), [part for row in statistics for part in row])
    places = range(0, len(sums), len(metrics))
    scores = [[metric.scores(sums[start + place]) for place, metric in enumerate(metrics)] for start in places]
    for pair in pairs:
        yield scores[pair.system][pair.metric] - scores[pair.other][pair.metric]


def swapped_differences(
    metrics: Sequence[Metric[Any]],
    statistics: Sequence[Sequence[Statistics]],
    pairs: Sequence[Contrast],
    trials: int,
    seed: int,
) -> Iterator[Floats]:
    """Yield the differences of each pair in trials that swap the outputs for each sentence or do not: [trials]."""
    sides = [(statistics[pair.system][pair.metric], statistics[pair.other][pair.metric]) for pair in pairs]
    shifts = weighted_sums(swaps(len(statistics[0][0]), trials, seed), [other - one for one, other in sides])
    for pair, (one, other), shift in zip(pairs, sides, shifts, strict=True):
        score = metrics[pair.metric].scores
        yield score(one.sum(axis=0) + shift) - score(other.sum(axis=0) - shift)


def weighted_sums(weights: Iterable[Floats], statistics: Sequence[Statistics]) -> list[Floats]:
    """Return the sums of [n, k] statistics that each row of weights [r, n] gives: of each [resamples, k]."""
    columns = np.hstack(statistics).astype(np.float64)
    sums = np.vstack([block @ columns for block in weights])
    return np.split(sums, np.cumsum([part.shape[1] for part in statistics])[:-1], axis=1)


def draws(sentences: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield how often each sentence is drawn when n are drawn with replacement, in blocks of [r, n]."""
    generator = np.random.default_rng(seed)
    for size in _blocks(sentences, resamples):
        drawn = generator.integers(sentences, size=(size, sentences)) + np.arange(size)[:, None] * sentences
        yield np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(np.float64)


def swaps(sentences: int, trials: int, seed: int) -> Iterator[Floats]:
    """Yield 1 for each sentence to swap, else 0, in blocks of [r, n]."""
    generator = np.random.default_rng(seed)
    for size in _blocks(sentences, trials):
        yield generator.integers(2, size=(size, sentences), dtype=bool).astype(np.float64)


def _blocks(sentences: int, resamples: int) -> Iterator[int]:
    """Yield how many resamples at a time, so that memory is bounded."""
    size = max(1, BLOCK // sentences)
    for start in range(0, resamples, size):
        yield min(size, resamples - start)
