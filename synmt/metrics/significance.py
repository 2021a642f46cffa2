"""Significance tests: whether a difference between two systems is larger than chance.

With one model per system, we resample sentences. A resample states how many times each sentence counts; multiplying a
matrix of resamples by the statistics of sentences gives the sums to score. All systems and metrics share the resamples,
so tests are paired. A difference is positive if the system with the better score is also better on the resample;
differences as large as the observed one count against it.

With several seeds per system, the difference Δ of two mean scores has two sources of variance: another seed gives
another model, and another test set gives another score. We estimate the variance as

    V = s²₁/k₁ + s²₂/k₂ + max(0, B - W)

s²/k: the variance of a system's k scores, divided by k. The runs are independent, so seeds of two systems are not
paired. This variance includes how differently the models perform on the sentences of this test set.
B: the variance of Δ over bootstrap resamples of sentences, drawn once for all models, so sentences are paired.
W: the part of B that s²/k already includes: the variance over resamples of each model's distance from the mean of its
system, summed over models, divided by k (k - 1).

p is the two-sided p value of Δ/√V under Student's t with Satterthwaite's degrees of freedom, or of Δ/√B if this is
larger: models with equal scores by chance (s² near 0) must not make p smaller than the bootstrap alone. Without
resampling of sentences this is Welch's test. Bootstrapping over the seeds themselves would be too optimistic: with few
seeds, it neither accounts for the uncertainty of s² nor reaches the tails. With one seed per system, V is B alone.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from synmt.metrics.metric import Metric, Row, Score, Statistics, stream_statistics
from synmt.metrics.reading import Input
from synmt.streams import note, shown

Floats = npt.NDArray[np.float64]
Against = Literal["first", "best"]

ROUNDING = 1e-9  # a smaller difference between scores counts as no difference
BLOCK = 4_000_000  # cells in a matrix of resamples: 32 MB
RESAMPLES, SEED = 10_000, 12345
Z = 1.959963984540054  # 95% of a normal distribution are within
MOST_DEGREES = 1e5  # with more degrees of freedom, t is normal


def t_test(differences: Floats, observed: float, sentences: int) -> float:
    variance = float(differences.var(ddof=1)) * sentences / (sentences - 1)  # a bootstrap divides by n
    return two_sided(observed / math.sqrt(variance), sentences - 1) if variance else 0.0


def wins(differences: Floats, observed: float, sentences: int) -> float:
    return float(np.mean(differences < ROUNDING))


def shifted(differences: Floats, observed: float, sentences: int) -> float:
    return float(np.mean(differences - differences.mean() > observed - ROUNDING))


def shifted_sizes(differences: Floats, observed: float, sentences: int) -> float:
    sizes = np.abs(differences)
    return (1 + int(np.sum(sizes - sizes.mean() > observed - ROUNDING))) / (1 + len(sizes))


def swapped(differences: Floats, observed: float, sentences: int) -> float:
    return (1 + int(np.sum(np.abs(differences) > observed - ROUNDING))) / (1 + len(differences))


@dataclass(frozen=True)
class ResamplingTest:
    """A test by resampling.

    definition: the meaning of p, for reports. p_value: computes p from the differences in resamples, the observed
    difference, which is positive, and the number of sentences, at least 2. swaps: resamples swap the outputs of both
    systems instead of drawing sentences with replacement.
    """

    definition: str
    p_value: Callable[[Floats, float, int], float]
    swaps: bool = False


TESTS = {
    "t-test": ResamplingTest(
        "two-sided t-test of the difference, with its variance over resamples of sentences, as in synmt run (one seed)",
        t_test,
    ),
    "bootstrap-wins": ResamplingTest(
        "the share of resamples in which the better system is not better (paired bootstrap, one-sided; Koehn 2004)",
        wins,
    ),
    "bootstrap-shifted": ResamplingTest(
        "the share of resamples whose difference, minus the mean over all, is as large as the observed one (paired"
        " bootstrap shifted to no difference, one-sided)",
        shifted,
    ),
    "bootstrap-sacrebleu": ResamplingTest(
        "(1 + the number of resamples whose absolute difference, minus the mean over all, is as large as the observed"
        " one) / (1 + all) (paired bootstrap shifted to no difference, as in sacreBLEU and Moses)",
        shifted_sizes,
    ),
    "randomization": ResamplingTest(
        "(1 + the number of trials in which randomly swapped outputs differ as much as the observed ones) / (1 + all)"
        " (approximate randomization, two-sided; Riezler & Maxwell 2005)",
        swapped,
        swaps=True,
    ),
}


@dataclass(frozen=True)
class Comparison:
    """The score of one system by one metric, compared with another system.

    against: the other system; None for the system with which all others are compared, which has difference 0 and p 1.
    difference: score minus the other system's score. better: whether the system is better than the other one.
    """

    system: str
    score: Score
    against: str | None = None
    difference: float = 0.0
    better: bool = False
    p: float = 1.0

    def __repr__(self) -> str:
        digits = self.score.decimals
        found = "" if self.against is None else f", {self.difference:+.{digits}f} from {shown(self.against, 24)}"
        p = "" if self.against is None else f", p = {self.p:.4f}"
        return f"<Comparison {shown(self.system, 24)}: {self.score.name} {self.score.number}{found}{p}>"


@dataclass(frozen=True)
class Findings:
    """The result of a test. comparisons: [systems][metrics]; the other fields describe the test."""

    comparisons: Sequence[Sequence[Comparison]]
    test: str
    resamples: int
    sentences: int
    seed: int


class Contrast(NamedTuple):
    """Indices of a metric, a system, and the system with which to compare it."""

    metric: int
    system: int
    other: int


def compare(given: Input, test: str, resamples: int, seed: int, against: Against = "first") -> Findings:
    """Compare each system with the first or, for each metric, with the best. test: a name in TESTS.

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
        sentences = len(statistics[0][0])
        differs = abs(observed) > ROUNDING and sentences > 1  # one sentence shows no variance
        p = TESTS[test].p_value(np.sign(observed) * differences, abs(observed), sentences) if differs else 1.0
        better = observed * (1 if given.metrics[pair.metric].higher_is_better else -1) > ROUNDING
        comparisons[pair.system][pair.metric] = replace(
            one, against=other_one.system, difference=observed, better=better, p=p
        )
    return Findings(comparisons, test, resamples, len(statistics[0][0]), seed)


