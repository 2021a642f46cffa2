"""`distance-table`: a learned bias of attention for each distance of two words in the dependency tree.

The distance d(q, k) is the number of arcs between the words of two tokens. Head h adds t_h[min(d(q, k), farthest)] to
its logits, as Shaw, Uszkoreit & Vaswani (2018), "Self-Attention with Relative Position Representations" (NAACL) do for
distances in the string. Pairs with a token that is no word, or in a sentence without a tree, get no bias.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.components.contract import (
    NO_DISTANCE,
    EncoderComponent,
    Field,
    Layout,
    ParseRecord,
    TransformerConfig,
    distances_over_tokens,
    setting,
)

if TYPE_CHECKING:
    from synmt.nn.hooks import SideRun, Value


@dataclass(frozen=True)
class DistanceTable(EncoderComponent):
    """Field: `table_distances`, the distance of each pair of tokens."""

    cites: ClassVar[tuple[str, ...]] = ("shaw2018self",)

    farthest: int = setting(8, "the distances from here on share an entry", 1, 254)

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"heads"})

    def reads(self) -> Mapping[str, Field]:
        return {"table_distances": Field("pair", "uint8", pad=NO_DISTANCE)}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        return {"table_distances": distances_over_tokens(record, layout)}

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        import torch

        return {"table": torch.zeros(config.heads, self.farthest + 1)}

    def bias(self, run: "SideRun") -> "Value":
        distances = run.fields["table_distances"].long()  # [B,n,n]
        graded = run.own.table[:, distances.clamp(max=self.farthest)].transpose(0, 1)
        return graded.masked_fill((distances == NO_DISTANCE).unsqueeze(1), 0.0)
