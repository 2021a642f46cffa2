"""Prefixes of targets side by side, without padding. Tensors only.

Shapes: B sentences, t target positions, R prefixes, N positions of all prefixes.
"""

from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from synmt.device import sent
from synmt.nn.graphs import Graph

Integers = NDArray[np.int64]

SPREAD = 1.25  # in a group, a sentence is padded to at most its own rows times this


@dataclass(slots=True)
class Grouping:
    """How rows that belong to B sentences attend to them: in groups of sentences with about as many rows, padded.

    sentences [B]: group after group; sizes: how many each group has.
    rows: of each group [b,Q], which row stands there, any where none does.
    places: where each row stands in the groups, flattened one after the other.
    """

    sentences: Tensor
    sizes: list[int]
    rows: list[Tensor]
    places: Tensor

    @classmethod
    def of(cls, sentences: Integers, batch: int, device: torch.device) -> "Grouping":
        """Group rows by their sentences: that of each row; all 0…B−1 have some."""
        counts = np.bincount(sentences, minlength=batch)
        order = counts.argsort(kind="stable")[::-1].copy()
        widths: list[int] = []  # Q of the group of each sentence, in this order
        for count in counts[order].tolist():
            widths.append(widths[-1] if widths and widths[-1] <= SPREAD * count else count)
        shapes = [(len([*same]), width) for width, same in groupby(widths)]
        starts = np.empty(batch, np.int64)
        starts[order] = np.cumsum([0, *widths[:-1]])
        places = np.empty_like(sentences)
        places[sentences.argsort(kind="stable")] = ragged_arange(counts)
        places += starts[sentences]
        rows = np.zeros(sum(widths), np.int64)
        rows[places] = np.arange(len(places))
        ends = np.cumsum([size * width for size, width in shapes])
        parts = zip(np.split(rows, ends[:-1]), shapes, strict=True)
        return cls(
            on_device(order, device),
            [size for size, _ in shapes],
            [on_device(part.reshape(shape), device) for part, shape in parts],
            on_device(places, device),
        )


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
        """Return the prefixes of these lengths, in ascending order, of these sentences; shape: (B, t)."""
        batch, width = shape
        return cls(
            [(int(length), int(count)) for length, count in zip(*np.unique(lengths, return_counts=True), strict=True)],
            on_device(sentences, device),
            on_device(np.repeat(sentences * width, lengths) + ragged_arange(lengths), device),
            on_device(lengths.cumsum() - 1, device),
            Grouping.of(np.repeat(sentences, lengths), batch, device),
            Grouping.of(sentences, batch, device),
        )

    @classmethod
    def of_a_beam(cls, batch: int, beam: int, length: int, device: torch.device) -> "Prefixes":
        """Return prefixes of one length, K after one another for each sentence."""
        positions = torch.arange(batch * beam * length, device=device)
        last = torch.arange(batch * beam, device=device)
        sentences = torch.arange(batch, device=device)
        return cls(
            [(length, batch * beam)],
            last // beam,
            positions,
            last * length + length - 1,
            Grouping(sentences, [batch], [positions.view(batch, -1)], positions),
            Grouping(sentences, [batch], [last.view(batch, -1)], last),
        )

    @classmethod
    def of_lengths(cls, lengths: Tensor, width: int) -> "Prefixes":
        """Return prefixes of any lengths [B,K], each of a target of its own, padded to `width`, K for a sentence."""
        own, beam = lengths.flatten().cpu().numpy(), lengths.shape[1]
        order = own.argsort(kind="stable")
        packed = cls.pack(order, own[order], torch.Size((len(order), width)), lengths.device)
        sentences = order // beam
        packed.positions = Grouping.of(np.repeat(sentences, own[order]), len(lengths), lengths.device)
        packed.last_positions = Grouping.of(sentences, len(lengths), lengths.device)
        return packed

    @property
    def counts(self) -> list[int]:
        """Return how many prefixes have each length."""
        return [count for _, count in self.lengths]

    @property
    def sizes(self) -> list[int]:
        """Return how many positions the prefixes of each length have."""
        return [length * count for length, count in self.lengths]

    def cut(self, graph: Graph) -> list[Graph]:
        """Return the graph of the prefixes of each length, from that of whole targets."""
        rows = self.sentences.split(self.counts)
        return [graph.prefixes(each, length) for each, (length, _) in zip(rows, self.lengths, strict=True)]


def on_device(array: Integers, device: torch.device) -> Tensor:
    return sent(torch.from_numpy(array), device)


def ragged_arange(counts: Integers) -> Integers:
    """Return 0 … c−1 for each count c."""
    ends = counts.cumsum()
    return np.arange(ends[-1]) - np.repeat(ends - counts, counts)
