"""A challenge set: the sentences of a corpus that show a phenomenon, and their lines in files beside the corpus."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from synmt.challenge.query import Beside, Query, marked, occurrences
from synmt.challenge.reordering import reordering_distance
from synmt.streams import BadInput, BadLines, Line, check_stdin_once, read_lines, read_parallel, side_by_side
from synmt.text.links import check_inside, read_links
from synmt.trees.dependency import Block
from synmt.trees.parses import read_parses
from synmt.trees.record import ParseRecord, read_words

Form = Literal["numbers", "ids", "marked", "whole"]


@dataclass(frozen=True)
class Translation:
    """Files beside a corpus: its translation, in records, CoNLL-U or tokens, and their links.

    is_source: whether the corpus is the target of the links.
    """

    file: str
    links: str
    is_source: bool


def query_set(
    query: Query,
    files: Sequence[str],
    translation: Translation | None,
    form: Form | None,
    texts: Sequence[str],
    bad: BadLines,
) -> Iterator[str]:
    """Return the sentences with words that a query asks for, among files of parse records or CoNLL-U.

    Raises BadInput.
    """
    beside = [translation.file, translation.links] if translation else []
    check_stdin_once([*files, *beside, *texts])
    cells = query_cells(read_lines(files, bad.on_error), query, form or "numbers", bad, translation)
    return challenge_set(cells, " + ".join(files), texts, with_cells=bool(form or not texts))


def reordering_set(source: str, target: str, links: str, min_distance: int, texts: Sequence[str]) -> Iterator[str]:
    """Return the set of pairs in which a word moves far, by three files. Raises BadInput."""
    check_stdin_once([source, target, links, *texts])
    cells = reordering_cells(source, target, links, min_distance)
    return challenge_set(cells, links, texts, with_cells=not texts)


def query_cells(
    lines: Iterable[Line], query: Query, form: Form, bad: BadLines, translation: Translation | None = None
) -> Iterator[str]:
    """Yield for each sentence of parse records or CoNLL-U its number, its sent_id, its tokens with stars, or all of it
    as it stands; "" for one without such words.

    Raises BadInput at the end if no sentence has the features that tell them.
    """
    number = 0
    lacks_feats = "feats" in query.columns
    for number, (place, record, beside) in enumerate(_with_translation(lines, bad, translation), 1):
        lacks_feats = lacks_feats and not record.feats
        found = []
        try:
            found = occurrences(record, query, beside)
            if found and form == "ids" and not record.sent_id:
                raise ValueError("sentence has no sent_id")
        except ValueError as error:
            bad.add(place.error(error))
        cells = {
            "numbers": str(number),
            "ids": " ".join(record.sent_id.split()),
            "marked": marked(record, found),
            "whole": place.text + "\n" * isinstance(place, Block),
        }
        yield cells[form] if found else ""
    if number and lacks_feats:
        raise BadInput("no sentence has morphological features, which tell this phenomenon")


def _with_translation(
    lines: Iterable[Line], bad: BadLines, translation: Translation | None
) -> Iterator[tuple[Line, ParseRecord, Beside | None]]:
    """Yield the sentences of a corpus, each with what stands beside it. Raises BadInput, also for files that end apart
    and for links that leave their sentences."""
    parsed = read_parses(lines, bad)
    if translation is None:
        yield from ((place, record, None) for place, record in parsed)
        return
    others, links = read_parses(read_lines([translation.file], bad.on_error), bad), read_lines([translation.links])
    names = "the corpus", translation.file, translation.links
    rows: Iterator[Any] = side_by_side(names, [parsed, others, links], "sentences")
    for (place, record), (_, other), line in rows:
        with line.naming():
            links_of = read_links(line.text).possible
            found = frozenset((j, i) for i, j in links_of) if translation.is_source else links_of
            check_inside(found, len(record.tokens), len(other.tokens))
        yield place, record, Beside(other, found)


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
