"""What all parsers have in common."""

from collections.abc import Sequence
from typing import Literal, Protocol

from synmt.parsers.tokenization import Input
from synmt.trees.record import ParseRecord

ParserName = Literal["benepar", "udpipe"]


class ModelError(ValueError):
    """A parser's model that is missing, broken or of another kind."""


class Parser(Protocol):
    """Parses lines: raw text, or one sentence's tokens.

    flattened: how many sentences so far were too long to parse and got a flat tree.
    """

    flattened: int

    def parse(self, lines: Sequence[Input]) -> list[ParseRecord]:
        """One record a line, in order; the empty record for a line of white space."""
        ...
