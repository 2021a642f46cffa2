"""`shift-aet`: attention heads of their own, taught by the links of `shift-att`.

Chen, Liu, Chen, Jiang & Liu (2020), "Accurate Word Alignment Induction from Neural Machine Translation", EMNLP. The
translation models stay as they are. Beside the cross-attention of decoder layer l, at the row that reads y_i, stand
heads with queries and keys of their own, over what that attention reads (z: the states after the layer's
self-attention, H: the encoder's output):

    W_i = (1/H) Σ_h softmax(z_i Q_h (H K_h)ᵀ / √c),   L = −Σ_i Σ_j G_ij log W_ij

G: the links of `shift-att`, both directions symmetrized, uniform over the links of a word. l is the layer that
`shift-att` has chosen. The frozen models run without dropout. Links are those of words, and all pieces of linked
words count as linked; in the paper they are those of pieces.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from synmt.nn.config import TransformerConfig, setting
from synmt.systems.linking import Forced, LinkIdea

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.linking import AttentionHeads


@dataclass(frozen=True)
class ShiftAet(LinkIdea):
    guide = "shift-att"
    layer: int = setting(0, "decoder layer beside which the heads stand; 0 is where the two directions agree best")

    def fixed_layer(self, config: TransformerConfig) -> int:
        return self.layer

    def part(self, config: TransformerConfig) -> "AttentionHeads":
        from synmt.nn.linking import AttentionHeads

        return AttentionHeads(config.width, config.heads)

    def loss(self, forced: Forced) -> "Tensor":
        from synmt.nn.linking import guided_loss

        assert forced.target.links is not None
        return guided_loss(self.weights(forced), forced.target.links)

    def weights(self, forced: Forced) -> "Tensor":
        assert forced.part is not None
        weights: Tensor = forced.part(forced.queries()[:, 1:], forced.encoded.states, forced.encoded.bias)
        return weights
