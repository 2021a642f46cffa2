"""Prefixes of targets side by side, without padding. Tensors only.

Shapes: B sentences, t target positions, R prefixes, N positions of all prefixes.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from synmt.nn.graphs import Graph

Integers = NDArray[np.int64]


@dataclass(slots=True)
class Grouping:
    """Rows of B sentences, in any order, as a padded [B,Q] and back.

    rows [B,Q]: which row stands there, any where none does; places: where each row stands in the flattened [B·Q].
    """

    rows: Tensor
    places: Tensor

    @classmethod
    def of(cls, sentences: Integers, batch: int, device: torch.device) -> "Grouping":
        """sentences: that of each row, in 0…B−1."""
        counts = np.bincount(sentences, minlength=batch)
        places = np.empty_like(sentences)
        places[sentences.argsort(kind="stable")] = ragged_arange(counts)
        places += sentences * counts.max()
        rows = np.zeros(batch * counts.max(), np.int64)
        rows[places] = np.arange(len(places))
        on_device = torch.from_numpy(rows).to(device, non_blocking=True).view(batch, -1)
        return cls(on_device, torch.from_numpy(places).to(device, non_blocking=True))


@dataclass(slots=True)
class Prefixes:
    """R prefixes, the short ones first, with N positions side by side.

    lengths: each length that there is, with how many prefixes have it.
    sentences [R]: which each is a prefix of.
    tokens [N]: where each position stands in the flattened [B·t] of the targets.
    ends [R]: which of the N positions is the last of each.
    positions, last_positions: by sentence, all N, and the R last ones.
    """

    lengths: list[tuple[int, int]]
    sentences: Tensor
    tokens: Tensor
    ends: Tensor
    positions: Grouping
    last_positions: Grouping

    @classmethod
    def pack(cls, sentences: Integers, lengths: Integers, shape: torch.Size, device: torch.device) -> "Prefixes":
        """The prefixes of these lengths, in ascending order, of these sentences; shape: (B, t)."""
        batch, width = shape

        def on_device(array: Integers) -> Tensor:
            return torch.from_numpy(array).to(device, non_blocking=True)

        return cls(
            [
                (int(length), int(count))
                for length, count in zip(*np.unique(lengths, return_counts=True), strict=True)
            ],
            on_device(sentences),
            on_device(np.repeat(sentences * width, lengths) + ragged_arange(lengths)),
            on_device(lengths.cumsum() - 1),
            Grouping.of(np.repeat(sentences, lengths), batch, device),
            Grouping.of(sentences, batch, device),
        )

    @classmethod
    def of_a_beam(cls, batch: int, beam: int, length: int, device: torch.device) -> "Prefixes":
        """All of one length, K after one another for each sentence."""
        positions = torch.arange(batch * beam * length, device=device)
        last = torch.arange(batch * beam, device=device)
        return cls(
            [(length, batch * beam)],
            last // beam,
            positions,
            last * length + length - 1,
            Grouping(positions.view(batch, -1), positions),
            Grouping(last.view(batch, -1), last),
        )

    @property
    def counts(self) -> list[int]:
        """How many prefixes have each length."""
        return [count for _, count in self.lengths]

    @property
    def sizes(self) -> list[int]:
        """How many positions the prefixes of each length have."""
        return [length * count for length, count in self.lengths]

    def cut(self, graph: Graph) -> list[Graph]:
        """The graph of the prefixes of each length, from that of whole targets."""
        rows = self.sentences.split(self.counts)
        return [graph.prefixes(each, length) for each, (length, _) in zip(rows, self.lengths, strict=True)]


def ragged_arange(counts: Integers) -> Integers:
    """0 … c−1 for each count c."""
    ends = counts.cumsum()
    return np.arange(ends[-1]) - np.repeat(ends - counts, counts)
