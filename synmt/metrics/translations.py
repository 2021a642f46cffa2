"""Scores of translations: BLEU, chrF and TER through sacreBLEU, and RIBES.

sacreBLEU: Post, "A call for clarity in reporting BLEU scores" (WMT 2018). BLEU is Papineni et al. (ACL 2002); chrF,
chrF+ and chrF++ are Popović (WMT 2015, 2017); TER, an error rate, is Snover et al. (AMTA 2006).

RIBES measures how well a translation preserves the word order of the reference: Isozaki, Hirao, Duh, Sudoh & Tsukada
(2010), "Automatic Evaluation of Translation Quality for Distant Language Pairs", EMNLP; our numbers agree
with their RIBES.py 1.03.1. For a hypothesis of c words, n of which have a place among the r words of the reference,

    RIBES = (τ + 1)/2 · (n/c)^α · min(1, exp(1 − r/c))^β

where τ is Kendall's τ of these places in the order of the hypothesis: (τ + 1)/2 is the share of pairs in the right
order. A word that occurs twice on either side gets its place from the shortest n-gram that ends or else begins with it
and occurs once on each side. The score of a corpus is the mean over its sentences; the score of a sentence is the best
over its references.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric as SacreMetric

from synmt import __version__
from synmt.metrics.config import DEFAULTS, Compared, MetricConfig, declaring
from synmt.metrics.metric import Score, Statistics
from synmt.streams import Message, note
from synmt.text.tokenization import Separation

OF_CHRF = "case", "chrf-char-order", "chrf-whitespace", "chrf-beta", "chrf-average"
OF_TER = "case", "ter-normalized", "ter-no-punct", "ter-asian-support"


class SacreBleuMetric:
    """One of sacreBLEU's metrics, with access to its sentence statistics."""

    compares: Compared = "translations"

    def __init__(self, metric: SacreMetric, remedy: str = "") -> None:
        """remedy: the options for languages without spaces between words, if words are compared and they are off."""
        self._metric, self._remedy = metric, remedy
        self._separation = Separation()
        self.higher_is_better = not isinstance(metric, TER)

    def statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        if self._remedy:
            self._warn_of_spaces(references[0])
        return np.array(self._metric._extract_corpus_statistics(hypotheses, references))

    def _warn_of_spaces(self, references: Sequence[str]) -> None:
        """Say once if most references are a single word each, in a script without spaces."""
        for reference in references:
            self._separation.see(reference.split())
        warning = self._separation.warning()
        if warning and 2 * self._separation.spaceless > self._separation.sentences:
            name = type(self._metric).__name__
            note(
                Message(
                    "the reference {}, so {} compares whole sentences: add {}", warning, name, Message(self._remedy)
                )
            )
            self._remedy = ""

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        return np.array([self._metric._compute_score_from_stats(row).score for row in totals.tolist()])

    def score(self, totals: Statistics) -> Score:
        result = self._metric._compute_score_from_stats(totals.tolist())
        _, _, shown = result.format(width=2).partition(" = ")
        _, _, details = shown.partition(" ")
        return Score(result.name, result.score, self._metric.get_signature().format(), details)


@declaring(
    cites=("papineni2002bleu", "post2018call"),
    uses=("tokenize", "case", "effective-order", "smooth-method", "smooth-value"),
)
def bleu(config: MetricConfig = DEFAULTS) -> SacreBleuMetric:
    """Return corpus BLEU. Raises ValueError as `sacre_bleu`."""
    splits = config.tokenize != "13a"
    return SacreBleuMetric(sacre_bleu(config), "" if splits else "--tokenize zh or --tokenize ja-mecab")


