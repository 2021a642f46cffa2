"""Reads sentence pairs to align, and links of other programs that belong to them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, tee
from operator import itemgetter

from synmt.alignment.aligner import Needs
from synmt.data.records import SentencePair, read_columns, source_records
from synmt.data.words import Sides
from synmt.streams import BadInput, BadLines, Line, Notes, OnError, read_lines
from synmt.text.links import HEADER, Link, LinkError, check_inside, detect_base, read_a3, read_scores
from synmt.trees.record import ParseRecord

MANY = 20  # pairs with links; among this many, some pair links a first word


def read_pairs(
    pairs: Iterable[tuple[Line, ...]], needs: Needs, words: Sides, max_words: int, bad: BadLines
) -> Iterator[SentencePair]:
    """Yield the pair of each source and target, which are raw text or a record. Reads ahead if a side has to be parsed.

    A line of more than `max_words` words is bad. If that does not end the stream, both sides of its pair are empty.
    """
    columns = tee(pairs)
    sources, targets = (
        source_records(map(itemgetter(side), columns[side]), needs[side], words[side], bad, strict=True)
        for side in (0, 1)
    )
    for (source, left), (target, right) in zip(sources, targets, strict=True):
        count, line = max((len(left.tokens), source), (len(right.tokens), target), key=itemgetter(0))
        if count > max_words:
            bad.add(line.error(f"a side has {count} words, more than --max-words {max_words}"))
            left = right = ParseRecord()
        yield SentencePair(left, right, (replace(source, text=""), replace(target, text="")))


def with_known_links(pairs: Iterable[SentencePair], paths: Sequence[str]) -> Iterator[SentencePair]:
    """Yield the pairs with links of other programs: line n of a file belongs to pair n. Raises BadInput.

    A file holds Pharaoh or JSON lines, source first, possibly with scores, or GIZA++'s A3 format. In the first A3 file,
    the third line of a pair holds the source words. Possible links, and links without scores, get the score 1.
    """
    files = [_links_of_file(path, reverse=number == 1) for number, path in enumerate(paths)]
    count = 0
    for count, pair in enumerate(pairs, 1):
        known = []
        for path, file in zip(paths, files, strict=True):
            found = next(file, None)
            if found is None:
                raise BadInput(f"has links for only {count - 1} of the sentence pairs", path)
            known.append(found.of_pair(pair))
        yield replace(pair, links=known)
    for file in files:
        if found := next(file, None):
            raise found.line.error(f"links without a sentence pair: only {count} were given")


@dataclass(frozen=True, slots=True)
class KnownLine:
    """The links of one pair, their line, and the number of words on each side if the format tells it."""

    line: Line
    links: Mapping[Link, float]
    lengths: tuple[int, int] | None = None

    def of_pair(self, pair: SentencePair) -> Mapping[Link, float]:
        """Return the links. Raises BadInput if they do not fit the words of the pair."""
        lengths = len(pair.source.tokens), len(pair.target.tokens)
        if not all(lengths):
            return self.links
        try:
            check_inside(self.links.keys(), *lengths)
            if self.lengths not in (None, lengths):
                ours, theirs = ("{} source and {} target words".format(*each) for each in (lengths, self.lengths))
                raise LinkError(f"links of {theirs} for {ours}")
        except LinkError as error:
            line = pair.lines[0]
            raise self.line.error(f"{error} in {line.source}:{line.number}; do they belong to other words?") from None
        return self.links


def _links_of_file(path: str, reverse: bool) -> Iterator[KnownLine]:
    lines = read_lines([path])
    first = next(lines, None)
    if first is None:
        return
    lines = chain([first], lines)
    if first.text.startswith(HEADER):
        for line, links, (third, second) in read_a3(lines):
            if reverse:
                yield KnownLine(line, {(target, source): 1.0 for source, target in links}, (second, third))
            else:
                yield KnownLine(line, dict.fromkeys(links, 1.0), (third, second))
        return
    for line in lines:
        with line.naming():
            fields, scores = read_scores(line.text)
        words = [each for side in ("source", "target") if isinstance(each := fields.get(side), list)]
        yield KnownLine(line, scores, (len(words[0]), len(words[1])) if len(words) == 2 else None)


def check_links(
    links: Sequence[str], files: Sequence[str], needs: Needs, max_words: int, sides: Sides, on_error: OnError
) -> None:
    """Raise BadInput for links that do not fit the pairs, before any output. Inputs that can be read only once are not
    checked."""
    if all(map(os.path.isfile, [*links, *files])):
        source, target = (side.without_trees(fields) for side, fields in zip(sides, needs, strict=True))
        bad = BadLines(on_error)
        pairs = read_pairs(read_columns(files, bad), (frozenset(), frozenset()), (source, target), max_words, bad)
        for _ in with_known_links(pairs, links):
            pass


def note_bases(notes: Notes, links: Sequence[str]) -> None:
    """Add a note on files that seem to count words from 1: they have links for many pairs, but none to a word 0."""
    for path in filter(os.path.isfile, links):
        lines = [line.text for line in read_lines([path]) if line.text.strip()]
        if len(lines) >= MANY and not lines[0].startswith(HEADER) and detect_base(lines) == 1:
            notes.add(f"{path} has no link to a word 0, so it seems to count words from 1")
