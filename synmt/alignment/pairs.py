"""Reads sentence pairs to align, and links of other programs that belong to them."""

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import tee
from operator import itemgetter

from synmt.alignment.aligner import Needs
from synmt.data.records import BitextFiles, SentencePair, source_records
from synmt.data.words import Sides
from synmt.streams import BadInput, BadLines, Line, Notes, OnError, counted, read_lines
from synmt.text.links import Link, LinkError, LinkLines, check_inside, check_words, open_links, read_scores
from synmt.trees.record import ParseRecord


def read_pairs(
    pairs: Iterable[tuple[Line, ...]], needs: Needs, words: Sides, max_words: int, bad: BadLines
) -> Iterator[SentencePair]:
    """Yield the pair of each source and target, which are raw text or a record. Reads ahead if a side has to be parsed.

    Of a pair with more than `max_words` words on a side, both sides are empty, and `bad` counts it: time grows with the
    cube of the number of words, and memory with the square.
    """
    columns = tee(pairs)
    sources, targets = (
        source_records(map(itemgetter(side), columns[side]), needs[side], words[side], bad, strict=True)
        for side in (0, 1)
    )
    for (source, left), (target, right) in zip(sources, targets, strict=True):
        if max(len(left.tokens), len(right.tokens)) > max_words:
            bad.leave_empty(f"pair of more than {max_words} words on a side")
            left = right = ParseRecord()
        yield SentencePair(left, right, (replace(source, text=""), replace(target, text="")))


def with_known_links(
    pairs: Iterable[SentencePair], paths: Sequence[str], notes: Notes | None = None
) -> Iterator[SentencePair]:
    """Yield the pairs with links of other programs: line n of a file belongs to pair n. Raises BadInput.

    The formats are those of `open_links`, source first; in the first A3 file, the third line of a pair holds the source
    words. Possible links, and links without scores, get the score 1. notes: for files that seem to count words from 1.
    """
    files, count = _opened(paths, notes), 0
    for count, pair in enumerate(pairs, 1):
        known = []
        for path, file in zip(paths, files, strict=True):
            line = next(file, file.rest)
            if line is None:
                raise BadInput(f"has links for only {count - 1} of the sentence pairs", path)
            known.append(_of_pair(pair, line, file.base))
        yield replace(pair, links=known)
    for file in files:
        if line := next((each for each in file if each.number), None):  # numbered links skip pairs without links
            raise line.error(f"links without a sentence pair: only {count} were given")


def pairs_of_links(paths: Sequence[str], max_words: int, bad: BadLines, notes: Notes) -> Iterator[SentencePair]:
    """Yield a pair for each line of links, as `with_known_links`; of its words only the number is known, up to the last
    one with a link. Raises BadInput, also for files of different lengths."""
    files = _opened(paths, notes)
    for count in itertools.count():
        lines = [next(file, None) for file in files]
        if not any(lines):
            return
        known, place = [], next(filter(None, lines))
        for path, file, line in zip(paths, files, lines, strict=True):
            line = line or file.rest
            if line is None:
                raise BadInput(f"has links for only {counted(count, 'pair')}, but {place.source} for more", path)
            with line.naming():
                known.append(read_scores(line.text, file.base)[1])
        sizes = [1 + max((link[side] for links in known for link in links), default=-1) for side in (0, 1)]
        if max(sizes) > max_words:
            bad.leave_empty(f"pair of more than {max_words} words on a side")
            sizes = [0, 0]
        source, target = (ParseRecord(tokens=[""] * size) for size in sizes)
        yield SentencePair(source, target, (replace(place, text=""), replace(place, text="")), known)


def _opened(paths: Sequence[str], notes: Notes | None) -> list[LinkLines]:
    """Open files of links. notes: for files that seem to count words from 1."""
    files = [open_links(read_lines([path]), reverse=number == 1) for number, path in enumerate(paths)]
    for path, file in zip(paths, files, strict=True):
        if notes and (warning := file.warning(path)):
            notes.add(warning)
    return files


def _of_pair(pair: SentencePair, line: Line, base: int) -> Mapping[Link, float]:
    """Return the links on a line. Raises BadInput if they do not fit the words of the pair."""
    with line.naming():
        fields, links = read_scores(line.text, base)
    source, target = pair.source.tokens, pair.target.tokens
    if not (fields or links) or not (source and target):
        return links
    try:
        check_words(fields, source, target)
        check_inside(links.keys(), len(source), len(target))
    except LinkError as error:
        place = pair.lines[0]
        raise line.error(f"{error} in {place.source}:{place.number}; do they belong to other words?") from None
    return links


def check_links(
    links: Sequence[str], files: BitextFiles, needs: Needs, max_words: int, sides: Sides, on_error: OnError
) -> None:
    """Raise BadInput for links that do not fit the pairs, before any output. Inputs that can be read only once are not
    checked."""
    if all(map(os.path.isfile, [*links, *files.paths])):
        source, target = (side.without_trees(fields) for side, fields in zip(sides, needs, strict=True))
        bad = BadLines(on_error)
        pairs = read_pairs(files.columns(bad), (frozenset(), frozenset()), (source, target), max_words, bad)
        for _ in with_known_links(pairs, links):
            pass