def sacre_bleu(config: MetricConfig) -> BLEU:
    """Return sacreBLEU's BLEU. Raises ValueError if the tokenization is unknown or needs a missing package."""
    try:
        # `force` only silences a warning about tokenized text, for which we have `tokenize="none"`.
        return BLEU(
            tokenize=config.tokenize,
            lowercase=config.case == "lower",
            smooth_method=config.smooth_method,
            smooth_value=config.smooth_value,
            effective_order=config.effective_order,
            force=True,
        )
    except (ImportError, RuntimeError, AssertionError, KeyError) as error:
        raise ValueError(f"tokenization {config.tokenize}: {error}") from None
    except OSError as error:
        raise ValueError(f"tokenization {config.tokenize}: sacreBLEU cannot download its model: {error}") from None


@declaring(cites=("popovic2015chrf", "post2018call"), uses=OF_CHRF)
def chrf(config: MetricConfig = DEFAULTS, word_order: int = 0) -> SacreBleuMetric:
    """Return corpus chrF over character 1- to 6-grams and word 1- to `word_order`-grams: 1 is chrF+, 2 is chrF++.

    chrf_char_order: another number of character n-gram orders than 6; chrf_whitespace: spaces are characters, too.
    chrf_beta: weight of recall relative to precision.
    chrf_average: `sacrebleu` computes F from the mean precision and mean recall of all orders (`eff:yes` in the
    signature), `script` the mean F of all orders, as Popović's chrF++.py does (`eff:no`).
    """
    script = config.chrf_average == "script"
    lowercase = config.case == "lower"
    return SacreBleuMetric(
        CHRF(
            char_order=config.chrf_char_order,
            word_order=word_order,
            beta=config.chrf_beta,
            lowercase=lowercase,
            whitespace=config.chrf_whitespace,
            eps_smoothing=script,
        )
    )


chrf_plus, chrf_plus_plus = (
    declaring(cites=("popovic2017chrf", "post2018call"), uses=OF_CHRF)(partial(chrf, word_order=n)) for n in (1, 2)
)


@declaring(cites=("snover2006study", "post2018call"), uses=OF_TER)
def ter(config: MetricConfig = DEFAULTS) -> SacreBleuMetric:
    """Return corpus TER on Tercom's tokens; as in Tercom, it ignores case by default.

    For languages without spaces, `ter_normalized` with `ter_asian_support` makes each character a token.
    """
    return SacreBleuMetric(
        TER(
            normalized=config.ter_normalized,
            no_punct=config.ter_no_punct,
            asian_support=config.ter_asian_support,
            case_sensitive=config.case == "mixed",
        ),
        "" if config.ter_asian_support else "--ter-normalized --ter-asian-support",
    )


class Ribes:
    """RIBES over texts. Statistics: 100 times the score of the sentence, and 1."""

    cites: ClassVar[tuple[str, ...]] = ("isozaki2010automatic",)

    uses = "tokenize", "case", "ribes-alpha", "ribes-beta"
    compares: Compared = "translations"
    higher_is_better = True

    def __init__(self, config: MetricConfig = DEFAULTS) -> None:
        """Raises ValueError for an unavailable tokenization."""
        bleu = sacre_bleu(config)
        self._tokenize = bleu.tokenizer
        self._lowercase = config.case != "mixed"
        self._alpha, self._beta = config.ribes_alpha, config.ribes_beta
        case, weights = "lc" if self._lowercase else "mixed", f"alpha:{self._alpha:g}|beta:{self._beta:g}"
        self._signature = f"case:{case}|tok:{bleu.tokenizer_signature}|{weights}"
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
    """Return the score of a sentence, 0 to 1. If fewer than two words have places, it is 0, unless the reference is a
    single word."""
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
    """Return the reference places of the hypothesis words, leaving out words without one."""
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
    """Yield, for n = 1, 2, …, the n-grams that occur once on both sides, with their places in the reference."""
    for n in range(1, min(len(hypothesis), len(reference)) + 1):
        ours, theirs = _ngrams(hypothesis, n), _ngrams(reference, n)
        our_counts, counts = Counter(ours), Counter(theirs)
        if not our_counts.keys() & counts.keys():
            return
        yield {ngram: place for place, ngram in enumerate(theirs) if our_counts[ngram] == counts[ngram] == 1}


def _ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(n)), strict=False))
