"""Transitions between the origins of successive target words, in a sentence or in a dependency tree (see aligner.py).

Shapes: B pairs of I target and J source words, padded; C classes of source words; K kinds of transitions between them.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from synmt.alignment.chains import Posteriors, columns

Floats = NDArray[np.float32]
Numbers = NDArray[np.intp]
SHARED = 50.0  # τ, the weight of the statistics of all words, as a number of transitions
RAREST = 1e-6  # least share of a kind of transition
NEAR, FAR = 3, 8  # words
# by the relation of a word to another: the same word; a dependent, head or sibling before or after it; a dependent's
# dependent or the head's head; any other word that is near, far or farther
FIRST_WEIGHTS = 1, 6, 6, 1, 1, 1, 1, 0.5, 0.3, 0.3, 0.1, 0.05
TINY = np.float32(1e-37)


@dataclass
class TransitionWeights:
    """Probabilities of transitions between words. weights [C,K]: by the class of the first word and the kind of
    transition. In a sentence, s_c(d) for all jumps d from −(K − 1)/2 to (K − 1)/2; the first and the last also serve
    longer ones."""

    weights: Floats

    @classmethod
    def new(cls, classes: int, longest: int) -> "TransitionWeights":
        """Return initial weights, which favour short jumps, and the next word most of all."""
        distances = np.arange(-longest, longest + 1)
        weights = np.exp(-0.3 * np.abs(distances - 1))
        return cls(np.tile((weights / weights.sum()).astype(np.float32), (classes, 1)))

    def between(self, classes: Numbers, real: Floats) -> "TransitionProbabilities":
        """Return the transitions between the words of sentences; classes [B,J]."""
        size, words = self.weights.shape[1], np.arange(classes.shape[1])
        kinds = (words[None, :] - words[:, None]).clip(-(size // 2), size // 2) + size // 2
        return TransitionProbabilities(self.weights, classes[:, :, None] * size + kinds, real)

    def estimate(self, expected: "TransitionCounts") -> None:
        """Estimate the weights from expected counts. Each class has a prior of τ transitions, distributed as in all
        classes."""
        general = (expected.seen.sum(axis=0) + self.weights.mean(axis=0)) / (expected.possible.sum(axis=0) + 1)
        general = np.maximum(general / general.sum(), RAREST)
        weights = (expected.seen + SHARED * general) / (expected.possible + SHARED)
        self.weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


@dataclass
class TransitionCounts:
    """Expected counts of transitions, in the shape of their weights. seen: how often each is taken; possible:
    Σ 1 / Σ_k s(j′, k) over all departures from j′ for which the transition exists, so weights · possible is the number
    of transitions expected by the weights alone."""

    seen: NDArray[np.float64]
    possible: NDArray[np.float64]

    def add(self, other: "TransitionCounts") -> None:
        self.seen += other.seen
        self.possible += other.possible


@dataclass
class TransitionProbabilities:
    """Transitions between the source words of pairs of similar lengths.

    places [B,J,J]: index of the transition from j′ to j in the flattened weights; real [B,J]: 1 for a word, 0 for
    padding. probabilities [B,J,J]: p(j | j′).
    """

    weights: Floats
    places: Numbers
    real: Floats
    probabilities: Floats = field(init=False)

    def __post_init__(self) -> None:
        table = self.weights.ravel()[self.places]
        self._mass = columns(table, self.real)  # Σ_k s(j′, k) over the words of each pair
        self.probabilities = table / self._mass[:, :, None]

    def counts(self, expected: Floats) -> TransitionCounts:
        """Return the expected counts of transitions. expected [B,J,J]: ξ, how many from j′ to j."""
        possible = (expected.sum(axis=2) / self._mass)[:, :, None] * self.real[:, None, :]
        return TransitionCounts(self._by_weight(expected), self._by_weight(possible))

    def _by_weight(self, numbers: Floats) -> NDArray[np.float64]:
        sums = np.bincount(self.places.ravel(), numbers.ravel(), self.weights.size)
        return sums.astype(np.float64).reshape(self.weights.shape)


def relations(heads: Numbers) -> Numbers:
    """Return the relation of word k to word j, [B,J,J], as an index into FIRST_WEIGHTS.

    heads [B,J]: −1 for roots and padding.
    """
    words = np.arange(heads.shape[1])
    distance = np.broadcast_to(words[None, :] - words[:, None], (len(heads), len(words), len(words)))
    after = (distance > 0).astype(np.intp)
    above = _heads_of(heads, heads)
    head, grandhead = (each[:, :, None] == words for each in (heads, above))  # k is the head, or grandhead, of j
    sibling = (heads[:, :, None] == heads[:, None, :]) & (heads >= 0)[:, :, None]
    return np.select(
        [distance == 0, head.transpose(0, 2, 1), head, sibling, grandhead.transpose(0, 2, 1), grandhead],
        [0, 1 + after, 3 + after, 5 + after, 7, 8],
        default=9 + (np.abs(distance) > NEAR) + (np.abs(distance) > FAR),
    )


def _heads_of(words: Numbers, heads: Numbers) -> Numbers:
    """Return the heads [B,J] of words [B,J]; −1 if there is none."""
    return np.where(words < 0, -1, np.take_along_axis(heads, words.clip(0), axis=1))


def upwards(heads: Numbers) -> Numbers:
    """Return the words in an order in which all dependents come before their heads, [B,I]."""
    depth, above = np.zeros_like(heads), heads
    while (above >= 0).any():
        depth += above >= 0
        above = _heads_of(above, heads)
    return np.argsort(-depth, axis=1, kind="stable")


@dataclass
class TreeChains:
    """Targets of pairs of similar lengths, in which the origin of each word depends on the origin of its head.

    linked [B,I,J]: (1 − p₀) t(y_i | x_j), 0 at padding; unlinked [B,I]: p₀ t(y_i | no word), 1 at padding;
    start [B,J]: p(j) of a root; heads [B,I]: −1 for roots and padding.
    """

    transitions: TransitionProbabilities
    linked: Floats
    unlinked: Floats
    start: Floats
    heads: Numbers

    def posteriors(self) -> Posteriors:
        """Return the posteriors of the pairs."""
        batch, length, size = self.linked.shape
        pairs, order = np.arange(batch), upwards(self.heads)
        heads = np.where(self.heads < 0, length, self.heads)  # an artificial word is the head of the roots
        inside, message, belief = np.ones((3, batch, length + 1, size), np.float32)
        likelihood = np.zeros(batch, np.float32)
        for words in order.T:
            above = heads[pairs, words]
            none = self.unlinked[pairs, words, None] * inside[pairs, words]
            arrived = self.linked[pairs, words] * inside[pairs, words]
            root = above == length
            likelihood[root] += np.log((self.start * (arrived + none)).sum(axis=1)[root])
            sent = columns(self.transitions.probabilities, arrived) + none
            message[pairs, words], scale = _scaled(sent)
            inside[pairs, above], more = _scaled(inside[pairs, above] * message[pairs, words])
            likelihood[~root] += (scale + more)[~root]
        links, unlinked = np.empty_like(self.linked), np.empty_like(self.unlinked)
        before, arrivals = np.zeros((2, batch, length, size), np.float32)
        for words in order.T[::-1]:
            above = heads[pairs, words]
            root = (above == length)[:, None]
            state = np.where(root, self.start, belief[pairs, above] / np.maximum(message[pairs, words], TINY))
            arrived = self.linked[pairs, words] * inside[pairs, words]
            linked = np.where(root, state, (state[:, None, :] @ self.transitions.probabilities)[:, 0]) * arrived
            stayed = state * self.unlinked[pairs, words, None] * inside[pairs, words]
            total = np.maximum((linked + stayed).sum(axis=1, keepdims=True), TINY)
            links[pairs, words], unlinked[pairs, words] = linked / total, (stayed / total).sum(axis=1)
            belief[pairs, words] = (linked + stayed) / total
            before[pairs, words], arrivals[pairs, words] = np.where(root, 0, state / total), arrived
        return Posteriors(links, unlinked, likelihood, before, arrivals, self.transitions.probabilities)


def _scaled(states: Floats) -> tuple[Floats, Floats]:
    """Return states [B,J], scaled so that the greatest is 1, and the logarithm of the factor, [B]."""
    most = states.max(axis=1, keepdims=True)
    return states / most, np.log(most[:, 0])
