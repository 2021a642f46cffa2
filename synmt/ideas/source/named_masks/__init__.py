"""`named-masks`: the user's own masks in encoder self-attention, by name from the records.

McDonald & Chiang (2021), "Syntax-Based Attention Masking for Neural Machine Translation", NAACL-SRW, section 2, the
general formula. Any number of masks M_r may overlap, and each head h learns a strength s for each:

    α_h = softmax(Q_h K_hᵀ / √c − exp(Σ_r s_h[r] M_r[q,k]))

A pair that no mask marks gets −exp(0) = −1. If `mask` is used too, the nine relations are masks in the same sum. The
other form, `sum`, is ours. It adds the penalties, − Σ_r exp(s_h[r]) M_r[q,k], so that each further mask hides more, and
a pair that no mask marks is unchanged.

Records contain masks in `masks`, as n strings of n characters 0 and 1, one string per query, over the nodes of the tree
in preorder or over the words. The subwords of a word share its rows and columns. Tokens that a mask does not cover,
such as the labels of a tree with a mask over words, are not marked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from synmt.ideas.source import Layout, SourceIdea, mask_over_tokens
from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synmt.ideas.source.named_masks.attention import NamedMatrices


@dataclass(frozen=True)
class NamedMasks(SourceIdea):
    """Matrices: the masks, by name."""

    cites: ClassVar[tuple[str, ...]] = ("mcdonald2021syntax",)

    names: str = setting("", "masks of the records, joined by +")
    form: Literal["paper", "sum"] = setting("paper", "−exp of the sum of the strengths, or the sum of their −exp")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(self._names) or len(set(self._names)) < len(self._names):
            raise ValueError("named masks need names, each once, joined by +")

    @property
    def _names(self) -> list[str]:
        return self.names.split("+")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"masks"})

    def matrices(self, record: ParseRecord, layout: Layout) -> "dict[str, NDArray[np.bool_]]":
        return {name: mask_over_tokens(name, record, layout) for name in self._names}

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "NamedMatrices":
        from synmt.ideas.source.named_masks.attention import NamedMatrices

        return NamedMatrices(config.heads, config.encoder_layers, self._names, self.form)
