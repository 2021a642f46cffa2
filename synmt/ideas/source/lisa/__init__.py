"""`lisa`: one encoder head attends to each token's parent, which it learns to predict.

Strubell, Verga, Andor, Weiss & McCallum (2018), "Linguistically-Informed Self-Attention for Semantic Role Labeling",
EMNLP. For translation, and as described here, the baseline of Bugliarello & Okazaki (2020).

In one layer, a biaffine parser over the layer's input X computes the weights of the first head:

    [Q_p, K_p] = LeakyReLU(X W + b),   A = softmax_k([Q_p; 1]ᵀ U K_p),   L = L_translation + λ Σ_t −log A[t, p_t]

p_t is the first subword of the head of t's word; the root is its own parent. The head computes its own values. The
paper's code left U uninitialized, took the logarithm twice, over the axis of queries, and counted padding. Here U is
initialized by Xavier, and tokens that are no words have no parent to learn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from synmt.ideas.source import SOME_HEADS, Heads, Layout, SourceIdea, parents_of_words, spans_of_words
from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.ideas.source.lisa.attention import ParentHead


@dataclass(frozen=True)
class Lisa(SourceIdea):
    """Columns: `parent_subwords`, the first token of each token's parent, -1 if it has none or it is unknown;
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

    def columns(self, record: ParseRecord, layout: Layout) -> dict[str, list[int]]:
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

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "ParentHead":
        from synmt.ideas.source.lisa.attention import ParentHead

        return ParentHead(config, self.layer, self.weight, self.train_parents, self.test_parents)
