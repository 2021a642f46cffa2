"""`distance`: attention graded by the distance of two words in the dependency tree.

The distance d(q, k) is the number of arcs between the words of two tokens. Head h adds −s_h d(q, k) to its logits, with
a learned slope s_h, or a fixed one. Pairs with a token that is no word, or in a sentence without a tree, get no bias.
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
class Distance(EncoderComponent):
    """Field: `tree_distances`, the distance of each pair of tokens."""

    cites: ClassVar[tuple[str, ...]] = ("shaw2018self",)

    slope: float = setting(0.1, "what each arc costs at the start")
    fixed: bool = setting(False, "do not learn the slope")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"heads"})

    def reads(self) -> Mapping[str, Field]:
        return {"tree_distances": Field("pair", "uint8", pad=NO_DISTANCE)}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        return {"tree_distances": distances_over_tokens(record, layout)}

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        import torch

        return {} if self.fixed else {"slopes": torch.full((config.heads,), self.slope)}

    def bias(self, run: "SideRun") -> "Value":
        distances = run.fields["tree_distances"].float()  # [B,n,n]
        slopes = distances.new_tensor([self.slope]) if self.fixed else run.own.slopes
        graded = -slopes.view(1, -1, 1, 1) * distances.unsqueeze(1)
        return graded.masked_fill((distances == NO_DISTANCE).unsqueeze(1), 0.0)
