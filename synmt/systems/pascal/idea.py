"""`pascal`: parent-scaled self-attention in the encoder.

Bugliarello & Okazaki (2020), "Enhancing Machine Translation with Dependency-Aware Self-Attention", ACL.

In chosen heads of one layer, or of several, the logits of token t are scaled by how close each key j is to the
position p_t of t's dependency parent, with a Gaussian of variance σ² (equations 2 to 4):

    N = (Q Kᵀ / √c) ⊙ D,   D[t, j] = exp(−(j − p_t)² / 2σ²) / √(2πσ²)

All subwords of a word share the middle of their parent's subwords, and the root is its own parent. Parent ignoring,
`dropout` here: in training, each row of D is plain with probability q, drawn for each sentence, layer and head.

`weighting` other than the paper's: `add-log-density` adds log D to the logits, for the product turns a negative
logit at the parent into the smallest weight; `parent-only` scales by the indicator |j − p_t| < 1, as the paper's
ablation does. Where the paper's code scaled the wrong heads for batches of several sentences, heads are an axis of
their own here; tokens that are no words, such as node labels beside `mask`, keep their own attention.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from synmt.nn.config import TransformerConfig
from synmt.options import rate, setting
from synmt.systems.idea import SOME_HEADS, Heads, Layout, SourceIdea, spans_of_words
from synmt.trees.record import UNATTACHED, ParseRecord

if TYPE_CHECKING:
    from synmt.systems.pascal.attention import ParentScaling


@dataclass(frozen=True)
class Pascal(SourceIdea):
    """Columns: `parent_positions`, twice the position of each token's parent, -1 for tokens that are no words, and for
    those of words without a head, which keep their own attention."""

    layer: int = setting(1, "encoder layer whose attention is scaled", 1, unless="layers", most=256)
    heads: int = setting(2, "how many of its heads", 1, most=2**16)
    layers: str = setting("", "several layers in place of one, with their heads, as 1:2+3:1; without a number: as many")
    variance: float = setting(
        1.0, "of the Gaussian around the parent, in squared tokens", 1e-3, unless="weighting parent-only"
    )
    dropout: float = rate(0.0, "share of rows that are plain in training: the paper's q")
    weighting: Literal["multiply", "add-log-density", "parent-only"] = setting("multiply", "how the parent counts")

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = [part.partition(":") for part in self.layers.split("+")] if self.layers else []
        numbers = [number for layer, colon, heads in parts for number in (layer, heads if colon else "1")]
        if not all(each.isascii() and each.isdigit() and int(each) > 0 for each in numbers):
            raise ValueError(f"layers cannot be {self.layers!r}")
        if len({int(layer) for layer, _, _ in parts}) < len(parts):
            raise ValueError(f"layers cannot be {self.layers!r}: a layer occurs twice")

    def _heads_of_layers(self) -> dict[int, int]:
        """Return how many heads of which layers are scaled."""
        parts = (part.partition(":") for part in self.layers.split("+") if part)
        return {int(layer): int(heads or self.heads) for layer, _, heads in parts} or {self.layer: self.heads}

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({SOME_HEADS})

    def columns(self, record: ParseRecord, layout: Layout) -> dict[str, list[int]]:
        first, last = spans_of_words(layout, len(record.tokens))
        parents = [head - 1 if head else word for word, head in enumerate(record.heads)]
        doubled = [
            -1 if head == UNATTACHED else first[parent] + last[parent]
            for parent, head in zip(parents, record.heads, strict=True)
        ]
        return {"parent_positions": [doubled[word] if word >= 0 else -1 for word in layout.words]}

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return {layer: tuple(range(config.heads - k, config.heads)) for layer, k in self._heads_of_layers().items()}

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "ParentScaling":
        from synmt.systems.pascal.attention import ParentScaling

        heads = self.owned_heads(config)
        return ParentScaling(config.encoder_layers, heads, self.variance, self.dropout, self.weighting)
