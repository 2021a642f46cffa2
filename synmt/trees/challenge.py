"""A challenge set: the sentences of a corpus that show a phenomenon, and their lines in files beside the corpus."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from synmt.streams import BadInput, BadLines, Line, read_lines, read_parallel, side_by_side
from synmt.text.links import read_links
from synmt.trees.parses import read_parses
from synmt.trees.phenomena import Phenomenon, marked, occurrences
from synmt.trees.record import read_record
from synmt.trees.reordering import reordering_distance

Form = Literal["numbers", "ids", "marked"]


def phenomenon_cells(
    lines: Iterable[Line], phenomenon: Phenomenon, min_distance: int, form: Form, bad: BadLines
) -> Iterator[str]:
    """For each sentence of parse records or CoNLL-U its number, its sent_id, or its tokens with stars; "" for one
    that does not belong to the set.

    Raises BadInput at the end if no sentence has the features that tell the phenomenon.
    """
    number = 0
    lacks_feats = "feats" in phenomenon.columns
    for number, (place, record) in enumerate(read_parses(lines, bad), 1):
        lacks_feats = lacks_feats and not record.feats
        found = []
        try:
            found = occurrences(record, phenomenon, min_distance)
            if found and form == "ids" and not record.sent_id:
                raise ValueError("sentence has no sent_id")
        except ValueError as error:
            bad.add(place.error(error))
        cells = {"numbers": str(number), "ids": " ".join(record.sent_id.split()), "marked": marked(record, found)}
        yield cells[form] if found else ""
    if number and lacks_feats:
        raise BadInput("no sentence has morphological features, which tell this phenomenon")


def reordering_cells(source: str, target: str, links: str, min_distance: int) -> Iterator[str]:
    """For each pair of three files, tokens or parse records of both sides and their links, its number, or "" if no
    word moves that far. Raises BadInput."""
    for number, (first, second, line) in enumerate(read_parallel([source, target, links]), 1):
        words = _words(first), _words(second)
        try:
            distance = reordering_distance(read_links(line.text).possible, *words)
        except ValueError as error:
            raise line.error(error) from None
        yield str(number) if distance > min_distance else ""


def _words(line: Line) -> list[str]:
    try:
        return read_record(line.text).tokens if line.text.startswith("{") else line.text.split()
    except ValueError as error:
        raise line.error(error) from None


def challenge_set(cells: Iterator[str], name: str, texts: Sequence[str], with_cells: bool) -> Iterator[str]:
    """Of each sentence of the set its cell, its lines in the text files, or both, with tabs between.

    name: of the corpus. Raises BadInput for a text of another length than the corpus.
    """
    lines = [(line.text for line in read_lines([text])) for text in texts]
    for cell, *beside in side_by_side([name, *texts], [cells, *lines], "sentences"):
        if cell:
            yield "\t".join([cell, *beside] if with_cells else beside)