def confidence_intervals(
    metrics: Sequence[Metric[Any]], statistics: Sequence[Sequence[Statistics]], resamples: int = 10_000
) -> list[list[tuple[float, float]]]:
    """Return the 95% confidence interval of each of `bootstrap_scores` (Koehn 2004, section 3)."""
    resampled = bootstrap_scores(metrics, statistics, resamples, SEED)
    return [[tuple(np.percentile(scores, [2.5, 97.5]).tolist()) for scores in row] for row in resampled]


def wilson(right: float, items: int) -> tuple[float, float]:
    """Return the 95% interval of a share in percent, after Wilson (1927), which holds for few items and near 100%."""
    share, weight = right / items, Z * Z / items
    middle = (share + weight / 2) / (1 + weight)
    half = Z * math.sqrt(share * (1 - share) / items + weight / items / 4) / (1 + weight)
    low, high = min(share, middle - half), max(share, middle + half)  # which rounding could turn around
    return 100 * max(0.0, low), 100 * min(1.0, high)


def sentence_statistics(given: Input) -> list[list[Statistics]]:
    """Return the statistics of all sentences, [systems][metrics] of [n, k]. Raises ValueError if there are none.

    If sentences of CoNLL-U end elsewhere than in the reference, n counts the segments between common ends. Raises
    ValueError for a single segment.
    """
    sizes: list[int] = []

    def rows() -> Iterator[Row[Any]]:
        for row in given.rows:
            sizes.append(row.sentences)
            yield row

    windows = [statistics for _, statistics in stream_statistics(given.metrics, rows())]
    if sum(sizes) > len(sizes):
        if len(sizes) == 1:
            raise ValueError("the files have no sentence break in common, so sentences cannot be resampled")
        note(f"sentences end at different places, so {len(sizes)} segments that end in all files are resampled")
    return [[np.concatenate(parts) for parts in zip(*rows, strict=True)] for rows in zip(*windows, strict=True)]


def bootstrap_scores(
    metrics: Sequence[Metric[Any]], statistics: Sequence[Sequence[Statistics]], resamples: int, seed: int
) -> list[list[Floats]]:
    """Return the scores on resamples of n sentences, drawn with replacement, [systems][metrics] of [resamples].

    statistics: of the sentences, [systems][metrics] of [n, k]. With the same seed, sacreBLEU draws the same resamples.
    """
    weights = draws(len(statistics[0][0]), resamples, seed)
    sums = iter(weighted_sums(weights, [part for row in statistics for part in row]))
    return [[metric.scores(next(sums)) for metric in metrics] for _ in statistics]


def bootstrap_differences(
    metrics: Sequence[Metric[Any]],
    statistics: Sequence[Sequence[Statistics]],
    pairs: Sequence[Contrast],
    resamples: int,
    seed: int,
) -> Iterator[Floats]:
    """Yield the differences of each pair over resamples of n sentences, [resamples]."""
    scores = bootstrap_scores(metrics, statistics, resamples, seed)
    for pair in pairs:
        yield scores[pair.system][pair.metric] - scores[pair.other][pair.metric]


