"""BLEU, chrF and TER through sacreBLEU: Post, "A call for clarity in reporting BLEU scores" (WMT 2018).

BLEU is Papineni et al. (ACL 2002); chrF, chrF+ and chrF++ are Popović (WMT 2015, 2017); TER is Snover et al.
(AMTA 2006), an error rate.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric as SacreMetric

from synmt.metrics.metric import Score, Statistics

ChrfAverage = Literal["sacrebleu", "script"]


class SacreBleuMetric:
    """One of sacreBLEU's metrics, with sentence statistics in the open."""

    def __init__(self, metric: SacreMetric) -> None:
        self._metric = metric
        self.higher_is_better = not isinstance(metric, TER)

    def statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        return np.array(self._metric._extract_corpus_statistics(hypotheses, references))

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        return np.array([self._metric._compute_score_from_stats(row).score for row in totals.tolist()])

    def score(self, totals: Statistics) -> Score:
        result = self._metric._compute_score_from_stats(totals.tolist())
        _, _, shown = result.format(width=2).partition(" = ")
        _, _, details = shown.partition(" ")
        return Score(result.name, result.score, self._metric.get_signature().format(), details)


def bleu(tokenize: str = "13a", lowercase: bool = False) -> SacreBleuMetric:
    """Corpus BLEU with sacreBLEU's tokenization of that name. Raises ValueError as `sacre_bleu`."""
    return SacreBleuMetric(sacre_bleu(tokenize, lowercase))


def sacre_bleu(tokenize: str, lowercase: bool = False) -> BLEU:
    """sacreBLEU's own. Raises ValueError for a tokenization that is unknown or needs a package that is missing."""
    try:
        # `force` only silences a warning about tokenized text, for which `tokenize="none"` is meant.
        return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    except (ImportError, RuntimeError, AssertionError, KeyError) as error:
        raise ValueError(f"tokenization {tokenize}: {error}") from None


def chrf(
    word_order: int = 0, lowercase: bool = False, beta: int = 2, average: ChrfAverage = "sacrebleu"
) -> SacreBleuMetric:
    """Corpus chrF over character 1- to 6-grams and word 1- to `word_order`-grams: 1 is chrF+, 2 is chrF++.

    beta: how much more recall counts than precision.
    average: `sacrebleu` takes the F of the orders' mean precision and mean recall (`eff:yes` in the signature);
    `script` the mean of the orders' F, as Popović's chrF++.py does (`eff:no`).
    """
    script = average == "script"
    return SacreBleuMetric(CHRF(word_order=word_order, lowercase=lowercase, beta=beta, eps_smoothing=script))


def ter(lowercase: bool = True) -> SacreBleuMetric:
    """Corpus TER on Tercom's tokens; as in Tercom, case does not count unless asked for."""
    return SacreBleuMetric(TER(case_sensitive=not lowercase))
