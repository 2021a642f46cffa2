"""`sequence`: the plain Transformer on subwords (Vaswani et al. 2017), the baseline of all other systems."""

from dataclasses import dataclass
from typing import ClassVar

from synmt.ideas.source import SourceIdea
from synmt.ideas.target import TargetIdea


@dataclass(frozen=True)
class Sequence(SourceIdea):
    """The encoder reads only the subwords of the words."""

    cites: ClassVar[tuple[str, ...]] = ("vaswani2017attention",)


@dataclass(frozen=True)
class SequenceTarget(TargetIdea):
    """A causal decoder of subwords."""

    cites: ClassVar[tuple[str, ...]] = ("vaswani2017attention",)
