"""BLEU and chrF through sacreBLEU: Post, "A call for clarity in reporting BLEU scores" (WMT 2018).

BLEU is Papineni et al. (ACL 2002); chrF, chrF+ and chrF++ are Popović (WMT 2015, 2017).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric as SacreMetric

from synmt.metrics.metric import Score


class SacreBleuMetric:
    """One of sacreBLEU's metrics, with sentence statistics in the open."""

    def __init__(self, metric: SacreMetric) -> None:
        self._metric = metric

    def statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> npt.NDArray[np.int64]:
        statistics = self._metric._extract_corpus_statistics(hypotheses, references)
        return np.array(statistics, dtype=np.int64)

    def score(self, totals: npt.NDArray[np.int64]) -> Score:
        result = self._metric._compute_score_from_stats(totals.tolist())
        signature = self._metric.get_signature().format()
        line = result.format(width=2, signature=signature)
        return Score(result.name, result.score, signature, line)


def bleu(tokenize: str = "13a", lowercase: bool = False) -> SacreBleuMetric:
    """Corpus BLEU with sacreBLEU's tokenization of that name.

    Raises ValueError for a tokenization that is unknown or needs a package that is not installed.
    """
    try:
        # `force` only silences a warning about tokenized text, for which `tokenize="none"` is meant.
        return SacreBleuMetric(BLEU(tokenize=tokenize, lowercase=lowercase, force=True))
    except (ImportError, RuntimeError, AssertionError, KeyError) as error:
        raise ValueError(f"tokenization {tokenize}: {error}") from None


def chrf(word_order: int = 0, lowercase: bool = False) -> SacreBleuMetric:
    """Corpus chrF over character 1- to 6-grams and word 1- to `word_order`-grams: 1 is chrF+, 2 is chrF++."""
    return SacreBleuMetric(CHRF(word_order=word_order, lowercase=lowercase))


def sacre_metric(name: str, tokenize: str = "13a", lowercase: bool = False) -> SacreBleuMetric:
    """The metric of that name: bleu, chrf, chrf+ or chrf++. Raises ValueError."""
    if name == "bleu":
        return bleu(tokenize, lowercase)
    if name in ("chrf", "chrf+", "chrf++"):
        return chrf(name.count("+"), lowercase)
    raise ValueError(f"no metric is called {name}")
