"""`mtl-fullc`: one attention head learns links while the model learns to translate.

Garg, Peitz, Nallasamy & Paulik (2019), "Jointly Learning to Align and Translate with Transformer Models", EMNLP,
section 4: multi-task learning with full target context. Each batch goes through the decoder twice, once under the
causal mask to learn to translate, and once without it, where row i−1, which predicts y_i, sees all of y. Of that
second pass, the first head A of one layer is the alignment:

    L = L_translation − λ Σ_i Σ_j G_ij log A_{i−1,j}

G: the links of `naive-att`, both directions symmetrized, uniform over the links of a word; words without links are
not in the sum. With links of another aligner (`--guide`), such as GIZA++, this is the paper's Mtl-Fullc-GZ. Links
are those of words, and all subwords of linked words count as linked; in the paper they are those of subwords.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from synmt.alignment.translation.idea import Forced, LinkIdea
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class MtlFullc(LinkIdea):
    guide = "naive-att"
    trains_model = True
    layer: int = setting(
        0, "decoder layer whose first head learns links, counted from 1; 0 is the last but one", most=256
    )
    weight: float = setting(0.05, "λ, the weight of the links' loss")

    def fixed_layer(self, config: TransformerConfig) -> int:
        return self.layer or super().fixed_layer(config)

    def loss(self, forced: Forced) -> "Tensor":
        from synmt.alignment.guidance import guided_loss

        assert forced.target.links is not None
        return self.weight * guided_loss(self.weights(forced), forced.target.links)

    def weights(self, forced: Forced) -> "Tensor":
        from synmt.nn.attention import AttentionEdit
        from synmt.nn.encoding import hiding_bias

        end = forced.target.real.logical_not()
        hidden = end.new_zeros(len(end), 1 + end.shape[1])  # the begin of sentence is always in sight
        hidden[:, 1:] = end
        everything = AttentionEdit(bias=hiding_bias(hidden))
        return forced.weights(everything)[:, 0, :-1]
