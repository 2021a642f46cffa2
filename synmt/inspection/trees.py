"""The trees of a file, or of two files of the same sentences, as text and as pictures."""

from collections.abc import Iterable, Iterator, Sequence

from synmt.streams import BadInput, counted, read_lines, readable, side_by_side
from synmt.text.graphemes import label
from synmt.trees.drawing import picture, rows
from synmt.trees.formats import read_trees
from synmt.trees.record import ParseRecord

LONGEST_TEXT = 3000  # characters
Sentences = Iterable[tuple[int, Sequence[ParseRecord]]]


def read_sentences(files: Sequence[str], only: int | None = None) -> Iterator[tuple[int, Sequence[ParseRecord]]]:
    """Yield the number of each sentence, from 1, and its record in each file. only: the number of a single sentence to
    read. Raises BadInput, also if the files differ in length or have no such sentence."""
    number, streams = 0, [read_trees(read_lines([file])) for file in files]
    for number, pair in enumerate(side_by_side(list(map(readable, files)), streams, "sentence"), 1):
        if only in (None, number):
            yield number, [record for _, record in pair]
        if only == number:
            return
    if only:
        raise BadInput(f"has no sentence {only}, only {counted(number, 'sentence')}", readable(files[0]))


def as_text(sentences: Sentences, names: Sequence[str]) -> Iterator[str]:
    """Yield the text of each sentence, the rows of its trees and an empty line. names: of two files."""
    for number, records in sentences:
        yield f"# {number}: {label(records[0].text or ' '.join(records[0].tokens), LONGEST_TEXT)}"
        yield from rows(records, names)
        yield ""


def as_svg(sentences: Sentences, names: Sequence[str]) -> Iterator[str]:
    """Yield a picture of each sentence. Raises BadInput if a sentence has no trees."""
    for number, records in sentences:
        if not any(each.tree or each.heads for each in records):
            raise BadInput(f"sentence {number} has no tree")
        yield picture(records, names)
