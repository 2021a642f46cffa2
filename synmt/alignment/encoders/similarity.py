"""Which words of two sentences a multilingual encoder finds similar.

Shapes: J source and I target subwords of m source and n target words, d width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from synmt.alignment.encoders.encoder import Floats, PretrainedEncoder, States, states_of

TEMPERATURE = np.float32(0.07)  # τ
LEAST = 0.01
OF_MEANS = 100  # about as many pairs give the mean states
Sentences = Sequence[Sequence[str]]
Places = NDArray[np.int32]


class Known(NamedTuple):
    """Similar words of a pair of sentences: their places in the flattened q [m,n], and q of each, at least LEAST."""

    places: Places
    q: Floats


@dataclass(frozen=True)
class Similarity:
    """Similarity of words after Jalili Sabet et al. (2020) and Dou & Neubig (2021).

    q_ij = √(softmax_i(s_ij / τ) · softmax_j(s_ij / τ)), where s_ij is the cosine of the states of two subwords without
    the mean state of their side. Two words have the greatest q of their subwords.

    means: the mean state of each side, [d]. known: earlier results by a checksum of the words of both sentences; None
    to remember nothing.
    """

    encoder: PretrainedEncoder
    means: tuple[Floats, Floats]
    known: dict[bytes, Known] | None = None

    @classmethod
    def learn(cls, encoder: PretrainedEncoder, sources: Sentences, targets: Sentences) -> "Similarity":
        """Return a similarity that uses the means of these sentences and caches its results."""
        of_source, of_target = (
            np.concatenate([each.values for each in states_of(encoder, side)]).mean(axis=0)
            for side in (sources, targets)
        )
        return cls(encoder, (of_source, of_target), {})

    @property
    def described(self) -> dict[str, Any]:
        """Return what identifies the encoder, as `open_described` reads it."""
        return {"name": self.encoder.name, "layer": self.encoder.layer, "checksum": self.encoder.checksum}

    def of(self, sources: Sentences, targets: Sentences) -> list[Floats]:
        """Return q of the words of each pair of sentences, [m,n]; 0 if it is below LEAST, or a word has no subwords."""
        known = {} if self.known is None else self.known
        pairs = list(zip(sources, targets, strict=True))
        keys = [_key(*pair) for pair in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
        both = (states_of(self.encoder, side) for side in zip(*new.values(), strict=True))
        for (key, (x, y)), source, target in zip(new.items(), *both, strict=True):
            q = np.zeros((len(x), len(y)), np.float32)
            if source.words and target.words:
                q[np.ix_(np.unique(source.words), np.unique(target.words))] = self._of_words(source, target)
            places = np.flatnonzero(q >= LEAST).astype(np.int32)
            known[key] = Known(places, q.ravel()[places])
        return [_dense(known[key], len(x), len(y)) for key, (x, y) in zip(keys, pairs, strict=True)]

    def _of_words(self, source: States, target: States) -> Floats:
        """Return q of the words that have subwords."""
        x, y = (unit(each.values - mean) for each, mean in zip((source, target), self.means, strict=True))
        likeness = np.exp((x @ y.T - 1) / TEMPERATURE)
        q = np.sqrt(likeness / likeness.sum(axis=0) * (likeness / likeness.sum(axis=1, keepdims=True)))
        for axis, side in enumerate((source, target)):
            q = np.maximum.reduceat(q, np.flatnonzero(np.diff(side.words, prepend=-1)), axis=axis)
        return q


def _key(source: Sequence[str], target: Sequence[str]) -> bytes:
    return blake2b("\n".join([*source, "", *target]).encode(), digest_size=16).digest()


def _dense(known: Known, m: int, n: int) -> Floats:
    q = np.zeros(m * n, np.float32)
    q[known.places] = known.q
    return q.reshape(m, n)


def unit(states: Floats) -> Floats:
    """Return the states [..., d] divided by their lengths."""
    lengths = np.linalg.norm(states, axis=-1, keepdims=True)
    divided: Floats = (states / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)
    return divided
