"""What all parsers have in common."""

from collections.abc import Sequence
from typing import Protocol

from synmt.parsers.tokenization import ParserInput
from synmt.trees.record import ParseRecord


class ModelError(ValueError):
    """A parser's model that is missing, broken or of another kind."""


class Parser(Protocol):
    """Parses lines: raw text, or one sentence's tokens."""

    @property
    def unparsed(self) -> int:
        """Return how many sentences so far were too long to parse: the record of their line has no tree."""

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        """Return one record a line, in order; the empty record for a line of white space."""
