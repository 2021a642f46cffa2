"""`sequence`: the plain Transformer on subwords (Vaswani et al. 2017), the baseline of every other system."""

from dataclasses import dataclass

from synmt.systems.idea import SourceIdea
from synmt.systems.target import TargetIdea


@dataclass(frozen=True)
class Sequence(SourceIdea):
    """Tokens: the subwords alone."""


@dataclass(frozen=True)
class SequenceTarget(TargetIdea):
    """A causal decoder of subwords."""
