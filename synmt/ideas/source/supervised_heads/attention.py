"""The tensors of supervised heads: a loss on the attention of some heads of an encoder or a decoder.

Shapes: B sentences, n positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.ideas.source.supervised_heads.patterns import MASK, REVERSED, Taught
from synmt.nn.attention import PLAIN, AttentionEdit, HeadWatch
from synmt.nn.decoders import DecoderPass
from synmt.nn.encoding import EncoderPass, SourceBatch


class HeadSupervision(nn.Module):
    """Watches heads of encoder layers, and computes the loss and the accuracy of their attention. No parameters."""

    def __init__(self, layers: int, taught: Sequence[Taught], weight: float) -> None:
        super().__init__()
        self.layers, self.taught, self.weight = layers, taught, weight

    def forward(self, batch: SourceBatch) -> EncoderPass:
        run = EncoderPass([PLAIN] * self.layers)
        if "taught_words" not in batch.columns:  # in translation
            return run
        words = batch.columns["taught_words"]
        for each in self.taught:
            name = f"taught_{each.pattern}"
            if each.pattern.startswith(MASK):
                targets = batch.matrices[name]
            else:
                targets = target_tokens(words, batch.columns[name], each.pattern in REVERSED)
            _Lesson(HeadWatch(each.head), self.weight, words, targets).join(run, each)
        return run


@dataclass(frozen=True, slots=True)
class _Lesson:
    """The supervision of one head in one batch. Its loss and its accuracy ignore the decoder states that callers may
    pass.

    words [B,n]: the number of each token's word, counted from 1, else 0.
    targets: whether query t learns to attend to key j, [B,n,n] bool.
    hidden [n,n] bool: the keys that this head hides from each query, None if it hides none.
    """

    watch: HeadWatch
    weight: float
    words: Tensor
    targets: Tensor
    hidden: Tensor | None = None

    def join(self, run: EncoderPass | DecoderPass, taught: Taught, side: str = "") -> None:
        """Add the watch, the loss and the accuracy to a run."""
        run.edits[taught.layer - 1] += AttentionEdit(watches=(self.watch,))
        run.losses.append(self.loss)
        run.accuracies[f"{side}{taught.pattern}@{taught.layer}.{taught.head + 1}"] = self.accuracy

    def logits(self) -> Tensor:
        logits = self.watch.logits()
        return logits if self.hidden is None else logits.masked_fill(self.hidden, float("-inf"))

    def loss(self, *_: Tensor) -> Tensor:
        """Return −λ Σ_t log Σ_j A[t, j] over the taught tokens t and their target tokens j."""
        return -self.weight * log_mass(self.logits(), self.targets).sum()

    def accuracy(self, *_: Tensor) -> tuple[int, int]:
        """Count the words whose first token attends most to one of its targets, and the words that are taught."""
        starts = (self.words != F.pad(self.words, (1, -1))) & (self.words > 0)
        taught = starts & self.targets.any(dim=2)
        best = self.logits().argmax(dim=2, keepdim=True)
        right = self.targets.gather(2, best).squeeze(2) & taught
        return int(right.sum()), int(taught.sum())


def target_tokens(words: Tensor, given: Tensor, reverse: bool) -> Tensor:
    """Return whether query t learns to attend to key j, [B,n,n] bool.

    words [B,n]: the number of each token's word, counted from 1; given [B,n]: the number of the word that the pattern
    gives for it; 0 for none.
    reverse: each query learns to attend to the other words for which the pattern gives the query's word.
    """
    if reverse:
        query, key, other = words.unsqueeze(2), given.unsqueeze(1), words.unsqueeze(1)
        return (query == key) & (query != other) & (query > 0)
    query, key = given.unsqueeze(2), words.unsqueeze(1)
    return (query == key) & (query > 0)


def log_mass(logits: Tensor, targets: Tensor) -> Tensor:
    """Return log Σ_j A[t, j] over the targets j of each query t: [B,n,n] twice → [B,n]

    0 for a query without targets, or from which a hard mask hides all of them.
    """
    untaught = ~(targets & ~logits.isneginf()).any(dim=2, keepdim=True)
    of_targets = logits.masked_fill(~(targets | untaught), float("-inf"))
    return torch.logsumexp(of_targets, dim=2) - torch.logsumexp(logits, dim=2)
