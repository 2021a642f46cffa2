"""The stack of words that wait for a head, how a target changes it, and how the heads of `compose` see it.

Shapes: R targets of m positions, of which the last Q are queries.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from synmt.ideas.target import Reading
from synmt.ideas.target.arcs.search import TreeHypotheses
from synmt.nn.attention import PLAIN, AttentionEdit, HeadEdit, hiding
from synmt.nn.decoders import DecoderPass, TargetBatch, joined_rows
from synmt.trees.transitions import State

FOREVER = 2**31 - 1  # `replaced` of a token that nothing has replaced yet
COLUMNS = "stack words", "stack heads", "stack dependents", "stack replaced"


class Role(NamedTuple):
    """The effect of a token on the stack. Words are named by the positions of their first subwords.

    word: the word that the token is a subword of; head, dependent: the words of an arc; each −1 if there is none.
    completes: whether the token is the last subword of its word.
    """

    word: int = -1
    head: int = -1
    dependent: int = -1
    completes: bool = False


def role(state: State) -> Role:
    """Return the role of the last token. The begin of sentence is a word on the stack if the root has an arc."""
    if state.arc:
        return Role(head=state.arc.head[0], dependent=state.arc.dependent[0])
    if state.open_word and state.open_word[-1] == state.length:
        return Role(state.open_word[0])
    if state.stack and state.stack[0][-1] == state.length:
        return Role(state.stack[0][0], completes=True)
    return Role() if state.length or not state.style.root_arc else Role(0)


class StackReading(Reading):
    """The stack at each position, in COLUMNS of 1+t numbers, as in Stacks. A token that is never replaced gets 1+t."""

    name = "stack"

    def columns(self, entries: Sequence[str]) -> dict[str, NDArray[np.int32]]:
        state = State(self.style)
        states = [state]
        for entry in entries:
            state = state.after(self.style.token(entry))
            states.append(state)
        roles = [role(each) for each in states]
        standing: dict[int, list[int]] = {}  # the tokens that represent each word
        replaced = [len(roles)] * len(roles)
        for position, (word, head, dependent, completes) in enumerate(roles):
            for each in [head, dependent, *[word] * completes]:
                for token in standing.pop(each, ()):
                    replaced[token] = position
            if word < 0 and head < 0:
                replaced[position] = position
            else:
                standing.setdefault(max(word, head), []).append(position)
        columns = np.vstack([np.array(roles, np.int32).T[:3], np.array(replaced, np.int32)])
        return dict(zip(COLUMNS, columns, strict=True))

    def tensors(self, columns: Mapping[str, Tensor], length: int) -> "Stacks":
        replaced = columns[COLUMNS[-1]]
        padding = (replaced == 0) & (torch.arange(replaced.shape[1], device=replaced.device) > 0)
        return Stacks(*(columns[name].masked_fill(padding, -1) for name in COLUMNS))

    def start(self, rows: int, device: torch.device) -> "Stacks":
        return Stacks.empty(rows, device)

    def grown(self, tensors: "Stacks", hypotheses: TreeHypotheses) -> "Stacks":
        return tensors.grown(torch.tensor([role(state) for state in hypotheses.states], dtype=torch.int64).view(-1, 4))


class Stacks(NamedTuple):
    """The effect of each token on the stack, [R,m] int64 each. A word is named by the position of its first subword.

    words: the word of each subword; −1 elsewhere.
    heads, dependents: the two words of an arc; −1 elsewhere.
    replaced: the position at which another token replaces this one as the representative of its word: the next token of
    the word or, if the word is the dependent of an arc, that arc's token. All subwords of an incomplete word represent
    it together. A token that represents no word is replaced at its own position.
    Where there is no token, all columns are −1.
    """

    words: Tensor
    heads: Tensor
    dependents: Tensor
    replaced: Tensor

    @classmethod
    def empty(cls, rows: int, device: torch.device) -> "Stacks":
        return cls(*torch.empty(4, rows, 0, dtype=torch.int64, device=device))

    def grown(self, tokens: Tensor) -> "Stacks":
        """Return the stacks with one more token: [R,4], the first three columns, and whether it completes a word."""
        word, head, dependent, completes = tokens.to(self.words.device).t().unsqueeze(2)
        position = self.words.shape[1]
        owners = torch.where(self.heads < 0, self.words, self.heads)
        now = (owners == head) | (owners == dependent) | ((owners == word) & (completes > 0))
        replaced = self.replaced.masked_fill(now & (self.replaced == FOREVER), position)
        new = torch.where((head < 0) & (word < 0), position, FOREVER)
        columns = zip((self.words, self.heads, self.dependents, replaced), (word, head, dependent, new), strict=True)
        return Stacks(*(torch.cat(pair, dim=1) for pair in columns))

    def joined(self, held: "Stacks", rows: Tensor) -> "Stacks":
        """Return rows [R] of these stacks and of `held`, as `joined_rows`; positions that `held` lacks become empty."""
        missing = self.words.shape[1] - held.words.shape[1]
        pairs = zip(self, held, strict=True)
        return Stacks(*(joined_rows(own, other, rows, (0, missing), value=-1) for own, other in pairs))

    def select(self, rows: Tensor) -> "Stacks":
        return Stacks(*(column[rows] for column in self))


class TreeHeads(nn.Module):
    """The first heads of some layers, counted from 1, compose, and the next ones see the stack. No parameters."""

    reads = "stack"

    def __init__(
        self, composing: int, stacking: int, layers: int, edited: Container[int], mask: Literal["tree", "random"]
    ) -> None:
        super().__init__()
        self.composing = tuple(range(composing))
        self.stacking = tuple(range(composing, composing + stacking))
        self.edited = [layer in edited for layer in range(1, layers + 1)]
        self.mask = mask

    def forward(self, stacks: Stacks, queries: Tensor, target: TargetBatch | None = None) -> DecoderPass:
        """Return the edit of each layer, for the positions `queries` [Q]."""
        edits = []
        for number, (heads, see) in enumerate(((self.composing, composed), (self.stacking, stacked))):
            if heads:
                seen = see(stacks, queries)
                if self.mask == "random":
                    seen = scattered(seen.sum(dim=2), stacks, queries, number)
                edits.append(HeadEdit(heads, bias=hiding(~seen).unsqueeze(1)))
        edit = AttentionEdit(heads=tuple(edits))
        return DecoderPass([edit if edited else PLAIN for edited in self.edited])


def composed(stacks: Stacks, queries: Tensor) -> Tensor:
    """Return the positions that a composing head sees, [R,Q,m]."""
    heads, dependents = (each[:, queries].unsqueeze(2) for each in (stacks.heads, stacks.dependents))
    keys, words = torch.arange(stacks.words.shape[1], device=queries.device), stacks.words.unsqueeze(1)
    latest = stacks.replaced.unsqueeze(1) == queries.unsqueeze(1)  # the tokens that the arc's token replaces
    return ((heads >= 0) & (latest | (words == heads) | (words == dependents))) | (keys == queries.unsqueeze(1))


def stacked(stacks: Stacks, queries: Tensor) -> Tensor:
    """Return the positions that a head on the stack sees, [R,Q,m]."""
    keys, asked = torch.arange(stacks.words.shape[1], device=queries.device), queries.unsqueeze(1)
    return ((keys <= asked) & (asked < stacks.replaced.unsqueeze(1))) | (keys == asked)


def scattered(counts: Tensor, stacks: Stacks, queries: Tensor, number: int) -> Tensor:
    """Return masks under which each query sees itself and random earlier tokens, `counts` [R,Q] in all: [R,Q,m]

    The choice depends only on the positions of tokens and on the number of the head, so it is the same on every device.
    """
    keys, asked = torch.arange(stacks.words.shape[1], device=queries.device), queries.unsqueeze(1)
    there = stacks.replaced >= 0
    places = there.cumsum(dim=1) - 1
    drawn = _mixed(_mixed(places[:, queries] * 2 + number).unsqueeze(2) + places.unsqueeze(1))
    drawn = drawn.masked_fill((keys > asked) | ~there.unsqueeze(1), torch.iinfo(torch.int64).max)
    drawn = drawn.masked_fill(keys == asked, torch.iinfo(torch.int64).min)
    return drawn.argsort(dim=2).argsort(dim=2) < counts.unsqueeze(2)


def _mixed(numbers: Tensor) -> Tensor:
    """Return pseudo-random int64: the finalizer of splitmix64 (Steele, Lea & Flood 2014) with arithmetic shifts."""
    numbers = numbers * -7046029254386353131
    numbers = (numbers ^ (numbers >> 30)) * -4658895280553007687
    numbers = (numbers ^ (numbers >> 27)) * -7723592293110705685
    return numbers ^ (numbers >> 31)
