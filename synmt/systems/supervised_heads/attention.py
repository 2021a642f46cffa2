"""The tensors of `supervised-heads`: a loss on the attention of some heads.

Shapes: B sentences, n positions.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.attention import AttentionEdit, HeadWatch
from synmt.nn.encoding import EncoderPass, SourceBatch, plain_pass


class HeadSupervision(nn.Module):
    """Watches heads of encoder layers, and gives the loss and the accuracy of their attention. No parameters.

    taught: of each head its pattern, its layer, counted from 1, and its number, counted from 0; reverse: the patterns
    that give the words which are to attend to a word, in place of those that it is to attend to.
    """

    def __init__(
        self, layers: int, taught: Sequence[tuple[str, int, int]], reverse: Collection[str], weight: float
    ) -> None:
        super().__init__()
        self.layers, self.taught, self.reverse, self.weight = layers, taught, reverse, weight

    def forward(self, batch: SourceBatch) -> EncoderPass:
        run = plain_pass(self.layers)
        if "taught_words" not in batch.columns:  # in translation
            return run
        for pattern, layer, head in self.taught:
            lesson = _Lesson(batch, pattern, pattern in self.reverse, HeadWatch(head), self.weight)
            run.edits[layer - 1] += AttentionEdit(watches=(lesson.watch,))
            run.losses.append(lesson.loss)
            run.accuracies[f"{pattern}@{layer}.{head + 1}"] = lesson.accuracy
        return run


@dataclass(frozen=True, slots=True)
class _Lesson:
    """One head in one batch."""

    batch: SourceBatch
    pattern: str
    reverse: bool
    watch: HeadWatch
    weight: float

    def targets(self) -> Tensor:
        columns = self.batch.columns
        return target_tokens(columns["taught_words"], columns[f"taught_{self.pattern}"], self.reverse)

    def loss(self) -> Tensor:
        """Return −λ Σ_t log Σ_j A[t, j] over the tokens t that are taught and the tokens j that they are taught."""
        return -self.weight * log_mass(self.watch.logits(), self.targets()).sum()

    def accuracy(self) -> tuple[int, int]:
        """Count the words whose first token attends most to a token that it is taught, and the words that are
        taught."""
        words, targets = self.batch.columns["taught_words"], self.targets()
        starts = words != F.pad(words, (1, -1))
        taught = starts & targets.any(dim=2)
        best = self.watch.logits().argmax(dim=2, keepdim=True)
        right = targets.gather(2, best).squeeze(2) & taught
        return int(right.sum()), int(taught.sum())


def target_tokens(words: Tensor, given: Tensor, reverse: bool) -> Tensor:
    """Return whether query t is taught key j, [B,n,n] bool.

    words [B,n]: the number of each token's word, from 1; given [B,n]: the number of the word that the pattern gives.
    Both are 0 where there is none. reverse: a query is taught the other words that were given its own.
    """
    if reverse:
        query, key, other = words.unsqueeze(2), given.unsqueeze(1), words.unsqueeze(1)
        return (query == key) & (query != other) & (query > 0)
    query, key = given.unsqueeze(2), words.unsqueeze(1)
    return (query == key) & (query > 0)


def log_mass(logits: Tensor, targets: Tensor) -> Tensor:
    """Return log Σ_j A[t, j] over the targets j of each query t, 0 for a query that has none: [B,n,n] twice → [B,n]"""
    untaught = ~targets.any(dim=2, keepdim=True)
    of_targets = logits.masked_fill(~(targets | untaught), float("-inf"))
    return torch.logsumexp(of_targets, dim=2) - torch.logsumexp(logits, dim=2)
