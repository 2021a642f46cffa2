"""The tensors of `compose`: what its heads see of the stack.

Shapes: R targets, m positions, Q of them that ask, the last ones.
"""

from collections.abc import Container
from typing import Literal

import torch
from torch import Tensor, nn

from synmt.nn.attention import PLAIN, AttentionEdit, HeadEdit
from synmt.nn.stacks import Stacks


class TreeHeads(nn.Module):
    """The first heads of some layers, counted from 1, compose, and the next ones see the stack. No parameters."""

    def __init__(
        self, composing: int, stacking: int, layers: int, edited: Container[int], mask: Literal["tree", "random"]
    ) -> None:
        super().__init__()
        self.composing = tuple(range(composing))
        self.stacking = tuple(range(composing, composing + stacking))
        self.edited = [layer in edited for layer in range(1, layers + 1)]
        self.mask = mask

    def forward(self, stacks: Stacks, queries: Tensor) -> list[AttentionEdit]:
        """Return the edit of each layer, for the positions `queries` [Q]."""
        edits = []
        for number, (heads, see) in enumerate(((self.composing, composed), (self.stacking, stacked))):
            if heads:
                seen = see(stacks, queries)
                if self.mask == "random":
                    seen = scattered(seen.sum(dim=2), stacks, queries, number)
                bias = torch.zeros(seen.shape, device=seen.device).masked_fill(~seen, float("-inf"))
                edits.append(HeadEdit(heads, bias=bias.unsqueeze(1)))
        edit = AttentionEdit(heads=tuple(edits))
        return [edit if edited else PLAIN for edited in self.edited]


def composed(stacks: Stacks, queries: Tensor) -> Tensor:
    """Return what a head that composes sees, [R,Q,m]."""
    heads, dependents = (each[:, queries].unsqueeze(2) for each in (stacks.heads, stacks.dependents))
    keys, words = torch.arange(stacks.words.shape[1], device=queries.device), stacks.words.unsqueeze(1)
    latest = stacks.replaced.unsqueeze(1) == queries.unsqueeze(1)  # of the arc's words, before it
    return ((heads >= 0) & (latest | (words == heads) | (words == dependents))) | (keys == queries.unsqueeze(1))


def stacked(stacks: Stacks, queries: Tensor) -> Tensor:
    """Return what a head that sees the stack sees, [R,Q,m]."""
    keys, asked = torch.arange(stacks.words.shape[1], device=queries.device), queries.unsqueeze(1)
    return ((keys <= asked) & (asked < stacks.replaced.unsqueeze(1))) | (keys == asked)


def scattered(counts: Tensor, stacks: Stacks, queries: Tensor, number: int) -> Tensor:
    """Return masks where a position sees itself and some tokens before it, `counts` [R,Q] in all: [R,Q,m]

    Which ones is a function of where the tokens stand and of the number of the head alone, the same on every device.
    """
    keys, asked = torch.arange(stacks.words.shape[1], device=queries.device), queries.unsqueeze(1)
    there = stacks.replaced >= 0
    places = there.cumsum(dim=1) - 1
    drawn = _mixed(_mixed(places[:, queries] * 2 + number).unsqueeze(2) + places.unsqueeze(1))
    drawn = drawn.masked_fill((keys > asked) | ~there.unsqueeze(1), torch.iinfo(torch.int64).max)
    drawn = drawn.masked_fill(keys == asked, torch.iinfo(torch.int64).min)
    return drawn.argsort(dim=2).argsort(dim=2) < counts.unsqueeze(2)


def _mixed(numbers: Tensor) -> Tensor:
    """Return pseudo-random int64: the finalizer of splitmix64 (Steele, Lea & Flood 2014), shifts keeping the sign."""
    numbers = numbers * -7046029254386353131
    numbers = (numbers ^ (numbers >> 30)) * -4658895280553007687
    numbers = (numbers ^ (numbers >> 27)) * -7723592293110705685
    return numbers ^ (numbers >> 31)
