"""Forward–backward over the source positions that target words come from, and the agreement of two directions.

Word y_i comes from source position a_i, which depends on a_{i−1}, or from no word, after which a_i = a_{i−1} (Vogel,
Ney & Tillmann 1996, "HMM-Based Word Alignment in Statistical Translation", COLING; Och & Ney 2003, "A Systematic
Comparison of Various Statistical Alignment Models", Computational Linguistics). The recursion computes
γ_ij = p(a_i = j | x, y).

Agreement (Graça, Ganchev & Taskar 2010, "Learning Tractable Word Alignment Models with Complex Constraints",
Computational Linguistics): among all pairs of distributions with equal γ, the pair nearest to both models is
p(a) Π_i e^(λ_(i,a_i)) in one direction and p′(a) Π_j e^(−λ_(a_j,j)) in the other. λ starts at 0 and grows by γ′ − γ in
each step, up to MOST: where no links fit both models, it would grow for ever.

Emission probabilities come from tables of counts (`Emissions`) or scores of embeddings (`LogEmissions`). The code
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
class Emissions:
    """Probabilities. linked [B,I,J]: (1 − p₀) p(y_i | x_j), 0 where padded; unlinked [B,I]: p₀ p(y_i | none), 1 where
    padded."""

    linked: Array
    unlinked: Array

    def with_duals(self, duals: Array | None) -> tuple[Array, Array, Any]:
        """Return linked · e^λ, unlinked, and the log of the factor taken out of both, here 0. duals: λ [B,I,J]."""
        linked = self.linked if duals is None else self.linked * library_of(duals).exp(duals)
        return linked, self.unlinked, 0.0


@dataclass(frozen=True, slots=True)
class LogEmissions:
    """Logarithms of probabilities, which may be too small for fp32. linked [B,I,J]: log (1 − p₀) p(y_i | x_j), −inf
    where j is padded; unlinked [B,I]: log p₀ p(y_i | none); real [B,I] bool: where there is a word."""

    linked: Array
    unlinked: Array
    real: Array

    def with_duals(self, duals: Array | None) -> tuple[Array, Array, Any]:
        """Return likelihoods relative to the largest one of each word, linked and unlinked, and the sum of the logs of
        the largest ones per pair [B]. duals: λ [B,I,J]."""
        library = library_of(self.linked)
        logs = self.linked if duals is None else self.linked + duals
        most = library.maximum(library.amax(logs, axis=2), self.unlinked)
        likely = library.exp((logs - most[:, :, None]).clip(min=LEAST)) * self.real[:, :, None]
        none = library.where(self.real, library.exp((self.unlinked - most).clip(min=LEAST)), 1.0)
        return likely, none, (most * self.real).sum(axis=1)


@dataclass(frozen=True, slots=True)
class Posteriors:
    """links [B,I,J]: γ; unlinked [B,I]: the probability that a word comes from none, 1 where padded.

    likelihood [B]: log p(y | x). p(j′ → j) between words i−1 and i is departures [B,I,J′] · transitions [B,J′,J] ·
    arrivals [B,I,J].
    """

    links: Array
    unlinked: Array
    likelihood: Array
    departures: Array
    arrivals: Array
    transitions: Array

    def expected_transitions(self) -> Array:
        """Return ξ [B,J′,J], the expected number of transitions from j′ to j."""
        return (self.departures.swapaxes(1, 2) @ self.arrivals) * self.transitions


@dataclass(frozen=True, slots=True)
class Chains:
    """Targets in which the position of each word depends on the position of the previous word.

    emissions: of the target words; transitions [B,J′,J]: p(j | j′), and start [B,J]: p(j) of the first word, both 0
    where j is padded.
    """

    emissions: Emissions | LogEmissions
    transitions: Array
    start: Array

    def posteriors(self, duals: Array | None = None) -> Posteriors:
        """Return γ of all pairs. duals: λ [B,I,J], which is added to the log-probabilities of links."""
        emission, none, factor = self.emissions.with_duals(duals)
        batch, length, size = emission.shape
        linked, stayed = _empty(emission, 2, length, batch, size)
        scale = _empty(emission, length, batch, 1)
        state = self.start
        for i in range(length):
            moved = _rows(state, self.transitions) if i else state
            linked[i], stayed[i] = moved * emission[:, i], state * none[:, i, None]
            state = linked[i] + stayed[i]
            scale[i] = state.sum(axis=1, keepdims=True)
            for each in (linked[i], stayed[i], state):
                each /= scale[i]
        links, unlinked = _empty(emission, *emission.shape), _empty(none, *none.shape)
        departures, arrivals = _empty(emission, 2, *emission.shape)
        rest = 0 * self.start + 1
        for i in reversed(range(length)):
            links[:, i], unlinked[:, i] = linked[i] * rest, (stayed[i] * rest).sum(axis=1)
            if i:
                departures[:, i] = linked[i - 1] + stayed[i - 1]
                arrivals[:, i] = emission[:, i] * rest / scale[i]
                rest = columns(self.transitions, arrivals[:, i]) + rest * (none[:, i, None] / scale[i])
        departures[:, 0] = arrivals[:, 0] = 0
        likelihood = library_of(scale).log(scale).sum(axis=(0, 2)) + factor
        return Posteriors(links, unlinked, likelihood, departures, arrivals, self.transitions)


def agreed(directions: tuple[Chains, Chains], steps: int) -> list[Posteriors]:
    """Return γ of both directions after these steps of agreement, with the likelihoods from before the first step."""
    forward, backward = directions
    there, back = first = forward.posteriors(), backward.posteriors()
    duals = 0 * there.links  # λ
    for _ in range(steps):
        duals = (duals + (back.links.swapaxes(1, 2) - there.links)).clip(-MOST, MOST)
        there, back = forward.posteriors(duals), backward.posteriors(-duals.swapaxes(1, 2))
    return [replace(found, likelihood=own.likelihood) for found, own in zip((there, back), first, strict=True)]


def independent(emissions: Emissions, prior: Array) -> Posteriors:
    """Return γ when positions do not depend on each other, so that there are no transitions; prior [B,I,J]: p(j)."""
    joint = emissions.linked * prior
    total = joint.sum(axis=2) + emissions.unlinked
    nothing = np.zeros((len(joint), 0, 0), np.float32)
    return Posteriors(
        joint / total[:, :, None], emissions.unlinked / total, np.log(total).sum(axis=1), nothing, nothing, nothing
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
