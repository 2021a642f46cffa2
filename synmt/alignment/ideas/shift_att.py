"""`shift-att`: word links from the attention of the step that reads a word.

Chen, Liu, Chen, Jiang & Liu (2020), "Accurate Word Alignment Induction from Neural Machine Translation", EMNLP.
The same models as `naive-att`, one row further down, where y_i is known:

    W_ij = (1/H) Σ_h A^h_{i,j}       row i reads y_i

The layers are those two, one of each direction, whose links agree best: the lowest alignment error rate of one
against the other on some of the bitext, so that no gold links are needed (synmt.alignment.translation.layers).
The paper's scripts fix the third of six.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from synmt.alignment.translation.idea import Forced, LinkIdea
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class ShiftAtt(LinkIdea):
    layer: int = setting(
        0, "decoder layer that is read, counted from 1; 0 is where the two directions agree best", most=256
    )

    def fixed_layer(self, config: TransformerConfig) -> int:
        return self.layer

    def weights(self, forced: Forced) -> "Tensor":
        return forced.weights().mean(dim=1)[:, 1:]
