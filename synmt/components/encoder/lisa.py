"""`lisa`: one encoder head attends to each token's parent, which it learns to predict.

Strubell, Verga, Andor, Weiss & McCallum (2018), "Linguistically-Informed Self-Attention for Semantic Role Labeling",
EMNLP. For translation, and as described here, the baseline of Bugliarello & Okazaki (2020).

In one layer, a biaffine parser over the layer's input X computes the weights of the first head:

    [Q_p, K_p] = LeakyReLU(X W + b),   A = softmax_k([Q_p; 1]ᵀ U K_p),   L = L_translation + λ Σ_t −log A[t, p_t]

p_t is the first subword of the head of t's word; the root is its own parent. The head computes its own values. The
paper's code left U uninitialized, took the logarithm twice, over the axis of queries, and counted padding. Here U is
initialized by Xavier, and tokens that are no words have no parent to learn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from synmt.components.contract import (
    SOME_HEADS,
    EncoderComponent,
    Field,
    Heads,
    Layout,
    ParseRecord,
    TransformerConfig,
    parents_of_words,
    setting,
    spans_of_words,
)

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun

GOLD_FRACTION = 0.5  # of the rows, with mixed parents


@dataclass(frozen=True)
class Lisa(EncoderComponent):
    """Fields: `parent_subwords`, the first token of each token's parent, -1 if it has none or it is unknown;
    `word_starts`, 1 for the first token of a word, whose prediction counts for accuracy."""

    cites: ClassVar[tuple[str, ...]] = ("strubell2018linguistically", "bugliarello2020enhancing")

    layer: int = setting(1, "encoder layer of the head", 1, 256)
    weight: float = setting(1.0, "weight of the parser's loss: λ")
    train_parents: Literal["predicted", "gold", "mixed"] = setting(
        "predicted", "what the head attends to in training; mixed: gold in half of the rows"
    )
    test_parents: Literal["predicted", "gold", "mixed"] = setting(
        "predicted", "the same for translation; gold parents come from the record"
    )

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset() if not training and self.test_parents == "predicted" else frozenset({SOME_HEADS})

    def reads(self) -> Mapping[str, Field]:
        return {"parent_subwords": Field(pad=-1), "word_starts": Field()}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        if not record.heads:
            return {"parent_subwords": [-1] * len(layout.tokens), "word_starts": [0] * len(layout.tokens)}
        first, _ = spans_of_words(layout, len(record.tokens))
        parents = [first[parent] if parent >= 0 else -1 for parent in parents_of_words(record)]
        return {
            "parent_subwords": layout.of_words(parents, -1),
            "word_starts": [int(word >= 0 and first[word] == place) for place, word in enumerate(layout.words)],
        }

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return {self.layer: (0,)}

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        import torch
        from torch import nn

        size = config.width // config.heads
        projection, biaffine = nn.Linear(config.width, 2 * size), nn.Parameter(torch.empty(size + 1, size))
        nn.init.xavier_normal_(projection.weight)
        nn.init.zeros_(projection.bias)
        nn.init.xavier_normal_(biaffine)
        return {"projection": projection, "biaffine": biaffine}

    def weights(self, run: "SideRun", layer: int, states: "Tensor") -> "Tensor":
        """Return attention to predicted or gold parents, and keep the logarithm of the predictions for the loss."""
        import torch

        scores = parent_scores(run, states)
        if run.padding is not None:
            scores = scores.masked_fill(run.padding[:, None, :], float("-inf"))
        run.memory["log_weights"] = log_weights = scores.log_softmax(dim=-1)
        source = self.train_parents if run.own.training else self.test_parents
        predicted = log_weights.exp().unsqueeze(1)
        if source == "predicted":
            return predicted
        parents, rows = self._parents(run)
        if source == "mixed" and run.own.training:
            rows = rows & (torch.rand(rows.shape, device=rows.device) < GOLD_FRACTION)
        elif source == "mixed":  # every second row, whatever else is in the batch
            rows = rows & (run.queries % 2 == 0)
        gold = (parents.unsqueeze(2) == run.queries).to(predicted.dtype)
        return torch.where(rows.unsqueeze(2), gold, predicted.squeeze(1)).unsqueeze(1)

    def loss(self, run: "SideRun") -> "Tensor":
        """Return λ Σ_t −log A[t, p_t] over the tokens that have a parent."""
        parents, known = self._parents(run)
        chosen = run.memory["log_weights"].gather(2, parents.unsqueeze(2)).squeeze(2)
        return -self.weight * chosen.masked_fill(~known, 0.0).sum()

    def accuracies(self, run: "SideRun") -> Mapping[str, Callable[[], tuple[int, int]]]:
        """Count the words whose first token predicts their parent, and the words that have a parent."""

        def count() -> tuple[int, int]:
            parents, known = self._parents(run)
            words = known & (run.fields["word_starts"] == 1)
            right = (run.memory["log_weights"].argmax(dim=-1) == parents) & words
            return int(right.sum()), int(words.sum())

        return {"uas": count}

    def _parents(self, run: "SideRun") -> "tuple[Tensor, Tensor]":
        """Return the parent of each token, and whether it is known, [B,n]."""
        parents = run.fields["parent_subwords"]
        return parents.clamp(min=0), parents >= 0


def parent_scores(run: "SideRun", states: "Tensor") -> "Tensor":
    """Return Z[b,q,k], the score of token k as the parent of token q; states [B,n,d] → [B,n,n]"""
    import torch
    import torch.nn.functional as F

    query, key = F.leaky_relu(run.own.projection(states)).float().chunk(2, dim=-1)
    with torch.autocast(states.device.type, enabled=False):
        with_one = F.pad(query, (0, 1), value=1.0)
        return with_one @ run.own.biaffine.float() @ key.transpose(1, 2)
