"""`sequence`: a causal decoder of subwords (Vaswani et al. 2017), the baseline of all other systems."""

from dataclasses import dataclass
from typing import ClassVar

from synmt.components.contract import DecoderComponent


@dataclass(frozen=True)
class SequenceDecoder(DecoderComponent):
    """The decoder writes and reads only the subwords of the words."""

    cites: ClassVar[tuple[str, ...]] = ("vaswani2017attention",)
