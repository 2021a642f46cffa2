"""Attention graded by the distance of two words in the dependency tree.

The distance d(q, k) is the number of arcs between the words of two tokens. Head h:

    distance         adds −s_h d(q, k) to its logits, with a learned s_h (or fixed, with `fixed`)
    distance-table   adds t_h[min(d(q, k), farthest)], learned, as Shaw, Uszkoreit & Vaswani (2018), "Self-Attention
                     with Relative Position Representations" (NAACL) do for distances in the string
    distance-taught  adds nothing; instead, the first head of a layer learns to attend with the weights
                     T[q, k] ∝ exp(−d(q, k)), by the loss λ Σ_q KL(T[q] ‖ A[q]): Yoshida, Someya & Oseki (2024),
                     "Tree-Planted Transformers" (Findings of ACL), where it supervises language models

Pairs with a token that is no word, or in a sentence without a tree, get no bias and teach nothing. Each component has a
field `tree_distances`, the distance of each pair of tokens, at most 254.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.components.contract import EncoderComponent, Field, Heads, Layout, ParseRecord, TransformerConfig, setting

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import Run, Value

NONE = 255  # the distance of a pair that has none
FIELD = "tree_distances"


@dataclass(frozen=True)
class Distance(EncoderComponent):
    """A bias in proportion to the distance, with a slope per head."""

    cites: ClassVar[tuple[str, ...]] = ("shaw2018self",)

    slope: float = setting(0.1, "what each arc costs at the start")
    fixed: bool = setting(False, "do not learn the slope")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"heads"})

    def reads(self) -> Mapping[str, Field]:
        return {FIELD: Field("pair", "uint8", pad=NONE)}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        return {FIELD: token_distances(record, layout)}

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        import torch

        return {} if self.fixed else {"slopes": torch.full((config.heads,), self.slope)}

    def bias(self, run: "Run") -> "Value":
        distances = run.fields[FIELD].float()  # [B,n,n]
        slopes = distances.new_tensor([self.slope]) if self.fixed else run.own.slopes
        graded = -slopes.view(1, -1, 1, 1) * distances.unsqueeze(1)
        return graded.masked_fill((distances == NONE).unsqueeze(1), 0.0)


@dataclass(frozen=True)
class DistanceTable(EncoderComponent):
    """A learned bias for each distance and head."""

    cites: ClassVar[tuple[str, ...]] = ("shaw2018self",)

    farthest: int = setting(8, "the distances from here on share an entry", 1, 254)

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"heads"})

    def reads(self) -> Mapping[str, Field]:
        return {FIELD: Field("pair", "uint8", pad=NONE)}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        return {FIELD: token_distances(record, layout)}

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        import torch

        return {"table": torch.zeros(config.heads, self.farthest + 1)}

    def bias(self, run: "Run") -> "Value":
        distances = run.fields[FIELD].long()  # [B,n,n]
        graded = run.own.table[:, distances.clamp(max=self.farthest)].transpose(0, 1)
        return graded.masked_fill((distances == NONE).unsqueeze(1), 0.0)


@dataclass(frozen=True)
class DistanceTaught(EncoderComponent):
    """A head that learns to attend to near words."""

    cites: ClassVar[tuple[str, ...]] = ("yoshida2024tree",)

    layer: int = setting(1, "encoder layer of the taught head", 1, 256)
    weight: float = setting(0.03, "weight of the loss of attention: λ")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"heads"}) if training else frozenset()

    def reads(self) -> Mapping[str, Field]:
        return {FIELD: Field("pair", "uint8", pad=NONE, training=True)}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        return {FIELD: token_distances(record, layout)}

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return {self.layer: (0,)}

    def loss(self, run: "Run") -> "Tensor":
        distances = run.fields[FIELD].float()
        away = distances.masked_fill(distances == NONE, float("inf"))
        known = away.isfinite().any(dim=2, keepdim=True)
        taught = (-away.masked_fill(~known, 0.0)).log_softmax(dim=2)
        found = run.attended[self.layer].logits(0).log_softmax(dim=2)
        terms = taught.exp() * (taught - found)
        return self.weight * terms.masked_fill(~known | away.isinf(), 0.0).sum()


def token_distances(record: ParseRecord, layout: Layout) -> list[list[int]]:
    """Return the distance of the words of each two tokens, NONE for a token that is no word and without a tree."""
    known = tree_distances(record.heads) if record.heads else [[NONE] * len(record.tokens)] * len(record.tokens)
    of_words = [[*row, NONE] for row in known] + [[NONE] * (len(known) + 1)]  # the last ones: of no word
    return [[of_words[q][k] for k in layout.words] for q in layout.words]


def tree_distances(heads: Sequence[int]) -> list[list[int]]:
    """Return the number of arcs between each two words, at most 254; heads from 1, 0 for the root."""
    above: list[set[int]] = []  # each word and its ancestors
    for word in range(1, len(heads) + 1):
        above.append({word})
        while heads[word - 1]:
            word = heads[word - 1]
            above[-1].add(word)
    return [[min(NONE - 1, len(own ^ other)) for other in above] for own in above]
