"""`shift-aet`: attention heads that learn the links of `shift-att`.

Chen, Liu, Chen, Jiang & Liu (2020), "Accurate Word Alignment Induction from Neural Machine Translation", EMNLP. The
translation models are frozen. Next to the cross-attention of decoder layer l, there are heads with their own queries
and keys. At the row that reads y_i, they read the inputs of that attention (z: the states after the layer's
self-attention, H: the encoder's output):

    W_i = (1/H) Σ_h softmax(z_i Q_h (H K_h)ᵀ / √c),   L = −Σ_i Σ_j G_ij log W_ij

G: the links of `shift-att`, symmetrized, uniform over the links of a word. l is the layer that `shift-att` has chosen.
The frozen models run without dropout. We link words, so all subwords of linked words count as linked; the paper links
subwords.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.alignment.published.attention.heads import attention_heads, mean_weights
from synmt.alignment.published.attention.method import AttentionMethod, Forced
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class ShiftAet(AttentionMethod):
    cites: ClassVar[tuple[str, ...]] = ("chen2020accurate",)
    guide = "shift-att"
    layer: int = setting(
        0, "decoder layer whose inputs the heads read; 0: where the two directions agree best", most=256
    )

    def fixed_layer(self, config: TransformerConfig) -> int:
        return self.layer

    def module(self, config: TransformerConfig) -> "nn.ModuleDict":
        return attention_heads(config)

    def weights(self, forced: Forced) -> "Tensor":
        return mean_weights(forced, forced.crossing().inputs[0][:, 1:])
