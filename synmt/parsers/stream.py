"""A stream of lines through a parser: bounded windows, input order, one record a line."""

from collections.abc import Iterable, Iterator

from synmt.parsers.parser import Parser
from synmt.parsers.pool import ParserPool
from synmt.parsers.tokenization import Input
from synmt.streams import windows
from synmt.trees.record import ParseRecord

FIRST_WINDOW = 8  # lines; small, so that the first record comes soon
LAST_WINDOW = 256


def parse_texts(texts: Iterable[Input], parser: Parser | ParserPool) -> Iterator[ParseRecord]:
    """One record for each line of raw text, or for each list of tokens, in order.

    Reads ahead by some windows of at most LAST_WINDOW lines. A BadInput of `texts` is raised after the
    records of all lines before it.
    """
    lines = windows(texts, LAST_WINDOW, FIRST_WINDOW)
    parsed = parser.parse_windows(lines) if isinstance(parser, ParserPool) else map(parser.parse, lines)
    for records in parsed:
        yield from records
