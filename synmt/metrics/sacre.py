"""BLEU, chrF and TER through sacreBLEU: Post, "A call for clarity in reporting BLEU scores" (WMT 2018).

BLEU is Papineni et al. (ACL 2002); chrF, chrF+ and chrF++ are Popović (WMT 2015, 2017); TER is Snover et al.
(AMTA 2006), an error rate.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric as SacreMetric

from synmt.metrics.config import DEFAULTS, Compared, MetricConfig, using
from synmt.metrics.metric import Score, Statistics

OF_CHRF = "case", "chrf-beta", "chrf-average"


class SacreBleuMetric:
    """One of sacreBLEU's metrics, with sentence statistics in the open."""

    compares: Compared = "translations"

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


@using("tokenize", "case", "effective-order")
def bleu(config: MetricConfig = DEFAULTS) -> SacreBleuMetric:
    """Return corpus BLEU. Raises ValueError as `sacre_bleu`."""
    return SacreBleuMetric(sacre_bleu(config))


def sacre_bleu(config: MetricConfig) -> BLEU:
    """Return sacreBLEU's own. Raises ValueError for a tokenization that is unknown or needs a missing package."""
    try:
        # `force` only silences a warning about tokenized text, for which `tokenize="none"` is meant.
        return BLEU(
            tokenize=config.tokenize,
            lowercase=config.case == "lower",
            effective_order=config.effective_order,
            force=True,
        )
    except (ImportError, RuntimeError, AssertionError, KeyError) as error:
        raise ValueError(f"tokenization {config.tokenize}: {error}") from None
    except OSError as error:
        raise ValueError(f"tokenization {config.tokenize}: sacreBLEU cannot download its model: {error}") from None


@using(*OF_CHRF)
def chrf(config: MetricConfig = DEFAULTS, word_order: int = 0) -> SacreBleuMetric:
    """Return corpus chrF over character 1- to 6-grams and word 1- to `word_order`-grams: 1 is chrF+, 2 is chrF++.

    chrf_beta: how much more recall counts than precision.
    chrf_average: `sacrebleu` takes the F of the orders' mean precision and mean recall (`eff:yes` in the
    signature); `script` the mean of the orders' F, as Popović's chrF++.py does (`eff:no`).
    """
    script = config.chrf_average == "script"
    lowercase = config.case == "lower"
    return SacreBleuMetric(
        CHRF(word_order=word_order, lowercase=lowercase, beta=config.chrf_beta, eps_smoothing=script)
    )


chrf_plus, chrf_plus_plus = (using(*OF_CHRF)(partial(chrf, word_order=order)) for order in (1, 2))


@using("case")
def ter(config: MetricConfig = DEFAULTS) -> SacreBleuMetric:
    """Return corpus TER on Tercom's tokens; as in Tercom, case does not count unless asked for."""
    return SacreBleuMetric(TER(case_sensitive=config.case == "mixed"))
