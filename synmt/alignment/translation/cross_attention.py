"""Word links from the cross-attention of translation models: `naive-att`, `naive-att-last`, `shift-att`, `mtl-fullc`.

`naive-att`: links from the attention of the step that predicts a word.

The baseline of Garg, Peitz, Nallasamy & Paulik (2019), "Jointly Learning to Align and Translate with Transformer
Models", EMNLP, and of Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL. A is the
cross-attention of one decoder layer, averaged over its heads; rows are counted by the word that they predict:

    W_ij = (1/H) Σ_h A^h_{i−1,j}     row i−1 reads y_{i−1} and predicts y_i

We read the second to last layer, which Garg et al. found best of six; with fewer than six, we read the layer on which
the two directions agree best, as in `shift-att`. In `naive-att-last` (Chen, Sun & Liu 2021), only the last decoder
layer attends to the source, and we read that layer.

Their models end each source with a special token, whose column they remove; ours have no such token.

`shift-att`: links from the attention of the step that reads a word.

Chen, Liu, Chen, Jiang & Liu (2020), "Accurate Word Alignment Induction from Neural Machine Translation", EMNLP.
The models are trained as for `naive-att`, but we read the next row, in which y_i is known:

    W_ij = (1/H) Σ_h A^h_{i,j}       row i reads y_i

We read the two layers, one per direction, whose links agree best: they have the lowest alignment error rate against
each other on part of the bitext, so no gold links are needed (synmt.alignment.translation.models). The paper's scripts
always read the third of six.

`mtl-fullc`: one attention head learns links while the model learns to translate.

Garg, Peitz, Nallasamy & Paulik (2019), "Jointly Learning to Align and Translate with Transformer Models", EMNLP,
section 4: multi-task learning with full target context. Each batch goes through the decoder twice: once under the
causal mask to learn to translate, and once without it, so that row i−1, which predicts y_i, sees all of y. In the
second pass, the first head A of one layer is the alignment:

    L = L_translation − λ Σ_i Σ_j G_ij log A_{i−1,j}

G: the links of `naive-att`, symmetrized, uniform over the links of a word; words without links do not count. With links
of another aligner such as GIZA++ (`--guide`), this is the paper's Mtl-Fullc-GZ. We link words, so all subwords of
linked words count as linked; the paper links subwords.
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
        "decoder layer to read, counted from 1; 0: the second to last of six, or with fewer, the one on which both"
        " directions agree best",
        most=256,
    )

    def fixed_layer(self, config: TransformerConfig) -> int:
        few = 1 < config.decoder_layers < PAPER_LAYERS
        return self.layer or (0 if few else super().fixed_layer(config))

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

    def posteriors(self, forced: Forced) -> "Tensor":
        return forced.posteriors()


@dataclass(frozen=True)
class ShiftAtt(LinkIdea):
    cites: ClassVar[tuple[str, ...]] = ("chen2020accurate",)
    layer: int = setting(0, "decoder layer to read, counted from 1; 0: where the two directions agree best", most=256)

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
