"""Parsed sentences from either of their two formats: parse records, or CoNLL-U."""

from collections.abc import Callable, Iterable, Iterator

from synmt.streams import BadLines, Line, sniff
from synmt.trees.dependency import conllu_blocks, read_conllu
from synmt.trees.record import ParseRecord, read_record


def read_parses(lines: Iterable[Line], bad: BadLines) -> Iterator[tuple[Line, ParseRecord]]:
    """Yield the sentences of the lines, each with its line or block; a bad one is an empty record.

    The first line with text tells which of the formats it is.
    """
    first, lines = sniff(lines)
    read: Callable[[str], ParseRecord] = read_conllu
    if first.startswith("{"):
        read = read_record
    else:
        lines = conllu_blocks(lines)
    for line in lines:
        yield line, bad.read(line, read, ParseRecord())
