"""The tensors of `lisa`: an attention head that predicts each token's parent."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.attention import PLAIN, AttentionEdit, HeadEdit
from synmt.nn.config import TransformerConfig
from synmt.nn.encoding import EncoderPass, SourceBatch

Parents = Literal["predicted", "gold", "mixed"]
GOLD_SHARE = 0.5  # of the rows, with mixed parents


class ParentHead(nn.Module):
    """Replaces the weights of the first head of encoder layer `layer`, counted from 1. Adds a loss and an accuracy."""

    def __init__(
        self, config: TransformerConfig, layer: int, weight: float, train_parents: Parents, test_parents: Parents
    ) -> None:
        super().__init__()
        self.layers, self.layer, self.weight = config.encoder_layers, layer, weight
        self.train_parents, self.test_parents = train_parents, test_parents
        size = config.width // config.heads
        self.projection = nn.Linear(config.width, 2 * size)
        self.biaffine = nn.Parameter(torch.empty(size + 1, size))
        nn.init.xavier_normal_(self.projection.weight)
        nn.init.zeros_(self.projection.bias)
        nn.init.xavier_normal_(self.biaffine)

    def forward(self, batch: SourceBatch) -> EncoderPass:
        run = _Run(self, batch.columns["parent_subwords"], batch.columns["word_starts"] == 1, batch.padding)
        edits = [PLAIN] * self.layers
        edits[self.layer - 1] = AttentionEdit(heads=(HeadEdit((0,), replace=run.weights),))
        return EncoderPass(edits, losses=[run.loss], accuracies={"uas": run.accuracy})

    def scores(self, states: Tensor) -> Tensor:
        """Return Z[b,q,k], the score of token k as the parent of token q; states [B,n,d] → [B,n,n]"""
        query, key = F.leaky_relu(self.projection(states)).float().chunk(2, dim=-1)
        with torch.autocast(states.device.type, enabled=False):
            with_one = F.pad(query, (0, 1), value=1.0)
            return with_one @ self.biaffine.float() @ key.transpose(1, 2)


class _Run:
    """One batch through the head. It holds the predictions until the loss is computed."""

    def __init__(self, head: ParentHead, parents: Tensor, starts: Tensor, padding: Tensor | None) -> None:
        self.head, self.starts, self.padding = head, starts, padding
        self.known = parents >= 0 if padding is None else (parents >= 0) & ~padding
        self.parents = parents.clamp(min=0)
        self.log_weights = torch.empty(0)

    def weights(self, states: Tensor) -> Tensor:
        """Return attention [B,n,n] to predicted or gold parents."""
        scores = self.head.scores(states)
        if self.padding is not None:
            scores = scores.masked_fill(self.padding[:, None, :], float("-inf"))
        self.log_weights = scores.log_softmax(dim=-1)
        source = self.head.train_parents if self.head.training else self.head.test_parents
        predicted = self.log_weights.exp()
        if source == "predicted":
            return predicted
        rows = self.known
        if source == "mixed" and self.head.training:
            rows = rows & (torch.rand(rows.shape, device=rows.device) < GOLD_SHARE)
        elif source == "mixed":  # every second row, whatever else is in the batch
            rows = rows & (torch.arange(rows.shape[1], device=rows.device) % 2 == 0)
        keys = torch.arange(scores.shape[-1], device=scores.device)
        gold = (self.parents.unsqueeze(2) == keys).to(predicted.dtype)
        return torch.where(rows.unsqueeze(2), gold, predicted)

    def loss(self) -> Tensor:
        """Return λ Σ_t −log A[t, p_t] over the tokens that have a parent."""
        chosen = self.log_weights.gather(2, self.parents.unsqueeze(2)).squeeze(2)
        return -self.head.weight * chosen.masked_fill(~self.known, 0.0).sum()

    def accuracy(self) -> tuple[int, int]:
        """Count the words whose first token predicts their parent, and the words that have a parent."""
        words = self.known & self.starts
        right = (self.log_weights.argmax(dim=-1) == self.parents) & words
        return int(right.sum()), int(words.sum())
