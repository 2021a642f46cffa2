"""RIBES: how well a translation keeps the order of the reference's words.

Isozaki, Hirao, Duh, Sudoh & Tsukada (2010), "Automatic Evaluation of Translation Quality for Distant Language
Pairs", EMNLP; the numbers are those of their RIBES.py 1.03.1. Of a hypothesis of c words, of which n find their
place among the r words of the reference,

    RIBES = (τ + 1)/2 · (n/c)^α · min(1, exp(1 − r/c))^β

with Kendall's τ of those places in the hypothesis' order: (τ + 1)/2 is the share of pairs in the right order. A
word that either side repeats is placed by the shortest n-gram which ends or else begins with it and occurs
once on either side. A corpus scores the mean of its sentences, a sentence the best of its references.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.metrics.config import DEFAULTS, Compared, MetricConfig
from synmt.metrics.metric import Score, Statistics
from synmt.metrics.sacre import sacre_bleu


class Ribes:
    """The metric over texts. Statistics: 100 times the score of the sentence, and 1."""

    uses = "tokenize", "case", "ribes-alpha", "ribes-beta"
    compares: Compared = "translations"
    higher_is_better = True

    def __init__(self, config: MetricConfig = DEFAULTS) -> None:
        """Make the metric. Raises ValueError for a tokenization that cannot be had."""
        self._tokenize = sacre_bleu(config).tokenizer
        self._lowercase = config.case != "mixed"
        self._alpha, self._beta = config.ribes_alpha, config.ribes_beta
        case, weights = "lc" if self._lowercase else "mixed", f"alpha:{self._alpha:g}|beta:{self._beta:g}"
        self._signature = f"case:{case}|tok:{config.tokenize}|{weights}"
        self._references = 0

    def statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        self._references = len(references)
        rows = []
        for hypothesis, *translations in zip(hypotheses, *references, strict=True):
            words = self._words(hypothesis)
            scores = (ribes(words, self._words(text), self._alpha, self._beta) for text in translations)
            rows.append((100 * max(scores), 1.0))
        return np.array(rows)

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        return np.divide(totals[:, 0], totals[:, 1], dtype=np.float64)

    def score(self, totals: Statistics) -> Score:
        signature = f"nrefs:{self._references}|{self._signature}|synmt:{__version__}"
        return Score("RIBES", float(self.scores(totals[None])[0]), signature)

    def _words(self, text: str) -> list[str]:
        return self._tokenize((text.lower() if self._lowercase else text).rstrip()).split()


def ribes(hypothesis: Sequence[str], reference: Sequence[str], alpha: float = 0.25, beta: float = 0.10) -> float:
    """Return the score of a sentence, 0 to 1; 0 if not two words have a place, unless the reference is one."""
    places = reference_places(hypothesis, reference)
    if len(places) >= 2:
        order = sum(first < second for first, second in combinations(places, 2)) / math.comb(len(places), 2)
    else:
        order = float(len(places) == len(reference) == 1)
    if not order:
        return 0.0
    brevity = min(1.0, math.exp(1 - len(reference) / len(hypothesis)))
    return order * (len(places) / len(hypothesis)) ** alpha * brevity**beta


def reference_places(hypothesis: Sequence[str], reference: Sequence[str]) -> list[int]:
    """Return where the words of the hypothesis stand in the reference, without those that have no place there."""
    places: dict[int, int] = {}
    words: Sequence[int] = range(len(hypothesis))
    for n, landmarks in enumerate(_landmarks(hypothesis, reference), 1):
        for word in words:
            ending, beginning = hypothesis[max(0, word - n + 1) : word + 1], hypothesis[word : word + n]
            if tuple(ending) in landmarks:
                places[word] = landmarks[tuple(ending)] + n - 1
            elif tuple(beginning) in landmarks:
                places[word] = landmarks[tuple(beginning)]
        words = [word for word in words if word not in places]
        if not words:
            break
    return [places[word] for word in sorted(places)]


def _landmarks(hypothesis: Sequence[str], reference: Sequence[str]) -> Iterator[dict[tuple[str, ...], int]]:
    """Yield for n = 1, 2, … the n-grams that both sides have once, with where they begin in the reference."""
    for n in range(1, min(len(hypothesis), len(reference)) + 1):
        ours, theirs = _ngrams(hypothesis, n), _ngrams(reference, n)
        our_counts, counts = Counter(ours), Counter(theirs)
        if not our_counts.keys() & counts.keys():
            return
        yield {ngram: place for place, ngram in enumerate(theirs) if our_counts[ngram] == counts[ngram] == 1}


def _ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(n)), strict=False))
