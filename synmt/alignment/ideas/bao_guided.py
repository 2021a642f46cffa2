"""`bao-guided`: a layer that sees the whole target, taught by the links of `bao`.

Zenkel, Wuebker & DeNero (2020), "End-to-End Neural Word Alignment Outperforms GIZA++", ACL: guided alignment
training with full target context, on translation models that stay as they are. Over the decoder's output s come an
unmasked self-attention and heads with queries and keys of their own:

    z = LN(s + SelfAttention(s)),   W_i = (1/H) Σ_h softmax(z_i Q_h (h K_h)ᵀ / √c),   L = −Σ_i Σ_j G_ij log W_ij

G: the links of `bao`, both directions symmetrized, uniform over the links of a word. Written after a description of
the paper: that z_i is read off the row that reads y_i, which is certain to know the word, is ours.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from synmt.alignment.ideas.shift_aet import attention_heads, mean_weights
from synmt.alignment.translation.idea import Forced, LinkIdea
from synmt.nn.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class BaoGuided(LinkIdea):
    guide = "bao"

    def part(self, config: TransformerConfig) -> "nn.ModuleDict":
        from torch import nn

        from synmt.nn.attention import SelfAttention
        from synmt.nn.transformer import reset_products

        part = attention_heads(config)
        part["context"] = SelfAttention(config.width, config.heads, dropout=0.0)
        part["norm"] = nn.LayerNorm(config.width)
        reset_products(part)
        return part

    def loss(self, forced: Forced) -> "Tensor":
        from synmt.alignment.guidance import guided_loss

        assert forced.target.links is not None
        return guided_loss(self.weights(forced), forced.target.links)

    def weights(self, forced: Forced) -> "Tensor":
        from synmt.nn.attention import AttentionEdit
        from synmt.nn.encoding import hiding_bias

        states, others = forced.states()[:, 1:], AttentionEdit(hiding_bias(forced.target.real.logical_not()))
        return mean_weights(forced, forced.part.norm(states + forced.part.context(states, others)))
