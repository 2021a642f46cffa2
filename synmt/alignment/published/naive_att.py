"""`naive-att`: links from the attention of the step that predicts a word.

The baseline of Garg, Peitz, Nallasamy & Paulik (2019), "Jointly Learning to Align and Translate with Transformer
Models", EMNLP, and of Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL. A is the
cross-attention of one decoder layer, averaged over its heads; rows are counted by the word that they predict:

    W_ij = (1/H) Σ_h A^h_{i−1,j}     row i−1 reads y_{i−1} and predicts y_i

We read the second to last layer, which Garg et al. found best of six; with fewer than six, we read the layer on which
the two directions agree best (attention/models.py).

Their models end each source with a special token, whose column they remove; ours have no such token.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.alignment.published.attention.method import AttentionMethod, Forced
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor

PAPER_LAYERS = 6


@dataclass(frozen=True)
class NaiveAtt(AttentionMethod):
    cites: ClassVar[tuple[str, ...]] = ("garg2019jointly",)
    layer: int = setting(
        0,
        "decoder layer to read, counted from 1; 0: the second to last of six, or with fewer, the one on which both"
        " directions agree best",
        most=256,
    )

    def fixed_layer(self, config: TransformerConfig) -> int:
        few = 1 < config.decoder_layers < PAPER_LAYERS
        return self.layer or (0 if few else super().fixed_layer(config))

    def posteriors(self, forced: Forced) -> "Tensor":
        return forced.posteriors()
