"""`naive-att`: word links from the attention of the step that predicts a word.

The baseline of Garg, Peitz, Nallasamy & Paulik (2019), "Jointly Learning to Align and Translate with Transformer
Models", EMNLP, and of Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL. With A the
cross-attention of one decoder layer, averaged over its heads, and rows counted by what they predict:

    W_ij = (1/H) Σ_h A^h_{i−1,j}     row i−1 reads y_{i−1} and predicts y_i

The layer is the last but one, which Garg et al. found best of six; of fewer, it is that on which the two directions
agree best, as for `shift-att`. `naive-att-last` (Chen, Sun & Liu 2021) is the same
with models whose last decoder layer alone attends to the source, and reads that layer.

Where their models end a source with a token of its own, whose column they cut off, ours have none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from synmt.alignment.translation.idea import Forced, LinkIdea
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor


PAPER_LAYERS = 6


@dataclass(frozen=True)
class NaiveAtt(LinkIdea):
    layer: int = setting(
        0,
        "decoder layer that is read, counted from 1; 0 is the last but one of six, or of fewer the one that agrees",
        most=256,
    )

    def fixed_layer(self, config: TransformerConfig) -> int:
        few = 1 < config.decoder_layers < PAPER_LAYERS
        return self.layer or (0 if few else super().fixed_layer(config))

    def weights(self, forced: Forced) -> "Tensor":
        return forced.weights().mean(dim=1)[:, :-1]

    def posteriors(self, forced: Forced) -> "Tensor":
        return forced.posteriors()


@dataclass(frozen=True)
class NaiveAttLast(LinkIdea):
    @classmethod
    def uses(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        return super().uses(settings) - {"cross-attention"}

    def network(self, config: TransformerConfig) -> TransformerConfig:
        return replace(config, cross_attention="last")

    def fixed_layer(self, config: TransformerConfig) -> int:
        return config.decoder_layers

    def weights(self, forced: Forced) -> "Tensor":
        return forced.weights().mean(dim=1)[:, :-1]

    def posteriors(self, forced: Forced) -> "Tensor":
        return forced.posteriors()
