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
from synmt.metrics.metric import Score
from synmt.text.links import Links

NAMES = ("AER", "Precision", "Recall", "F1")


class LinkMetric:
    """One of the four numbers, in percent. Statistics: |A|, |S|, |A∩S|, |A∩P|."""

    def __init__(self, name: str) -> None:
        self.name = name

    def statistics(
        self, hypotheses: Sequence[Links], references: Sequence[Sequence[Links]]
    ) -> npt.NDArray[np.int64]:
        (gold_links,) = references
        rows = []
        for gold, hypothesis in zip(gold_links, hypotheses, strict=True):
            found = hypothesis.possible
            rows.append((len(found), len(gold.sure), len(found & gold.sure), len(found & gold.possible)))
        return np.array(rows, dtype=np.int64)

    def score(self, totals: npt.NDArray[np.int64]) -> Score:
        """Of no links at all, against none, the error rate is 0."""
        found, sure, right_sure, right = totals.tolist()
        precision, recall = 100 * right / max(1, found), 100 * right_sure / max(1, sure)
        error = 100 - 100 * (right_sure + right) / (found + sure) if found + sure else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        value = dict(zip(NAMES, (error, precision, recall, f1), strict=True))[self.name]
        signature = f"links:{found}|sure:{sure}|synmt:{__version__}"
        line = f"{self.name}|{signature} = {value:.2f} (P = {precision:.2f} R = {recall:.2f})"
        return Score(self.name, value, signature, line)
