"""`bao-guided`: a layer that sees the whole target and learns the links of `bao`.

Zenkel, Wuebker & DeNero (2020), "End-to-End Neural Word Alignment Outperforms GIZA++", ACL: guided alignment
training with full target context, on frozen translation models. The layer has an unmasked self-attention over the
decoder's output s, and heads with their own queries and keys:

    z = LN(s + SelfAttention(s)),   W_i = (1/H) Σ_h softmax(z_i Q_h (h K_h)ᵀ / √c),   L = −Σ_i Σ_j G_ij log W_ij

G: the links of `bao`, symmetrized, uniform over the links of a word. We implemented this from a description of the
paper. Our own choice: z_i comes from the row that reads y_i, so that it certainly depends on the word.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.alignment.published.attention.heads import attention_heads, mean_weights
from synmt.alignment.published.attention.method import AttentionMethod, Forced
from synmt.nn.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class BaoGuided(AttentionMethod):
    cites: ClassVar[tuple[str, ...]] = ("zenkel2020end",)
    guide = "bao"

    def module(self, config: TransformerConfig) -> "nn.ModuleDict":
        from torch import nn

        from synmt.nn.attention import SelfAttention
        from synmt.nn.transformer import reset_products

        layer = attention_heads(config)
        layer["context"] = SelfAttention(config.width, config.heads, dropout=0.0)
        layer["norm"] = nn.LayerNorm(config.width)
        reset_products(layer)
        return layer

    def weights(self, forced: Forced) -> "Tensor":
        from synmt.nn.attention import Edit
        from synmt.nn.encoding import hiding_bias

        states, all_words = forced.states()[:, 1:], Edit(hiding_bias(forced.target.real.logical_not()))
        return mean_weights(forced, forced.module.norm(states + forced.module.context(states, all_words)))
