"""Alignment error rate, precision and recall of word links.

Och & Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models", Computational Linguistics, of
sums over a corpus: hypothesis links A against sure links S and possible links P ⊇ S,

    AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|),   precision = |A∩P| / |A|,   recall = |A∩S| / |S|.

Where all links are sure, 1 − AER is the F1 of precision and recall, and that is the F1 given here otherwise too.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.metrics.config import Compared
from synmt.metrics.metric import Score, Statistics
from synmt.text.links import Links

NAMES = ("AER", "Precision", "Recall", "F1")


class LinkMetric:
    """One of the four numbers, in percent. Statistics: |A|, |S|, |A∩S|, |A∩P|."""

    compares: Compared = "links"

    def __init__(self, name: str) -> None:
        self.name = name
        self.higher_is_better = name != "AER"

    def statistics(self, hypotheses: Sequence[Links], references: Sequence[Sequence[Links]]) -> Statistics:
        (gold_links,) = references
        rows = []
        for gold, hypothesis in zip(gold_links, hypotheses, strict=True):
            found = hypothesis.possible
            rows.append((len(found), len(gold.sure), len(found & gold.sure), len(found & gold.possible)))
        return np.array(rows, dtype=np.int64)

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        return self._numbers(totals)[self.name]

    def score(self, totals: Statistics) -> Score:
        """Return the score; of no links at all, against none, the error rate is 0."""
        numbers = {name: float(column[0]) for name, column in self._numbers(totals[None]).items()}
        found, sure, _, _ = totals.tolist()
        details = f"(P = {numbers['Precision']:.2f} R = {numbers['Recall']:.2f} links = {found})"
        return Score(self.name, numbers[self.name], f"sure:{sure}|synmt:{__version__}", details)

    def _numbers(self, totals: Statistics) -> dict[str, npt.NDArray[np.float64]]:
        """Return all four, of [m, 4] totals; where nothing can be right or wrong, 0."""
        found, sure, right_sure, right = totals.T
        precision, recall = 100 * right / np.maximum(1, found), 100 * right_sure / np.maximum(1, sure)
        error = 100 * (found + sure - right_sure - right) / np.maximum(1, found + sure)
        f1 = 2 * precision * recall / np.maximum(precision + recall, np.finfo(float).tiny)
        return dict(zip(NAMES, (error, precision, recall, f1), strict=True))


aer, precision, recall, f1 = (lambda config, name=name: LinkMetric(name) for name in NAMES)  # of any MetricConfig
