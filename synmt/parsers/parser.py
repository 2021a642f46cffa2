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
    def flattened(self) -> int:
        """Return how many sentences so far were too long to parse and got a flat tree."""

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        """Return one record a line, in order; the empty record for a line of white space."""
