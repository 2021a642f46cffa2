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
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from synmt.components.contract import (
    EncoderComponent,
    Field,
    Layout,
    ParseRecord,
    TransformerConfig,
    mask_over_tokens,
    penalties_of,
    setting,
)

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun, Value


@dataclass(frozen=True)
class NamedMasks(EncoderComponent):
    """Fields: the masks, by name."""

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

    def reads(self) -> Mapping[str, Field]:
        return dict.fromkeys(self._names, Field("pair", "bool"))

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        return {name: mask_over_tokens(name, record, layout) for name in self._names}

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        """strengths [H, M]"""
        import torch

        return {"strengths": torch.zeros(config.heads, len(self._names))}

    def names_of_strengths(self, labels: Mapping[str, Sequence[str]]) -> list[str]:
        return self._names

    @property
    def hooks(self) -> frozenset[str]:
        return frozenset({"penalty"} if self.form == "paper" else {"bias"})

    def penalty(self, run: "SideRun") -> "Value":
        """Return exp of the sum of the strengths of the masks that mark each pair."""
        return penalties_of(self._sums(run, run.own.strengths))

    def bias(self, run: "SideRun") -> "Value":
        """Return minus the sum of exp of these strengths."""
        return self._sums(run, -penalties_of(run.own.strengths))

    def _sums(self, run: "SideRun", values: "Tensor") -> "Tensor":
        """Return the sums of values [H,M] over the masks that mark each pair, [B,H,n,n]."""
        import torch

        marked = torch.stack([run.fields[name] for name in self._names], dim=1)
        with torch.autocast(marked.device.type, enabled=False):
            return (values @ marked.flatten(2).to(values.dtype)).unflatten(2, marked.shape[2:])
