"""A challenge set: the sentences of a corpus that show a phenomenon, and their lines in files beside the corpus."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from synmt.challenge.phenomena import PHENOMENA, Phenomenon, marked, occurrences
from synmt.challenge.reordering import reordering_distance
from synmt.streams import BadInput, BadLines, Line, check_stdin_once, read_lines, read_parallel, side_by_side
from synmt.text.links import read_links
from synmt.trees.parses import read_parses
from synmt.trees.record import read_words

Form = Literal["numbers", "ids", "marked"]


def phenomenon_set(
    name: str, files: Sequence[str], min_distance: int, form: Form | None, texts: Sequence[str], bad: BadLines
) -> Iterator[str]:
    """Return the set of a phenomenon of PHENOMENA among files of parse records or CoNLL-U. Raises BadInput."""
    check_stdin_once([*files, *texts])
    lines = read_lines(files, bad.on_error)
    cells = phenomenon_cells(lines, PHENOMENA[name], min_distance, form or "numbers", bad)
    return challenge_set(cells, " + ".join(files), texts, with_cells=bool(form or not texts))


def reordering_set(source: str, target: str, links: str, min_distance: int, texts: Sequence[str]) -> Iterator[str]:
    """Return the set of pairs in which a word moves far, by three files. Raises BadInput."""
    check_stdin_once([source, target, links, *texts])
    cells = reordering_cells(source, target, links, min_distance)
    return challenge_set(cells, links, texts, with_cells=not texts)


def phenomenon_cells(
    lines: Iterable[Line], phenomenon: Phenomenon, min_distance: int, form: Form, bad: BadLines
) -> Iterator[str]:
    """Yield for each sentence of parse records or CoNLL-U its number, its sent_id, or its tokens with stars; "" for
    one that does not belong to the set.

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
    """Yield for each pair its number, or "" if no word moves that far. Raises BadInput.

    source, target: files of tokens or parse records; links: a file of their links.
    """
    for number, (first, second, line) in enumerate(read_parallel([source, target, links]), 1):
        with first.naming():
            source_words = read_words(first.text)
        with second.naming():
            target_words = read_words(second.text)
        with line.naming():
            distance = reordering_distance(read_links(line.text).possible, source_words, target_words)
        yield str(number) if distance > min_distance else ""


def challenge_set(cells: Iterator[str], name: str, texts: Sequence[str], with_cells: bool) -> Iterator[str]:
    """Yield of each sentence of the set its cell, its lines in the text files, or both, with tabs between.

    name: of the corpus. Raises BadInput for a text of another length than the corpus.
    """
    lines = [(line.text for line in read_lines([text])) for text in texts]
    for cell, *beside in side_by_side([name, *texts], [cells, *lines], "sentences"):
        if cell:
            yield "\t".join([cell, *beside] if with_cells else beside)
