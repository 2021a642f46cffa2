"""Parsed sentences from either of their two formats: parse records, or CoNLL-U."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from synmt.streams import BadInput, Line
from synmt.trees.dependency import conllu_blocks, read_conllu
from synmt.trees.record import ParseRecord, read_record


def read_parses(lines: Iterable[Line], on_bad: Callable[[BadInput], None]) -> Iterator[tuple[Line, ParseRecord]]:
    """The sentences of the lines, each with its line or block; the first line with text tells which format it is.

    A bad sentence is handed to `on_bad`; if that does not raise, its record is empty.
    """
    rest = iter(lines)
    head: list[Line] = []
    for line in rest:
        head.append(line)
        if line.text.strip():
            break
    whole = chain(head, rest)
    is_record = head and head[-1].text.startswith("{")
    read, places = (read_record, whole) if is_record else (read_conllu, conllu_blocks(whole))
    for place in places:
        record = ParseRecord()
        try:
            if place.fault:
                raise ValueError(place.fault)
            record = read(place.text)
        except ValueError as error:
            on_bad(place.error(error))
        yield place, record
