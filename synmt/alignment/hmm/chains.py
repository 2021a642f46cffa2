"""Forward–backward over the places that the words of a target come from (see idea.py).

Shapes: B pairs of I target and J source words, padded; C classes of source words; K kinds of moves between them.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.intp]
SHARED = 50.0  # τ, how many moves what is common to all words counts for
RAREST = 1e-6  # the share of a kind of move, at least


@dataclass
class Jumps:
    """How likely one moves from a word to another. weights [C,K]: by the class of the word that is left, and by the
    kind of move; between words in a row, s_c(d) for d from −K to K, where the first and the last are those of longer
    jumps, too."""

    weights: Floats

    @classmethod
    def new(cls, classes: int, longest: int) -> "Jumps":
        """Favour short jumps, and most of all the next word."""
        distances = np.arange(-longest, longest + 1)
        weights = np.exp(-0.3 * np.abs(distances - 1))
        return cls(np.tile((weights / weights.sum()).astype(np.float32), (classes, 1)))

    def between(self, classes: Numbers, real: Floats) -> "Moves":
        """Return the moves between words in a row; classes [B,J]."""
        size, words = self.weights.shape[1], np.arange(classes.shape[1])
        kinds = (words[None, :] - words[:, None]).clip(-(size // 2), size // 2) + size // 2
        return Moves(self.weights, classes[:, :, None] * size + kinds, real)

    def learn(self, taken: "JumpCounts") -> None:
        """Take what is most likely by the counts, and by τ moves more of each class as all others move."""
        general = (taken.seen.sum(axis=0) + self.weights.mean(axis=0)) / (taken.possible.sum(axis=0) + 1)
        general = np.maximum(general / general.sum(), RAREST)
        weights = (taken.seen + SHARED * general) / (taken.possible + SHARED)
        self.weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


@dataclass
class JumpCounts:
    """How often moves have been taken, of the shape of their weights; possible: Σ 1 / Σ_k s(j′, k) over all departures
    from j′ that might have been such a move, so that weights · possible is how often they would be taken by their
    weights alone."""

    seen: NDArray[np.float64]
    possible: NDArray[np.float64]

    def add(self, other: "JumpCounts") -> None:
        self.seen += other.seen
        self.possible += other.possible


@dataclass
class Moves:
    """Moves between the source words of pairs of similar lengths.

    places [B,J,J]: where in the weights, as one row, the move from j′ to j is; real [B,J]: 1 where there is a word, or
    0. likely [B,J,J]: p(j | j′).
    """

    weights: Floats
    places: Numbers
    real: Floats
    likely: Floats = field(init=False)

    def __post_init__(self) -> None:
        table = self.weights.ravel()[self.places]
        self._mass = columns(table, self.real)  # Σ_k s(j′, k) over the words of each pair
        self.likely = table / self._mass[:, :, None]

    def counts(self, before: Floats, arrived: Floats) -> JumpCounts:
        """Return how often moves are taken: p(j′ → j) = before [B,I,J′] · p(j | j′) · arrived [B,I,J]."""
        taken = (before.transpose(0, 2, 1) @ arrived) * self.likely
        possible = (taken.sum(axis=2) / self._mass)[:, :, None] * self.real[:, None, :]
        return JumpCounts(self._by_weight(taken), self._by_weight(possible))

    def _by_weight(self, moves: Floats) -> NDArray[np.float64]:
        sums = np.bincount(self.places.ravel(), moves.ravel(), self.weights.size)
        return sums.astype(np.float64).reshape(self.weights.shape)


@dataclass
class Posteriors:
    """links γ [B,I,J]; unlinked [B,I]: how likely a word comes from none; likelihood: Σ log p(y | x)."""

    links: Floats
    unlinked: Floats
    likelihood: float


@dataclass
class Chains:
    """Targets of pairs of similar lengths, in which each word depends on where the word before comes from.

    likely [B,I,J]: (1 − p₀) t(y_i | x_j), 0 where padded; unlinked [B,I]: p₀ t(y_i | no word), 1 where padded;
    start [B,J]: p(j) of the first word.
    """

    moves: Moves
    likely: Floats
    unlinked: Floats
    start: Floats

    def posteriors(self, factors: Floats | None = None) -> tuple[Posteriors, JumpCounts]:
        """Return what the pairs say, with `likely` multiplied by factors [B,I,J]."""
        likely, unlinked = self.likely if factors is None else self.likely * factors, self.unlinked
        batch, length, size = likely.shape
        linked, stayed = np.empty((2, length, batch, size), np.float32)
        scale = np.empty((length, batch, 1), np.float32)
        state = self.start
        for i in range(length):
            moved = rows(state, self.moves.likely) if i else state
            np.multiply(moved, likely[:, i], out=linked[i])
            np.multiply(state, unlinked[:, i, None], out=stayed[i])
            state = linked[i] + stayed[i]
            scale[i] = state.sum(axis=1, keepdims=True)
            for each in (linked[i], stayed[i], state):
                each /= scale[i]
        links, none = np.empty_like(likely), np.empty_like(unlinked)
        rest = np.ones((batch, size), np.float32)
        before, arrived = np.zeros((2, batch, length, size), np.float32)
        for i in reversed(range(length)):
            links[:, i], none[:, i] = linked[i] * rest, (stayed[i] * rest).sum(axis=1)
            if i:
                before[:, i] = linked[i - 1] + stayed[i - 1]
                arrived[:, i] = likely[:, i] * rest / scale[i]
                rest = columns(self.moves.likely, arrived[:, i]) + rest * (unlinked[:, i, None] / scale[i])
        return Posteriors(links, none, float(np.log(scale).sum())), self.moves.counts(before, arrived)


def rows(states: Floats, table: Floats) -> Floats:
    """Return Σ_j′ states [B,J′] · table [B,J′,J]."""
    return np.matmul(states[:, None, :], table)[:, 0]


def columns(table: Floats, states: Floats) -> Floats:
    """Return Σ_j table [B,J′,J] · states [B,J]."""
    return np.matmul(table, states[:, :, None])[:, :, 0]


def independent(likely: Floats, unlinked: Floats, prior: Floats) -> Posteriors:
    """Return what pairs say where no word depends on the one before; prior [B,I,J]: p(j | i)."""
    joint = likely * prior
    total = joint.sum(axis=2) + unlinked
    return Posteriors(joint / total[:, :, None], unlinked / total, float(np.log(total).sum()))
