"""Forward–backward over the places that the words of a target come from (see idea.py).

Shapes: B pairs of I target and J source words, padded; K the longest jump with a probability of its own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass
class Jumps:
    """weights [2K+1]: s(d) for d from −K to K; the first and the last are those of longer jumps, too."""

    weights: Floats

    @classmethod
    def new(cls, longest: int) -> "Jumps":
        """Favour short jumps, and most of all the next word."""
        distances = np.arange(-longest, longest + 1)
        weights = np.exp(-0.3 * np.abs(distances - 1))
        return cls((weights / weights.sum()).astype(np.float32))

    def places(self, size: int) -> NDArray[np.intp]:
        """Return where in the weights the jump from j′ to j is, [J,J]."""
        longest, words = len(self.weights) // 2, np.arange(size)
        return (words[None, :] - words[:, None]).clip(-longest, longest) + longest

    def learn(self, taken: "JumpCounts") -> None:
        """Bring what is expected nearer to what is seen (a step of iterative scaling)."""
        weights = self.weights * (taken.seen + 1) / (taken.expected + 1)
        self.weights = (weights / weights.sum()).astype(np.float32)


@dataclass
class JumpCounts:
    """How often jumps have been taken, [2K+1]; expected: how often they would be, as often from each place, by their
    weights alone."""

    seen: Floats
    expected: Floats


@dataclass
class Posteriors:
    """links γ [B,I,J]; unlinked [B,I]: how likely a word comes from none; likelihood: Σ log p(y | x)."""

    links: Floats
    unlinked: Floats
    likelihood: float


def forward_backward(
    likely: Floats, unlinked: Floats, start: Floats, real: Floats, jumps: Jumps
) -> tuple[Posteriors, JumpCounts]:
    """Return what pairs of similar lengths say.

    likely [B,I,J]: (1 − p₀) t(y_i | x_j), 0 where padded; unlinked [B,I]: p₀ t(y_i | no word), 1 where padded;
    start [B,J]: p(j) of the first word; real [B,J]: 1 where there is a source word, or 0.
    """
    batch, length, size = likely.shape
    places = jumps.places(size)
    table = jumps.weights[places]
    mass = real @ table.T  # Σ_k s(k − j′) over the words of each pair
    linked, stayed = np.empty((2, length, batch, size), np.float32)
    scale = np.empty((length, batch, 1), np.float32)
    state = start
    for i in range(length):
        moved = (state / mass) @ table if i else start
        np.multiply(moved, likely[:, i], out=linked[i])
        np.multiply(state, unlinked[:, i, None], out=stayed[i])
        state = linked[i] + stayed[i]
        scale[i] = state.sum(axis=1, keepdims=True)
        for each in (linked[i], stayed[i], state):
            each /= scale[i]
    links, none = np.empty_like(likely), np.empty_like(unlinked)
    rest = np.ones((batch, size), np.float32)
    jumped, departed = np.zeros((size, size), np.float32), np.zeros((batch, size), np.float32)
    for i in reversed(range(length)):
        links[:, i], none[:, i] = linked[i] * rest, (stayed[i] * rest).sum(axis=1)
        if i:
            before = (linked[i - 1] + stayed[i - 1]) / mass
            arrived = likely[:, i] * rest / scale[i]
            back = arrived @ table.T
            jumped += before.T @ arrived  # Σ p(j′ → j) / s(j − j′)
            departed += before * back
            rest = back / mass + rest * (unlinked[:, i, None] / scale[i])
    seen, expected = (
        np.bincount(places.ravel(), (each * table).ravel(), len(jumps.weights)).astype(np.float32)
        for each in (jumped, (departed / mass).T @ real)
    )
    return Posteriors(links, none, float(np.log(scale).sum())), JumpCounts(seen, expected)


def independent(likely: Floats, unlinked: Floats, prior: Floats) -> Posteriors:
    """Return what pairs say where no word depends on the one before; prior [B,I,J]: p(j | i)."""
    joint = likely * prior
    total = joint.sum(axis=2) + unlinked
    return Posteriors(joint / total[:, :, None], unlinked / total, float(np.log(total).sum()))
