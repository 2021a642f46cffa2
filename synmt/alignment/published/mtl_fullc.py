"""`mtl-fullc`: one attention head learns links while the model learns to translate.

Garg, Peitz, Nallasamy & Paulik (2019), "Jointly Learning to Align and Translate with Transformer Models", EMNLP,
section 4: multi-task learning with full target context. Each batch goes through the decoder twice: once under the
causal mask to learn to translate, and once without it, so that row i−1, which predicts y_i, sees all of y. In the
second pass, the first head A of one layer is the alignment:

    L = L_translation − λ Σ_i Σ_j G_ij log A_{i−1,j}

G: the links of `naive-att`, symmetrized, uniform over the links of a word; words without links do not count. With links
of another aligner such as GIZA++ (`--guide`), this is the paper's Mtl-Fullc-GZ. We link words, so all subwords of
linked words count as linked; the paper links subwords.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.alignment.published.attention.method import AttentionMethod, Forced
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class MtlFullc(AttentionMethod):
    cites: ClassVar[tuple[str, ...]] = ("garg2019jointly",)
    guide = "naive-att"
    trains_model = True
    layer: int = setting(
        0, "decoder layer whose first head learns links, counted from 1; 0: the second to last", most=256
    )
    weight: float = setting(0.05, "λ, the weight of the loss over links")

    def fixed_layer(self, config: TransformerConfig) -> int:
        return self.layer or super().fixed_layer(config)

    def loss(self, forced: Forced) -> "Tensor":
        return self.weight * super().loss(forced)

    def weights(self, forced: Forced) -> "Tensor":
        from synmt.nn.attention import Edit
        from synmt.nn.encoding import hiding_bias

        end = forced.target.real.logical_not()
        hidden = end.new_zeros(len(end), 1 + end.shape[1])  # the begin of sentence is always visible
        hidden[:, 1:] = end
        everything = Edit(hiding_bias(hidden))
        return forced.weights(everything)[:, 0, :-1]
