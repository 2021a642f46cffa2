"""`distance-taught`: a head that learns to attend to words that are near in the dependency tree.

The distance d(q, k) is the number of arcs between the words of two tokens. The first head of a layer learns to attend
with the weights T[q, k] ∝ exp(−d(q, k)), by the loss λ Σ_q KL(T[q] ‖ A[q]): Yoshida, Someya & Oseki (2024),
"Tree-Planted Transformers" (Findings of ACL), where it supervises language models. Pairs with a token that is no word,
or in a sentence without a tree, teach nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.components.contract import (
    NO_DISTANCE,
    EncoderComponent,
    Field,
    Heads,
    Layout,
    ParseRecord,
    TransformerConfig,
    distances_over_tokens,
    setting,
)

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun


@dataclass(frozen=True)
class DistanceTaught(EncoderComponent):
    """Field: `taught_distances`, the distance of each pair of tokens, in training only."""

    cites: ClassVar[tuple[str, ...]] = ("yoshida2024tree",)
    training_only = True

    layer: int = setting(1, "encoder layer of the taught head", 1, 256)
    weight: float = setting(0.03, "weight of the loss of attention: λ")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"heads"}) if training else frozenset()

    def reads(self) -> Mapping[str, Field]:
        return {"taught_distances": Field("pair", "uint8", pad=NO_DISTANCE, training=True)}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        return {"taught_distances": distances_over_tokens(record, layout)}

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return {self.layer: (0,)}

    def loss(self, run: "SideRun") -> "Tensor":
        distances = run.fields["taught_distances"].float()
        away = distances.masked_fill(distances == NO_DISTANCE, float("inf"))
        known = away.isfinite().any(dim=2, keepdim=True)
        taught = (-away.masked_fill(~known, 0.0)).log_softmax(dim=2)
        found = run.attended[self.layer].logits(0).log_softmax(dim=2)
        terms = taught.exp() * (taught - found)
        return self.weight * terms.masked_fill(~known | away.isinf(), 0.0).sum()
