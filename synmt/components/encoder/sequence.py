"""`sequence`: the plain Transformer on subwords (Vaswani et al. 2017), the baseline of all other systems."""

from dataclasses import dataclass
from typing import ClassVar

from synmt.components.contract import EncoderComponent


@dataclass(frozen=True)
class SequenceEncoder(EncoderComponent):
    """The encoder reads only the subwords of the words."""

    cites: ClassVar[tuple[str, ...]] = ("vaswani2017attention",)
