"""`sequence`: the plain Transformer on word pieces (Vaswani et al. 2017), the baseline of every other system."""

from dataclasses import dataclass

from synmt.systems.source import SourceIdea


@dataclass(frozen=True)
class Sequence(SourceIdea):
    """Nothing but the pieces of the record's words."""
