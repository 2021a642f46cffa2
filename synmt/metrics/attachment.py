"""UPOS, UAS and LAS of dependency trees, as the CoNLL 2018 shared task defines them.

Zeman et al. (2018), "CoNLL 2018 Shared Task: Multilingual Parsing from Raw Text to Universal Dependencies".
A word is the characters that it covers, so the scores hold for other tokens than the gold ones: F1 of what both
sides say of their words. Relations are compared without their subtypes. Of a partial tree, precision counts the words
that have a head (or a tag), and recall all words.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.metrics.config import Compared
from synmt.metrics.metric import Score, Statistics
from synmt.trees.dependency import UNKNOWN
from synmt.trees.record import ParseRecord

NAMES = ("UPOS", "UAS", "LAS")


class Attachment:
    """One of the three metrics, over records. Statistics: right words, gold ones, and those that are said something
    of."""

    compares: Compared = "records"
    higher_is_better = True

    def __init__(self, name: str) -> None:
        self.name = name

    def statistics(self, hypotheses: Sequence[ParseRecord], references: Sequence[Sequence[ParseRecord]]) -> Statistics:
        """Raise ValueError as `claims` does."""
        (gold_records,) = references
        rows = []
        for gold, predicted in zip(gold_records, hypotheses, strict=True):
            claims = self.claims(predicted, gold)
            rows.append((len(self.claims(gold) & claims), len(gold.tokens), len(claims)))
        return np.array(rows, dtype=np.int64)

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        right, gold, predicted = totals.T
        f1: npt.NDArray[np.float64] = 200 * right / np.maximum(1, gold + predicted)
        return f1

    def score(self, totals: Statistics) -> Score:
        right, gold, predicted = totals.tolist()
        recall, precision = 100 * right / max(1, gold), 100 * right / max(1, predicted)
        signature = f"rules:CoNLL18|words:{gold}|synmt:{__version__}"
        details = f"(R = {recall:.2f} P = {precision:.2f})"
        return Score(self.name, float(self.scores(totals[None])[0]), signature, details)

    def claims(self, record: ParseRecord, gold: ParseRecord | None = None) -> set[tuple[Any, ...]]:
        """Return what a record says of its words, in terms of spans of characters; of an unattached word nothing.

        Raises ValueError for a record without what is compared, or with another text than the gold one.
        """
        if gold and "".join(gold.tokens) != "".join(record.tokens):
            raise ValueError(f"tokens of another text than the reference's: {' '.join(record.tokens)!r:.60}")
        spans: Sequence[object] = list(pairwise(accumulate(map(len, record.tokens), initial=0)))
        tops = ["root", *spans, UNKNOWN]  # the last for UNATTACHED
        deprels = [deprel.split(":")[0] for deprel in record.deprels]
        columns: dict[str, list[Sequence[object]]] = {
            "UPOS": [spans, record.upos],
            "UAS": [spans, [tops[head] for head in record.heads]],
            "LAS": [spans, [tops[head] for head in record.heads], deprels],
        }
        if any(len(column) < len(spans) for column in columns[self.name]):
            raise ValueError(f"record without {'upos' if self.name == 'UPOS' else 'heads and deprels'}")
        return {claim for claim in zip(*columns[self.name], strict=True) if claim[1] != UNKNOWN}


upos, uas, las = (lambda config, name=name: Attachment(name) for name in NAMES)  # of any MetricConfig
