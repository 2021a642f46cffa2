"""Scores of word links: alignment error rate, precision and recall, and shares of correct predictions and links.

Och & Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models", Computational Linguistics. For
hypothesis links A, sure links S and possible links P ⊇ S, with sums over a corpus,

    AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|),   precision = |A∩P| / |A|,   recall = |A∩S| / |S|.

If all links are sure, 1 − AER equals the F1 of precision and recall. We report that F1 in any case.

Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL, Figure 7, ask whether an aligner
mispredicts the words that it aligns wrongly. A target word is predicted correctly (cP, else wP) if any of its
subwords is the model's first choice, and aligned correctly (cA, else wA) if any of its links is a possible link of the
reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.metrics.config import CATEGORIES, Compared, declaring
from synmt.metrics.metric import Score, Statistics
from synmt.text.links import Link, Links, read_json

NAMES = ("AER", "Precision", "Recall", "F1")


class LinkMetric:
    """AER, precision, recall or F1 in percent. Statistics: |A|, |S|, |A∩S|, |A∩P|."""

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
        """Return the score. With no links on either side, the error rate is 0."""
        numbers = {name: float(column[0]) for name, column in self._numbers(totals[None]).items()}
        found, sure, _, _ = totals.tolist()
        details = f"(P = {numbers['Precision']:.2f} R = {numbers['Recall']:.2f} links = {found})"
        return Score(self.name, numbers[self.name], f"sure:{sure}|synmt:{__version__}", details)

    def _numbers(self, totals: Statistics) -> dict[str, npt.NDArray[np.float64]]:
        """Return all four metrics for [m, 4] totals; 0 if there is nothing to count."""
        found, sure, right_sure, right = totals.T
        precision, recall = 100 * right / np.maximum(1, found), 100 * right_sure / np.maximum(1, sure)
        error = 100 * (found + sure - right_sure - right) / np.maximum(1, found + sure)
        f1 = 2 * precision * recall / np.maximum(precision + recall, np.finfo(float).tiny)
        return dict(zip(NAMES, (error, precision, recall, f1), strict=True))


aer, precision, recall, f1 = (  # the MetricConfig does not matter
    declaring(cites=("och2003systematic",))(lambda config, name=name: LinkMetric(name)) for name in NAMES
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """An aligner's output for a sentence pair.

    links: word links, counted from 0. predicted: whether the aligner predicted each target word correctly, [n].
    """

    links: frozenset[Link] = frozenset()
    predicted: tuple[bool, ...] = ()


def read_prediction(line: str) -> Prediction:
    """Read JSON with `links`, a list of [source word, target word, …], and `predicted`, a list of booleans.

    An empty line or `{}` has no words. Raises ValueError.
    """
    fields, links = read_json(line)
    predicted = fields.get("predicted", None if fields else [])
    if not isinstance(predicted, list) or any(type(word) is not bool for word in predicted):
        raise ValueError('needs "predicted": [true or false for each target word]')
    if any(target >= len(predicted) for _, target in links):
        raise ValueError(f"a link to a word beyond the {len(predicted)} target words")
    return Prediction(frozenset(links), tuple(predicted))


class PredictionCategory:
    """The share of target words in one of the four categories. Statistics: the number of words in each category."""

    compares: Compared = "predictions"

    def __init__(self, name: str) -> None:
        self.name = name
        self.higher_is_better = name.endswith("cA")

    def statistics(self, hypotheses: Sequence[Prediction], references: Sequence[Sequence[Links]]) -> Statistics:
        """Raises ValueError for a reference link to a word that does not exist."""
        (gold_links,) = references
        return np.array([_count(*pair) for pair in zip(hypotheses, gold_links, strict=True)], dtype=np.int64)

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        share: npt.NDArray[np.float64] = 100 * totals / np.maximum(1, totals.sum(axis=1, keepdims=True))
        return share[:, CATEGORIES.index(self.name)]

    def score(self, totals: Statistics) -> Score:
        words, counted = int(totals.sum()), int(totals[CATEGORIES.index(self.name)])
        value = float(self.scores(totals[None])[0])
        return Score(self.name, value, f"words:{words}|synmt:{__version__}", f"({counted} words)")


def _count(hypothesis: Prediction, gold: Links) -> list[int]:
    words = len(hypothesis.predicted)
    if any(target >= words for _, target in gold.possible):
        raise ValueError(f"a reference link to a word beyond the {words} target words")
    aligned = {target for _, target in hypothesis.links & gold.possible}
    found = [
        ("cP" if predicted else "wP") + ("cA" if word in aligned else "wA")
        for word, predicted in enumerate(hypothesis.predicted)
    ]
    return [found.count(category) for category in CATEGORIES]


cPcA, wPcA, cPwA, wPwA = (
    declaring(cites=("chen2021mask",))(lambda config, name=name: PredictionCategory(name)) for name in CATEGORIES
)  # the MetricConfig does not matter


def read_scored(line: str) -> dict[Link, float]:
    """Return the scores, from 0 to 1, of links between words counted from 0. Reads JSON with `links`, a list of [source
    word, target word, score].

    An empty line or `{}` has no links. Raises ValueError.
    """
    return read_json(line, scored=True)[1]
