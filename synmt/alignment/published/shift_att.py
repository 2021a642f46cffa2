"""`shift-att`: links from the attention of the step that reads a word.

Chen, Liu, Chen, Jiang & Liu (2020), "Accurate Word Alignment Induction from Neural Machine Translation", EMNLP. The
translation models are plain, as in the naive baseline, which reads row i−1, in which y_i is predicted. We read the next
row, in which y_i is known; A is the cross-attention of one decoder layer:

    W_ij = (1/H) Σ_h A^h_{i,j}       row i reads y_i

We read the two layers, one per direction, whose links agree best: they have the lowest alignment error rate against
each other on part of the bitext, so no gold links are needed (attention/models.py). The paper's scripts always read the
third of six.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.alignment.published.attention.method import AttentionMethod, Forced
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class ShiftAtt(AttentionMethod):
    cites: ClassVar[tuple[str, ...]] = ("chen2020accurate",)
    layer: int = setting(0, "decoder layer to read, counted from 1; 0: where the two directions agree best", most=256)

    def fixed_layer(self, config: TransformerConfig) -> int:
        return self.layer

    def weights(self, forced: Forced) -> "Tensor":
        return forced.weights().mean(dim=1)[:, 1:]
