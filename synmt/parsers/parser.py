"""What all parsers have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from synmt.parsers.tokenization import Input
from synmt.trees.record import ParseRecord

ParserName = Literal["benepar", "udpipe", "benepar+udpipe"]


class ModelError(ValueError):
    """A parser's model that is missing, broken or of another kind."""


@dataclass(frozen=True)
class ParserChoice:
    """Which parser to open.

    models: names or paths, at most one a parser. With two parsers, UDPipe's is the one that ends in `.udpipe`.
    device: where benepar computes: auto, cpu, cuda or cuda:N.
    language: of the embedded model (ISO 639-1), for a parser that has no other.
    trust_pickle: whether a benepar model may be a pickle, which can run code.
    """

    name: ParserName = "benepar"
    models: tuple[str, ...] = ()
    device: str = "cpu"
    language: str = "en"
    trust_pickle: bool = False


class Parser(Protocol):
    """Parses lines: raw text, or one sentence's tokens."""

    @property
    def flattened(self) -> int:
        """How many sentences so far were too long to parse and got a flat tree."""

    def parse(self, lines: Sequence[Input]) -> list[ParseRecord]:
        """One record a line, in order; the empty record for a line of white space."""
