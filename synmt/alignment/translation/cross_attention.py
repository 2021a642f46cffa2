"""Word links from the cross-attention of translation models: `naive-att`, `naive-att-last`, `shift-att`, `mtl-fullc`.

`naive-att`: word links from the attention of the step that predicts a word.

The baseline of Garg, Peitz, Nallasamy & Paulik (2019), "Jointly Learning to Align and Translate with Transformer
Models", EMNLP, and of Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL. With A the
cross-attention of one decoder layer, averaged over its heads, and rows counted by what they predict:

    W_ij = (1/H) Σ_h A^h_{i−1,j}     row i−1 reads y_{i−1} and predicts y_i

The layer is the last but one, which Garg et al. found best of six; of fewer, it is that on which the two directions
agree best, as for `shift-att`. `naive-att-last` (Chen, Sun & Liu 2021) is the same
with models whose last decoder layer alone attends to the source, and reads that layer.

Where their models end a source with a token of its own, whose column they cut off, ours have none.

`shift-att`: word links from the attention of the step that reads a word.

Chen, Liu, Chen, Jiang & Liu (2020), "Accurate Word Alignment Induction from Neural Machine Translation", EMNLP.
The same models as `naive-att`, one row further down, where y_i is known:

    W_ij = (1/H) Σ_h A^h_{i,j}       row i reads y_i

The layers are those two, one of each direction, whose links agree best: the lowest alignment error rate of one
against the other on some of the bitext, so that no gold links are needed (synmt.alignment.translation.models).
The paper's scripts fix the third of six.

`mtl-fullc`: one attention head learns links while the model learns to translate.

Garg, Peitz, Nallasamy & Paulik (2019), "Jointly Learning to Align and Translate with Transformer Models", EMNLP,
section 4: multi-task learning with full target context. Each batch goes through the decoder twice, once under the
causal mask to learn to translate, and once without it, where row i−1, which predicts y_i, sees all of y. Of that
second pass, the first head A of one layer is the alignment:

    L = L_translation − λ Σ_i Σ_j G_ij log A_{i−1,j}

G: the links of `naive-att`, both directions symmetrized, uniform over the links of a word; words without links are
not in the sum. With links of another aligner (`--guide`), such as GIZA++, this is the paper's Mtl-Fullc-GZ. Links
are those of words, and all subwords of linked words count as linked; in the paper they are those of subwords.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from synmt.alignment.aligner import Settings
from synmt.alignment.translation.idea import Forced, LinkIdea
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor

PAPER_LAYERS = 6


@dataclass(frozen=True)
class NaiveAtt(LinkIdea):
    cites: ClassVar[tuple[str, ...]] = ("garg2019jointly",)
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
    cites: ClassVar[tuple[str, ...]] = ("chen2021mask",)

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return super().uses(given) - {"cross-attention"}

    def network(self, config: TransformerConfig) -> TransformerConfig:
        return replace(config, cross_attention="last")

    def fixed_layer(self, config: TransformerConfig) -> int:
        return config.decoder_layers

    def weights(self, forced: Forced) -> "Tensor":
        return forced.weights().mean(dim=1)[:, :-1]

    def posteriors(self, forced: Forced) -> "Tensor":
        return forced.posteriors()


@dataclass(frozen=True)
class ShiftAtt(LinkIdea):
    cites: ClassVar[tuple[str, ...]] = ("chen2020accurate",)
    layer: int = setting(
        0, "decoder layer that is read, counted from 1; 0 is where the two directions agree best", most=256
    )

    def fixed_layer(self, config: TransformerConfig) -> int:
        return self.layer

    def weights(self, forced: Forced) -> "Tensor":
        return forced.weights().mean(dim=1)[:, 1:]


@dataclass(frozen=True)
class MtlFullc(LinkIdea):
    cites: ClassVar[tuple[str, ...]] = ("garg2019jointly",)
    guide = "naive-att"
    trains_model = True
    layer: int = setting(
        0, "decoder layer whose first head learns links, counted from 1; 0 is the last but one", most=256
    )
    weight: float = setting(0.05, "λ, the weight of the links' loss")

    def fixed_layer(self, config: TransformerConfig) -> int:
        return self.layer or super().fixed_layer(config)

    def loss(self, forced: Forced) -> "Tensor":
        from synmt.alignment.attention import guided_loss

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
