"""Stacks of words that wait for a head, as they change with a target. Tensors only.

Shapes: R targets of m positions.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from synmt.nn.rows import joined_rows

FOREVER = 2**31 - 1  # where the token stands that replaces one that none does


@dataclass(slots=True)
class Stacks:
    """What each token does to the stack, each [R,m] int64. A word is named by the position of its first subword.

    words: that a subword is part of, −1 elsewhere; heads, dependents: the two words of an arc, −1 elsewhere.
    replaced: up to which position, exclusively, a token stands for its word: the next token of the word does from
    there on, or its head, if that is an arc in which the word is the dependent. A subword of a word that is not
    complete stands for it beside the others. What stands for no word is replaced where it stands; where there is no
    token, all columns have −1.
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
        """Return the rows of these followed by those of `held`, which lack the last positions: there stands nothing."""
        missing = self.words.shape[1] - held.words.shape[1]
        pairs = (
            (self.words, held.words), (self.heads, held.heads), (self.dependents, held.dependents),
            (self.replaced, held.replaced),
        )  # fmt: skip
        return Stacks(*(joined_rows(own, other, rows, (0, missing), value=-1) for own, other in pairs))

    def select(self, rows: Tensor) -> "Stacks":
        return Stacks(self.words[rows], self.heads[rows], self.dependents[rows], self.replaced[rows])
