"""Whether words that an aligner aligns wrongly are those that it also predicts wrongly.

Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL, Figure 7: a target word is
predicted correctly (cP, else wP) if any of its subwords is what the model finds most likely there, and aligned
correctly (cA, else wA) if any of its links is a possible link of the reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import orjson

from synmt import __version__
from synmt.metrics.config import CATEGORIES, Compared
from synmt.metrics.metric import Score, Statistics
from synmt.text.links import Link, Links, check_numbers


@dataclass(frozen=True, slots=True)
class Prediction:
    """What an aligner says of a sentence pair.

    links: between words, counted from 0. predicted: whether it predicted each target word, [n].
    """

    links: frozenset[Link] = frozenset()
    predicted: tuple[bool, ...] = ()


def read_prediction(line: str) -> Prediction:
    """Read JSON with `links`, a list of [source word, target word, …], and `predicted`, a list of booleans.

    An empty line, and the `{}` that stands for it, has no words. Raises ValueError.
    """
    if line.strip() in ("", "{}"):
        return Prediction()
    try:
        fields = orjson.loads(line)
        links = frozenset((link[0], link[1]) for link in fields["links"])
        predicted = tuple(fields["predicted"])
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    except (KeyError, TypeError, IndexError):
        raise ValueError('needs "links": [[source word, target word], …] and "predicted": [true or false, …]') from None
    check_numbers(links)
    if any(type(word) is not bool for word in predicted):
        raise ValueError("predicted is true or false for each target word")
    if any(target >= len(predicted) for _, target in links):
        raise ValueError(f"a link leaves the {len(predicted)} target words")
    return Prediction(links, predicted)


class PredictionCategory:
    """The share of target words in one of the categories. Statistics: the words in each of the four."""

    compares: Compared = "predictions"

    def __init__(self, name: str) -> None:
        self.name = name
        self.higher_is_better = name.endswith("cA")

    def statistics(self, hypotheses: Sequence[Prediction], references: Sequence[Sequence[Links]]) -> Statistics:
        """Raise ValueError for a reference that links words beyond the last one."""
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
        raise ValueError(f"a reference link leaves the {words} target words")
    aligned = {target for _, target in hypothesis.links & gold.possible}
    found = [
        ("cP" if predicted else "wP") + ("cA" if word in aligned else "wA")
        for word, predicted in enumerate(hypothesis.predicted)
    ]
    return [found.count(category) for category in CATEGORIES]


cPcA, wPcA, cPwA, wPwA = (
    lambda config, name=name: PredictionCategory(name) for name in CATEGORIES
)  # of any MetricConfig
