"""Separate attention heads that learn links on top of translation models: `shift-aet` and `bao-guided`.

`shift-aet`: attention heads that learn the links of `shift-att`.

Chen, Liu, Chen, Jiang & Liu (2020), "Accurate Word Alignment Induction from Neural Machine Translation", EMNLP. The
translation models are frozen. Next to the cross-attention of decoder layer l, there are heads with their own queries
and keys. At the row that reads y_i, they read the inputs of that attention (z: the states after the layer's
self-attention, H: the encoder's output):

    W_i = (1/H) Σ_h softmax(z_i Q_h (H K_h)ᵀ / √c),   L = −Σ_i Σ_j G_ij log W_ij

G: the links of `shift-att`, symmetrized, uniform over the links of a word. l is the layer that `shift-att` has chosen.
The frozen models run without dropout. We link words, so all subwords of linked words count as linked; the paper links
subwords.

`bao-guided`: a layer that sees the whole target and learns the links of `bao`.

Zenkel, Wuebker & DeNero (2020), "End-to-End Neural Word Alignment Outperforms GIZA++", ACL: guided alignment
training with full target context, on frozen translation models. The layer has an unmasked self-attention over the
decoder's output s, and heads with their own queries and keys:

    z = LN(s + SelfAttention(s)),   W_i = (1/H) Σ_h softmax(z_i Q_h (h K_h)ᵀ / √c),   L = −Σ_i Σ_j G_ij log W_ij

G: the links of `bao`, symmetrized, uniform over the links of a word. We implemented this from a description of the
paper. Our own choice: z_i comes from the row that reads y_i, so that it certainly depends on the word.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.alignment.translation.idea import Forced, LinkIdea
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class ShiftAet(LinkIdea):
    cites: ClassVar[tuple[str, ...]] = ("chen2020accurate",)
    guide = "shift-att"
    layer: int = setting(
        0, "decoder layer whose inputs the heads read; 0: where the two directions agree best", most=256
    )

    def fixed_layer(self, config: TransformerConfig) -> int:
        return self.layer

    def part(self, config: TransformerConfig) -> "nn.ModuleDict":
        return attention_heads(config)

    def weights(self, forced: Forced) -> "Tensor":
        return mean_weights(forced, forced.crossing().inputs[0][:, 1:])


@dataclass(frozen=True)
class BaoGuided(LinkIdea):
    cites: ClassVar[tuple[str, ...]] = ("zenkel2020end",)
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

    def weights(self, forced: Forced) -> "Tensor":
        from synmt.nn.attention import Edit
        from synmt.nn.encoding import hiding_bias

        states, others = forced.states()[:, 1:], Edit(hiding_bias(forced.target.real.logical_not()))
        return mean_weights(forced, forced.part.norm(states + forced.part.context(states, others)))


def attention_heads(config: TransformerConfig) -> "nn.ModuleDict":
    """Return heads that only attend: they have queries and keys, but no values."""
    from torch import nn

    from synmt.nn.transformer import reset_products

    heads = nn.ModuleDict({name: nn.Linear(config.width, config.width) for name in ("query", "key")})
    reset_products(heads)
    return heads


def mean_weights(forced: Forced, states: "Tensor") -> "Tensor":
    """Return the mean weights of a part's heads, with states as queries → [B,I,J] in fp32"""
    from synmt.nn.attention import attention_weights, split_heads

    part, heads = forced.part, forced.model.network.config.heads
    query, key = split_heads(part.query(states), heads), split_heads(part.key(forced.encoded.states), heads)
    return attention_weights(query, key, forced.encoded.bias).mean(dim=1)
