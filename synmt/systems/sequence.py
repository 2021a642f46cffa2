"""`sequence`: the plain Transformer on subwords (Vaswani et al. 2017), the baseline of every other system."""

from dataclasses import dataclass

from synmt.systems.idea import SourceIdea
from synmt.systems.target import TargetIdea


@dataclass(frozen=True)
class Sequence(SourceIdea):
    """Nothing but the subwords of the record's words."""


@dataclass(frozen=True)
class SequenceTarget(TargetIdea):
    """The same on the target side: a causal decoder of subwords."""