def swapped_differences(
    metrics: Sequence[Metric[Any]],
    statistics: Sequence[Sequence[Statistics]],
    pairs: Sequence[Contrast],
    trials: int,
    seed: int,
) -> Iterator[Floats]:
    """Yield the differences of each pair over trials that swap the outputs of random sentences, [trials]."""
    sides = [(statistics[pair.system][pair.metric], statistics[pair.other][pair.metric]) for pair in pairs]
    shifts = weighted_sums(swaps(len(statistics[0][0]), trials, seed), [other - one for one, other in sides])
    for pair, (one, other), shift in zip(pairs, sides, shifts, strict=True):
        score = metrics[pair.metric].scores
        yield score(one.sum(axis=0) + shift) - score(other.sum(axis=0) - shift)


def weighted_sums(weights: Iterable[Floats], statistics: Sequence[Statistics]) -> list[Floats]:
    """Return for each array of statistics, [n, k], its sums weighted by each row of the weights, [r, n]: [r, k]."""
    columns = np.hstack(statistics).astype(np.float64)
    sums = np.vstack([block @ columns for block in weights])
    return np.split(sums, np.cumsum([part.shape[1] for part in statistics])[:-1], axis=1)


def draws(sentences: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield how often each of n sentences is drawn in n draws with replacement, in blocks of [r, n]."""
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
    """Yield block sizes that bound memory."""
    size = max(1, BLOCK // sentences)
    for start in range(0, resamples, size):
        yield min(size, resamples - start)


@dataclass(frozen=True)
class Trained:
    """The scores of one system by one metric on a test set.

    scores: the scores of its k models, [k]; resampled: their scores on r resamples of the sentences, [k, r].
    """

    scores: Floats
    resampled: Floats

    @property
    def variance(self) -> float:
        """Return the variance of the mean score over seeds; 0 for one seed, where it is unknown."""
        k = len(self.scores)
        return float(self.scores.var(ddof=1)) / k if k > 1 else 0.0

    @property
    def variance_of_sentences(self) -> float:
        """Return the part of `variance` that comes from models performing differently on the sentences."""
        k = len(self.scores)
        distances = self.resampled - self.resampled.mean(axis=0)
        return float(distances.var(axis=1, ddof=1).sum()) / (k * (k - 1)) if k > 1 else 0.0


def trained(
    metrics: Sequence[Metric[Any]],
    statistics: Sequence[Sequence[Statistics]],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Trained]:
    """Return a system's scores by each metric. statistics: of the sentences, [models][metrics] of [n, k].

    Systems with the same number of sentences share their resamples.
    """
    resampled = bootstrap_scores(metrics, statistics, resamples, seed)
    return [
        Trained(
            np.array([metric.score(row[place].sum(axis=0)).score for row in statistics]),
            np.array([row[place] for row in resampled]),
        )
        for place, metric in enumerate(metrics)
    ]


def p_value(one: Trained, other: Trained, sentences: int, difference: float | None = None) -> float:
    """Return the probability of so large a difference if the means over all seeds and sentences were equal.

    difference: to use instead of that between the means, with the same variances.
    """
    difference = abs(float(one.scores.mean() - other.scores.mean())) if difference is None else difference
    if difference <= ROUNDING or sentences < 2:
        return 1.0
    resampled = one.resampled.mean(axis=0) - other.resampled.mean(axis=0)
    unbiased = sentences / (sentences - 1)  # a bootstrap divides by n
    bootstrapped = float(resampled.var(ddof=1)) * unbiased
    of_seeds = (one.variance_of_sentences + other.variance_of_sentences) * unbiased
    of_sentences = max(0.0, bootstrapped - of_seeds)
    parts = [
        (one.variance, len(one.scores) - 1),
        (other.variance, len(other.scores) - 1),
        (of_sentences, sentences - 1),
    ]
    variance = sum(each for each, _ in parts)
    warning = sum(each**2 / degrees for each, degrees in parts if each)
    least = t_test(resampled, difference, sentences)
    return max(least, two_sided(difference / math.sqrt(variance), variance**2 / warning)) if warning else least


def largest_with(holds: Callable[[float], bool]) -> float:
    """Return the number up to which something holds, from 0, to 6 digits."""
    low, high = 0.0, 1.0
    while holds(high) and high < 1e9:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def two_sided(t: float, degrees: float) -> float:
    """Return the probability that Student's t is at least this far from 0. degrees: of freedom, at least 1, possibly
    fractional."""
    degrees = min(degrees, MOST_DEGREES)
    first, cells = math.atan(t / math.sqrt(degrees)), 20_000
    width = (math.pi / 2 - first) / cells
    tail = width * (np.cos(first + width * (np.arange(cells) + 0.5)) ** (degrees - 1)).sum()
    half = math.exp(math.lgamma(0.5) + math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2)) / 2
    return min(1.0, float(tail) / half)


def holm(ps: Sequence[float]) -> list[float]:
    """Return p values corrected for multiple tests (Holm 1979)."""
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = largest
    return corrected
