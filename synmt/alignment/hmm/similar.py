"""Pairs of words that an encoder finds similar, and their effect on the models (see aligner.py).

Shapes: B pairs of J source and I target words, padded; N types of word pairs.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from synmt.alignment.hmm.lexicon import Floats, Ids

FLOOR, SCALE, POWER = np.float32(0.03), np.float32(0.5), np.float32(2)
KAPPA = np.float32(1)


@dataclass(frozen=True)
class Cells:
    """Pairs of similar words in a batch: their places in [B,I,J], and q. encoded [B]: whether the encoder has read each
    sentence pair."""

    places: tuple[Ids, Ids, Ids]
    q: Floats
    encoded: NDArray[np.bool_]

    def evidence(self, shape: tuple[int, ...]) -> Floats:
        """Return the factor of each link, [B,I,J]; 1 in pairs that are not encoded."""
        q = np.zeros(shape, np.float32)
        q[self.places] = self.q
        factors: Floats = ((q + FLOOR) / SCALE) ** POWER
        factors[~self.encoded] = 1
        return factors


@dataclass
class Similar:
    """Pairs of similar words in sentence pairs. encoded: whether the encoder has read each sentence pair; ends: 0, and
    the end of each sentence pair in the other arrays.

    sources, targets: indices of words; q: their similarities.
    """

    encoded: array = field(default_factory=lambda: array("b"))
    ends: array = field(default_factory=lambda: array("q", [0]))
    sources: array = field(default_factory=lambda: array("i"))
    targets: array = field(default_factory=lambda: array("i"))
    q: array = field(default_factory=lambda: array("f"))

    def add(self, q: Floats | None) -> None:
        """Add a sentence pair; q [J,I], 0 for words that are not similar; None for a pair that is not encoded."""
        if q is not None:
            sources, targets = q.nonzero()
            self.sources.extend(sources.tolist())
            self.targets.extend(targets.tolist())
            self.q.extend(q[sources, targets].tolist())
        self.encoded.append(q is not None)
        self.ends.append(len(self.q))

    def of(self, rows: Sequence[int]) -> Cells:
        """Return the similar words of some sentence pairs as a batch."""
        spans = [slice(self.ends[row], self.ends[row + 1]) for row in rows]
        lines = np.repeat(np.arange(len(rows)), [span.stop - span.start for span in spans])
        sources, targets = (
            np.concatenate([np.frombuffer(side, np.int32)[span] for span in spans]).astype(np.int64)
            for side in (self.sources, self.targets)
        )
        q = np.concatenate([np.frombuffer(self.q, np.float32)[span] for span in spans])
        return Cells((lines, targets, sources), q, np.frombuffer(self.encoded, np.bool_)[list(rows)])
