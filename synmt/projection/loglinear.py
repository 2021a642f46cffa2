"""Log-linear models over hashed features, learnt online.

Each feature and label has a weight, the scores of labels are the sums of weights, and every step goes down the gradient
of the loss, at the rate of AdaGrad (Duchi, Hazan & Singer 2011, "Adaptive Subgradient Methods for Online Learning and
Stochastic Optimization", JMLR): the more a weight has moved, the less it still does.
"""

import numpy as np
from numpy.typing import NDArray

from synmt.projection.features import Codes

Floats = NDArray[np.float32]
RATE = 0.1  # of the first step; the last one is at a twentieth of it
START = 0.01  # of the sum of squared gradients
LEAST = 1e-4  # gradients below are not worth a step


class LogLinear:
    """weights: [2^bits × labels], of all features and labels."""

    def __init__(self, bits: int, labels: int) -> None:
        self.weights = np.zeros(labels << bits, np.float32)
        self._squares = np.full(labels << bits, START, np.float32)
        self._bits, self._labels = bits, labels

    def scores(self, features: Codes) -> Floats:
        """Return the score of each label. features: [...,k]; returns [...,labels]."""
        found: Floats = self.weights.reshape(-1, self._labels)[self._rows(features)].sum(-2)
        return found

    def step(self, features: Codes, gradient: Floats, done: float) -> None:
        """Take a step. features: [...,k]; gradient: of the loss in the scores, [...,labels]; done: 0 to 1."""
        steep = np.abs(gradient) > LEAST
        labels = steep.nonzero()[-1]
        rows = self._rows(features[steep.nonzero()[:-1]])  # [s,k]
        places = (rows * self._labels + labels[:, None]).ravel()
        slopes = np.repeat(gradient[steep], features.shape[-1])
        np.add.at(self._squares, places, slopes * slopes)
        rate = np.float32(RATE * (1 - 0.95 * done))
        np.subtract.at(self.weights, places, rate * slopes / np.sqrt(self._squares[places]))

    def _rows(self, features: Codes) -> NDArray[np.int64]:
        return (features >> np.uint64(64 - self._bits)).astype(np.int64)


def softmax(scores: Floats, axis: int) -> Floats:
    """Return the probabilities that have these scores as logarithms, up to a constant."""
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    found: Floats = powers / powers.sum(axis=axis, keepdims=True)
    return found
