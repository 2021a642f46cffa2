"""Parsed sentences in their formats: parse records and brackets, one a line, and blocks of CoNLL-U."""

from collections.abc import Callable, Iterable, Iterator

from synmt.streams import BadLines, Line, sniff
from synmt.trees.dependency import conllu_blocks, conllu_of_record, left_out, read_conllu
from synmt.trees.record import ParseRecord, brackets_of_record, read_record, record_of_brackets, write_record

READERS: dict[str, Callable[[str], ParseRecord]] = {
    "records": read_record,
    "conllu": read_conllu,
    "ptb": record_of_brackets,
    "stripped ptb": lambda text: record_of_brackets(text, strip=True),
}
WRITERS: dict[str, Callable[[ParseRecord], str]] = {
    "records": write_record,
    "conllu": conllu_of_record,
    "ptb": brackets_of_record,
    "text": lambda record: record.text,
}


def reader(kind: str, bad: BadLines, partial: bool = False) -> Callable[[str], ParseRecord]:
    """Return the reader of a format of READERS; what a record does not hold is counted. partial: so may trees be."""

    def read(block: str) -> ParseRecord:
        record = read_conllu(block, partial)
        bad.left_out += left_out(block)
        return record

    if kind == "records":
        return lambda line: read_record(line, partial)
    return read if kind == "conllu" else READERS[kind]


def blank(form: str) -> str:
    """Return what stands for no sentence in a format of WRITERS."""
    return "{}" if form == "records" else ""


def sentences(lines: Iterable[Line], kind: str) -> Iterable[Line]:
    """Return the lines of a format of READERS, those of a block of CoNLL-U as one."""
    return conllu_blocks(lines) if kind == "conllu" else lines


def read_parses(lines: Iterable[Line], bad: BadLines) -> Iterator[tuple[Line, ParseRecord]]:
    """Yield the sentences of records or CoNLL-U, each with its line or block; a bad one is an empty record.

    The first line with text tells which of the two it is.
    """
    first, lines = sniff(lines)
    kind = "records" if first.startswith("{") else "conllu"
    for line in sentences(lines, kind):
        yield line, bad.read(line, READERS[kind], ParseRecord())
