"""Which prefixes of its targets a prefix decoder is trained on, and how many at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class PrefixPlan:
    """sampled: how many prefixes of each target, 0 for all; positions: about how many at a time, at most.

    A target of t tokens has t prefixes, with 1 … t positions. k of them, each with weight t/k, give an unbiased
    estimate of the loss over all; so do the fewer ones of a target that is too long for `positions` alone.
    """

    sampled: int
    positions: int

    @classmethod
    def of_all(cls, positions: int, longest: int) -> "PrefixPlan":
        """Return a plan that draws nothing of targets of at most `longest` tokens, but takes all of each at a time."""
        return cls(0, max(positions, longest * (longest + 1) // 2))

    def counts(self, lengths: Integers) -> Integers:
        """Return how many prefixes targets of these lengths have."""
        fitting = np.maximum(1, 2 * self.positions // (lengths + 1))
        return np.minimum(np.minimum(lengths, self.sampled or lengths), fitting)

    def parts(self, indices: Sequence[int], lengths: Integers) -> list[list[int]]:
        """Cut the sentences of a batch, which have targets of these lengths, into what is computed at a time."""
        ends = (self.counts(lengths) * (lengths + 1) / 2).cumsum()
        parts: list[list[int]] = []
        begin = 0.0
        for index, before, end in zip(indices, [0.0, *ends[:-1]], ends, strict=True):
            if not parts or end - begin > self.positions:
                parts.append([])
                begin = before
            parts[-1].append(index)
        return parts

    def choose(self, lengths: Integers) -> tuple[Integers, Integers, NDArray[np.float32]]:
        """Return sentence, length and weight of each prefix, in ascending order of lengths, [R] each.

        Those of a target are evenly spaced from a random beginning, so each is as likely as any other.
        """
        counts = self.counts(lengths)
        sentences = np.repeat(np.arange(len(lengths)), counts)
        spacing = (lengths / counts)[sentences]
        number = np.arange(len(sentences)) - np.repeat(counts.cumsum() - counts, counts)
        start = torch.rand(len(lengths), dtype=torch.float64).numpy()[sentences]
        chosen = np.minimum(np.floor((number + start) * spacing).astype(np.int64) + 1, lengths[sentences])
        order = np.lexsort((sentences, chosen))
        return sentences[order], chosen[order], spacing[order].astype(np.float32)
