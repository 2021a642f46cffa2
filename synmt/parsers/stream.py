"""A stream of lines through a parser: bounded windows, input order, one record a line."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from synmt.parsers.opening import Parser
from synmt.parsers.pool import ParserPool
from synmt.parsers.tokenization import Input
from synmt.streams import BadInput
from synmt.trees.record import ParseRecord

FIRST_WINDOW = 8  # lines; small, so that the first record comes soon
LAST_WINDOW = 256


def parse_texts(texts: Iterable[Input], parser: Parser | ParserPool) -> Iterator[ParseRecord]:
    """One record for each line of raw text, or for each list of tokens, in order.

    Reads ahead by some windows of at most LAST_WINDOW lines. A BadInput of `texts` is raised after the
    records of all lines before it.
    """
    failures: list[BadInput] = []
    windows = growing_windows(until_failure(texts, failures))
    parsed = parser.parse_windows(windows) if isinstance(parser, ParserPool) else map(parser.parse, windows)
    for records in parsed:
        yield from records
    if failures:
        raise failures[0]


def growing_windows(texts: Iterable[Input]) -> Iterator[Sequence[Input]]:
    """Consecutive lists whose lengths double from FIRST_WINDOW to LAST_WINDOW."""
    iterator = iter(texts)
    size = FIRST_WINDOW
    while window := list(islice(iterator, size)):
        yield window
        size = min(2 * size, LAST_WINDOW)


def until_failure(texts: Iterable[Input], failures: list[BadInput]) -> Iterator[Input]:
    """The texts up to the first BadInput, which is put into `failures`."""
    try:
        yield from texts
    except BadInput as error:
        failures.append(error)
