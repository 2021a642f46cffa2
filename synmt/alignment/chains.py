"""Forward–backward over the source positions that target words come from, and the agreement of two directions.

Word y_i comes from source position a_i, which depends on a_{i−1}, or from no word, after which a_i = a_{i−1} (Vogel,
Ney & Tillmann 1996, "HMM-Based Word Alignment in Statistical Translation", COLING; Och & Ney 2003, "A Systematic
Comparison of Various Statistical Alignment Models", Computational Linguistics). The recursion computes
γ_ij = p(a_i = j | x, y).

Agreement (Graça, Ganchev & Taskar 2010, "Learning Tractable Word Alignment Models with Complex Constraints",
Computational Linguistics): among all pairs of distributions with equal γ, the pair nearest to both models is
p(a) Π_i e^(λ_(i,a_i)) in one direction and p′(a) Π_j e^(−λ_(a_j,j)) in the other. λ starts at 0 and grows by γ′ − γ in
each step, up to MOST: where no links fit both models, it would grow for ever.

There are two sources of word probabilities: tables of counts (`Tables`) and scores of embeddings (`Scores`). The code
uses only operations that numpy and torch share. On a CPU, give it numpy arrays: torch multiplies many small matrices up
to 15 times more slowly.

Shapes: B pairs of I target and J source words, padded; all in fp32.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

LEAST = -60.0  # smallest log-likelihood relative to the largest one of the same word
MOST = 20.0  # largest λ in either direction, so that likelihoods stay in the range of fp32

Array = Any  # a numpy array or a tensor


@dataclass(frozen=True, slots=True)
class Tables:
    """Probabilities. likely [B,I,J]: (1 − p₀) p(y_i | x_j), 0 where padded; unlinked [B,I]: p₀ p(y_i | none), 1 where
    padded."""

    likely: Array
    unlinked: Array

    def chances(self, surplus: Array | None) -> tuple[Array, Array, Any]:
        """Return likely · e^λ, unlinked, and the log of the factor taken out of both, here 0. surplus: λ [B,I,J]."""
        likely = self.likely if surplus is None else self.likely * library_of(surplus).exp(surplus)
        return likely, self.unlinked, 0.0


@dataclass(frozen=True, slots=True)
class Scores:
    """Logarithms of probabilities, which may be too small for fp32. linked [B,I,J]: log (1 − p₀) p(y_i | x_j), −inf
    where j is padded; unlinked [B,I]: log p₀ p(y_i | none); real [B,I] bool: where there is a word."""

    linked: Array
    unlinked: Array
    real: Array

    def chances(self, surplus: Array | None) -> tuple[Array, Array, Any]:
        """Return likelihoods relative to the largest one of each word, linked and unlinked, and the sum of the logs of
        the largest ones per pair [B]. surplus: λ [B,I,J]."""
        library = library_of(self.linked)
        logs = self.linked if surplus is None else self.linked + surplus
        most = library.maximum(library.amax(logs, axis=2), self.unlinked)
        likely = library.exp((logs - most[:, :, None]).clip(min=LEAST)) * self.real[:, :, None]
        none = library.where(self.real, library.exp((self.unlinked - most).clip(min=LEAST)), 1.0)
        return likely, none, (most * self.real).sum(axis=1)


@dataclass(frozen=True, slots=True)
class Found:
    """links [B,I,J]: γ; unlinked [B,I]: the probability that a word comes from none, 1 where padded.

    likelihood [B]: log p(y | x). p(j′ → j) between words i−1 and i is departures [B,I,J′] · moves [B,J′,J] ·
    arrivals [B,I,J].
    """

    links: Array
    unlinked: Array
    likelihood: Array
    departures: Array
    arrivals: Array
    moves: Array

    def taken(self) -> Array:
        """Return ξ [B,J′,J], the expected number of moves from j′ to j."""
        return (self.departures.swapaxes(1, 2) @ self.arrivals) * self.moves


@dataclass(frozen=True, slots=True)
class Chains:
    """Targets in which the position of each word depends on the position of the previous word.

    words: probabilities of the target words; moves [B,J′,J]: p(j | j′), and start [B,J]: p(j) of the first word, both 0
    where j is padded.
    """

    words: Tables | Scores
    moves: Array
    start: Array

    def posteriors(self, surplus: Array | None = None) -> Found:
        """Return γ of all pairs. surplus: λ [B,I,J], which is added to the log-probabilities of links."""
        likely, none, factor = self.words.chances(surplus)
        batch, length, size = likely.shape
        linked, stayed = _empty(likely, 2, length, batch, size)
        scale = _empty(likely, length, batch, 1)
        state = self.start
        for i in range(length):
            moved = _rows(state, self.moves) if i else state
            linked[i], stayed[i] = moved * likely[:, i], state * none[:, i, None]
            state = linked[i] + stayed[i]
            scale[i] = state.sum(axis=1, keepdims=True)
            for each in (linked[i], stayed[i], state):
                each /= scale[i]
        links, unlinked = _empty(likely, *likely.shape), _empty(none, *none.shape)
        departures, arrivals = _empty(likely, 2, *likely.shape)
        rest = 0 * self.start + 1
        for i in reversed(range(length)):
            links[:, i], unlinked[:, i] = linked[i] * rest, (stayed[i] * rest).sum(axis=1)
            if i:
                departures[:, i] = linked[i - 1] + stayed[i - 1]
                arrivals[:, i] = likely[:, i] * rest / scale[i]
                rest = columns(self.moves, arrivals[:, i]) + rest * (none[:, i, None] / scale[i])
        departures[:, 0] = arrivals[:, 0] = 0
        likelihood = library_of(scale).log(scale).sum(axis=(0, 2)) + factor
        return Found(links, unlinked, likelihood, departures, arrivals, self.moves)


def agreed(directions: tuple[Chains, Chains], steps: int) -> list[Found]:
    """Return γ of both directions after these steps of agreement, with the likelihoods from before the first step."""
    forward, backward = directions
    there, back = first = forward.posteriors(), backward.posteriors()
    surplus = 0 * there.links  # λ
    for _ in range(steps):
        surplus = (surplus + (back.links.swapaxes(1, 2) - there.links)).clip(-MOST, MOST)
        there, back = forward.posteriors(surplus), backward.posteriors(-surplus.swapaxes(1, 2))
    return [replace(found, likelihood=own.likelihood) for found, own in zip((there, back), first, strict=True)]


def independent(words: Tables, prior: Array) -> Found:
    """Return γ when positions do not depend on each other, so that there are no moves; prior [B,I,J]: p(j)."""
    joint = words.likely * prior
    total = joint.sum(axis=2) + words.unlinked
    nothing = np.zeros((len(joint), 0, 0), np.float32)
    return Found(
        joint / total[:, :, None], words.unlinked / total, np.log(total).sum(axis=1), nothing, nothing, nothing
    )


def columns(table: Array, states: Array) -> Array:
    """Return Σ_j table [B,J′,J] · states [B,J]."""
    return (table @ states[:, :, None])[:, :, 0]


def _rows(states: Array, table: Array) -> Array:
    """Return Σ_j′ states [B,J′] · table [B,J′,J]."""
    return (states[:, None, :] @ table)[:, 0]


def library_of(array: Array) -> Any:
    """Return numpy, or torch for a tensor."""
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


def _empty(like: Array, *shape: int) -> Array:
    """Return an uninitialized array or tensor of a shape."""
    return np.empty(shape, like.dtype) if isinstance(like, np.ndarray) else like.new_empty(shape)
