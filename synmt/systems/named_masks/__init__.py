"""`named-masks`: masks of the user's own in encoder self-attention, by name from the records.

McDonald & Chiang (2021), "Syntax-Based Attention Masking for Neural Machine Translation", NAACL-SRW, section 2,
the general formula: any number of masks M_r, overlapping or not, each with a strength s that each head h learns:

    α_h = softmax(Q_h K_hᵀ / √c − exp(Σ_r s_h[r] M_r[q,k]))

A pair of which no mask holds has −exp(0) = −1. Beside `mask` the nine relations are masks in the same sum. The other
form, ours, adds the masks up: − Σ_r exp(s_h[r]) M_r[q,k], so that each more mask hides more, and a pair of which none
holds is left as it is.

A record holds them under `masks`, as n strings of n characters 0 and 1, a row a query: over the nodes of its tree
in preorder, or over its words. The subwords of a word share its rows and columns; what a mask says nothing of, such
as the labels of a tree beside a mask over words, is outside of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.systems.idea import Layout, SourceIdea, mask_over_tokens
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synmt.systems.named_masks.attention import NamedMatrices


@dataclass(frozen=True)
class NamedMasks(SourceIdea):
    """Matrices: the masks, by name."""

    names: str = setting("", "masks of the records, joined by +")
    form: Literal["paper", "sum"] = setting("paper", "−exp of the sum of the strengths, or the sum of their −exp")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(self._names):
            raise ValueError("named-masks needs --named-masks-names")

    @property
    def _names(self) -> list[str]:
        return self.names.split("+")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"masks"})

    def matrices(self, record: ParseRecord, layout: Layout) -> "dict[str, NDArray[np.bool_]]":
        return {name: mask_over_tokens(name, record, layout) for name in self._names}

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "NamedMatrices":
        from synmt.systems.named_masks.attention import NamedMatrices

        return NamedMatrices(config.heads, config.encoder_layers, self._names, self.form)
