"""`naive-att-last`: links from the attention of the step that predicts a word, in the last decoder layer.

Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL. Only the last decoder layer of its
translation models attends to the source. A is that attention, averaged over its heads:

    W_ij = (1/H) Σ_h A^h_{i−1,j}     row i−1 reads y_{i−1} and predicts y_i
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from synmt.alignment.aligner import Settings
from synmt.alignment.published.attention.method import AttentionMethod, Forced
from synmt.nn.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class NaiveAttLast(AttentionMethod):
    cites: ClassVar[tuple[str, ...]] = ("chen2021mask",)

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return super().uses(given) - {"cross-attention"}

    def network(self, config: TransformerConfig) -> TransformerConfig:
        return replace(config, cross_attention="last")

    def fixed_layer(self, config: TransformerConfig) -> int:
        return config.decoder_layers

    def posteriors(self, forced: Forced) -> "Tensor":
        return forced.posteriors()
