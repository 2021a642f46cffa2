"""Challenge sets: the sentences of a corpus that show a phenomenon, and their lines in parallel files.

In a reordering set, words move far in translation: Choshen & Abend (2019), "Automatically Extracting Challenge Sets for
Non-local Phenomena in Neural Machine Translation", CoNLL.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from synmt.challenge.query import Counts, LinkedTranslation, Query, Unmet, explained, marked, occurrences
from synmt.streams import (
    BadInput,
    BadLines,
    Line,
    Message,
    WrongUsage,
    check_stdin_once,
    note,
    read_lines,
    side_by_side,
)
from synmt.text.links import Link, check_inside, open_links, read_links_between
from synmt.trees.formats import Block, Parse, read_parses
from synmt.trees.record import ParseRecord, read_words

Form = Literal["numbers", "ids", "marked", "explained", "whole"]


def reordering_distance(links: Set[Link], source: Sequence[str], target: Sequence[str]) -> int:
    """Return the largest |i − j| of links i-j between words that consist of letters, or 0 if there are none.

    Other words do not count, such as the full stops at the ends of sentences of different lengths. (The original code
    tested the i-th letter of the sentence instead of its i-th word.) Raises LinkError for a link outside the sentences.
    """
    check_inside(links, len(source), len(target))
    return max((abs(i - j) for i, j in links if source[i].isalpha() and target[j].isalpha()), default=0)


@dataclass(frozen=True)
class TranslationFiles:
    """Files parallel to a corpus: its translation, in records, CoNLL-U or tokens, and the links.

    is_source: whether the translation is the source of the links.
    """

    file: str
    links: str
    is_source: bool


def query_set(
    query: Query,
    files: Sequence[str],
    translation: TranslationFiles | None,
    form: Form | None,
    texts: Sequence[str],
    bad: BadLines,
) -> Iterator[str]:
    """Return the sentences of parse records or CoNLL-U with words that match a query. Raises BadInput."""
    parallel = [translation.file, translation.links] if translation else []
    check_stdin_once([*files, *parallel, *texts])
    if form == "whole" and texts:
        raise WrongUsage(Message("--format whole has no effect with --text"))
    cells = query_cells(read_lines(files, bad.on_error), query, form or "numbers", bad, translation)
    return challenge_set(cells, " + ".join(files), texts, with_cells=bool(form or not texts))


def reordering_set(source: str, target: str, links: str, min_distance: int, texts: Sequence[str]) -> Iterator[str]:
    """Return the pairs in which a word moves far, from three parallel files. Raises BadInput."""
    check_stdin_once([source, target, links, *texts])
    cells = reordering_cells(source, target, links, min_distance)
    return challenge_set(cells, links, texts, with_cells=not texts)


def query_cells(
    lines: Iterable[Line], query: Query, form: Form, bad: BadLines, translation: TranslationFiles | None = None
) -> Iterator[str]:
    """Yield a cell for each sentence: its number, its sent_id, its tokens with stars, its number and explained matches,
    or the whole sentence as it was read.

    The cell of a sentence without matches is "". Raises BadInput as `matched`.
    """
    one = form not in ("marked", "explained")
    for number, place, record, found in matched(lines, query, bad, translation, form == "ids", one):
        if not found:
            yield ""
        elif form == "explained":
            yield f"{number}\t{explained(record, query, found)}"
        elif form == "whole":
            yield place.text + "\n" * isinstance(place, Block)
        elif form == "marked":
            yield marked(record, found)
        else:
            yield str(number) if form == "numbers" else " ".join(record.sent_id.split())


def query_counts(
    query: Query, counts: Counts, files: Sequence[str], translation: TranslationFiles | None, bad: BadLines
) -> Iterator[str]:
    """Return a table of the values that matched words have in columns of nodes. Raises BadInput."""
    parallel = [translation.file, translation.links] if translation else []
    check_stdin_once([*files, *parallel])
    for _, _, record, found in matched(read_lines(files, bad.on_error), query, bad, translation):
        counts.add(record, found)
    return counts.lines()


def matched(
    lines: Iterable[Line],
    query: Query,
    bad: BadLines,
    translation: TranslationFiles | None = None,
    with_ids: bool = False,
    one: bool = False,
) -> Iterator[tuple[int, Line, ParseRecord, list[tuple[int, ...]]]]:
    """Yield the number of each sentence, from 1, its line or block, its record over syntactic words and its matches.

    Raises BadInput at the end if no sentence, or no translation, has the features that the query needs, and notes what
    else it names that no word has. with_ids: sentences that match must have a sent_id; one: stop after the first match
    in each.
    """
    number = 0
    unmet, unmet_in_translation = Unmet(query.shape.parts), Unmet(query.linked.conditions)
    lacks_feats, other_lacks_feats = ("feats" in columns for columns in (query.shape.columns, query.linked.columns))
    for number, (place, record, other) in enumerate(_with_translation(lines, bad, translation), 1):
        lacks_feats = lacks_feats and not record.feats
        other_lacks_feats = other_lacks_feats and other is not None and not other.record.feats
        unmet.see(record)
        unmet_in_translation.see(other.record if other else ParseRecord())
        found = []
        try:
            found = occurrences(record, query, other, one)
            if found and with_ids and not record.sent_id:
                raise ValueError("sentence has no sent_id")
        except ValueError as error:
            bad.add(place.error(error))
        yield number, place, record, found
    if number and (lacks_feats or other_lacks_feats):
        file = translation.file if translation and not lacks_feats else ""
        raise BadInput("no sentence has morphological features, which this phenomenon needs", file)
    if number and query.announces:
        for missing, where in ((unmet, "the input"), (unmet_in_translation, "the translation")):
            if str(missing):
                note(f"no word of {where} has {missing}")


def _with_translation(
    lines: Iterable[Line], bad: BadLines, translation: TranslationFiles | None
) -> Iterator[tuple[Line, ParseRecord, LinkedTranslation | None]]:
    """Yield the sentences of a corpus, each with its line or block and its translation.

    Raises BadInput, also for files of different lengths and for links outside the sentences.
    """
    parsed = read_parses(lines, bad)
    if translation is None:
        yield from ((place, parse.record, None) for place, parse in parsed)
        return
    others = read_parses(read_lines([translation.file], bad.on_error), bad)
    links = open_links(read_lines([translation.links]))
    names = "the corpus", translation.file, translation.links
    rows: Iterator[Any] = side_by_side(names, [parsed, others, links], "sentence")
    for (place, parse), (_, other), line in rows:
        with line.naming():
            found = _links_between(parse, other, line.text, links.base, translation.is_source)
            yield place, parse.record, LinkedTranslation(other.record, found)
    if warning := links.warning(translation.links):
        note(warning)


def _links_between(parse: Parse, other: Parse, text: str, base: int, is_source: bool) -> frozenset[Link]:
    """Return the links between words of the corpus and of its translation, given those between tokens; none if either
    line was a bad one. is_source: whether the links start from the translation."""
    if not parse.words_of or not other.words_of:
        return frozenset()
    source, target = (other, parse) if is_source else (parse, other)
    links = read_links_between(source.tokens, target.tokens, text, base).possible
    between = (pair for i, j in links for pair in product(source.words_of[i], target.words_of[j]))
    return frozenset((j, i) for i, j in between) if is_source else frozenset(between)


def reordering_cells(source: str, target: str, links: str, min_distance: int) -> Iterator[str]:
    """Yield the number of each pair, or "" if no word moves that far. Raises BadInput.

    source, target: files of tokens or parse records; links: a file of their links.
    """
    names = [source, target, links]
    known = open_links(read_lines([links]))
    for number, (first, second, line) in enumerate(
        side_by_side(names, [read_lines([source]), read_lines([target]), known]), 1
    ):
        with first.naming():
            source_words = read_words(first.text)
        with second.naming():
            target_words = read_words(second.text)
        with line.naming():
            found = read_links_between(source_words, target_words, line.text, known.base)
            distance = reordering_distance(found.possible, source_words, target_words)
        yield str(number) if distance > min_distance else ""
    if warning := known.warning(links):
        note(warning)


def challenge_set(cells: Iterator[str], name: str, texts: Sequence[str], with_cells: bool) -> Iterator[str]:
    """Yield for each sentence of the set its cell, its lines in the text files, or both, separated by tabs.

    name: of the corpus. Raises BadInput for a text file of a different length.
    """
    lines = [(line.text for line in read_lines([text])) for text in texts]
    for cell, *lines_of_texts in side_by_side([name, *texts], [cells, *lines], "sentence"):
        if cell:
            yield "\t".join([cell, *lines_of_texts] if with_cells else lines_of_texts)
