"""Carries inline markup over word links, from lines to their translations.

An element encloses the target words that correspond to its words (`placed`):

- Each target word counts the scores of its links to words of the element, minus the scores of its other links. The
  element gets the contiguous words with the largest sum, whose first and last word must be linked to words of the
  element.
- An element that encloses all words of the line, or of its parent, also encloses all of them in the translation.
- Siblings do not overlap: those with larger sums choose first. If no linked word is left for an element, it goes into
  the sibling where its sum is largest.
- An element none of whose words is linked there gets the word next to its place. If no word is left there, it goes into
  the sibling at its place.
- An element that may not be inside its sibling, such as a list item, gets the nearest word that is left or stays
  empty.
- An element without words goes where its neighbouring words have gone.
- The elements in one that is not translated itself stay in order.
- If a pair of codes overlaps other elements, its codes stand before the first and after the last word that an element
  would get. A code stays in its parent if that has this word, and splits the words of no other element but of a pair.

Words without links count as linked to each other if the words on either side of them are.

Tags stand inside a word only if it equals the source word that has them inside.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise, product
from math import inf
from typing import Any

from synmt.data.records import SentencePair
from synmt.data.words import Sides, note_warnings, say_warnings
from synmt.projection.config import MarkupConfig
from synmt.projection.stream import FIRST_WINDOW, WINDOW, Linker, sides_of_links
from synmt.projection.votes import read_scored_links
from synmt.streams import (
    BadInput,
    BadLines,
    Latest,
    Line,
    LineWriter,
    Notes,
    OnError,
    counted,
    never,
    read_lines,
    readable,
    side_by_side,
    windows,
    write_lines,
)
from synmt.text.exchange import ExchangeFile, Piece, Segment, unfit_for_xml
from synmt.text.links import BaseDoubt, Link, split_columns
from synmt.text.markup import BLOCKS, Markup, Place, Span, read_markup, safe_places, whole_words, write_markup
from synmt.text.tags import ENDS, MarkupError, characters
from synmt.text.tokenization import note_tokenizers, spans_of
from synmt.trees.record import ParseRecord

SURE = 10**6  # a link with score 1; integers make equal sums compare as equal
WEAK = SURE // 1000  # a link that is inferred from neighbours
LONGEST = 5  # number of consecutive words that may be linked only because their neighbours are
NEAR = 8  # words on either side that vote for the place of an element without words
MISSED = 12  # largest distance, in words, from the place that a word votes for
MOST_WORDS, MOST_LINKS = 1000, 20_000  # per line; time grows with these numbers times the number of elements
DIVISIONS = 3  # attempts to divide words
INTERACTIVE = frozenset(["a", "button", "label", "select"])  # HTML elements that are not inside each other
NOWHERE = (-1, -1)
Links = Sequence[Sequence[tuple[int, int]]]  # target words and scores of each source word


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line with markup, its translation without markup, the words of both, and the links between them."""

    line: Line
    markup: Markup
    source: Sequence[str]
    text: str
    target: Sequence[str]
    links: Mapping[Link, float]

    def carried(self) -> str:
        """Return the translation with the markup."""
        source, rows = whole_words(spans_of(self.source, self.markup.text), self.markup.text)
        target, columns = whole_words(spans_of(self.target, self.text), self.text)
        links: dict[Link, float] = {}
        for (i, j), score in self.links.items():
            link = rows[i], columns[j]
            links[link] = max(score, links.get(link, 0.0))
        words, places = placed_in(self.markup, self.text, source, target, links)
        return write_markup(self.markup, self.text, words, places)


EMPTY = MarkedLine(Line("", "", 0), Markup("", []), [], "", [], {})


def markup_stream(files: Sequence[str], config: MarkupConfig, linker: Linker | None, on_error: OnError) -> None:
    """Write the translations in the files, with the markup of their sources, to standard output. Arguments and errors
    as for `carried`."""
    bad, notes, latest = BadLines(on_error), Notes(), Latest()
    lines = latest.follow(read_lines(files, on_error))
    write_lines(carried(lines, config, linker, bad, notes, latest.pauses), latest.pauses, files)
    say_warnings(bad, notes)


def carried(
    lines: Iterable[Line],
    config: MarkupConfig,
    linker: Linker | None,
    bad: BadLines,
    notes: Notes,
    pauses: Callable[[], bool] = never,
    split: Callable[[str], list[str]] = split_columns,
) -> Iterator[str]:
    """Yield the translation of each line with the markup of its source, in constant memory.

    linker: links source and target; without it, lines have links. bad: decides whether a bad line raises BadInput or
    stays empty. notes: receives warnings at the end. split: returns the columns of a line.
    """
    own = config.languages
    asked = own[0] if config.source_language else None, own[1] if config.target_language else None
    sides = sides_of_links(linker, config.tokenizer, *asked)
    columns = ["source", "target"] if linker else ["source", "target", "links"]
    base = BaseDoubt()

    def read(text: str) -> MarkedLine:
        found = split(text) if text.strip() else [""] * len(columns)
        if len(found) != len(columns):
            raise ValueError(f"expected `{' TAB '.join(columns)}`, found {counted(len(found), 'column')}")
        example = _example(read_markup(found[0]), found[1], sides)
        if linker:
            return example
        links = read_scored_links(found[2], example.source, example.target)
        if len(links) > MOST_LINKS:
            raise ValueError(f"{len(links)} links, but a line with markup may have at most {MOST_LINKS}")
        base.see(links)
        return replace(example, links=links)

    examples = (replace(bad.read(line, read, EMPTY), line=line) for line in lines)
    for window in windows(examples, WINDOW, FIRST_WINDOW, pauses):
        for each in _linked(window, linker) if linker else window:
            if each.source and not each.target:
                bad.leave_empty("line without a translation")
            yield each.carried() if each.target or not each.source else ""
    if not linker or not linker.languages:
        note_tokenizers(notes, config.tokenizer or "words", {side.side: side.language for side in sides})
    base.say(notes)
    note_warnings(notes, *sides)


def markup_file(
    path: str, translations: str | None, config: MarkupConfig, linker: Linker | None, on_error: OnError
) -> None:
    """Write a TMX or XLIFF file to standard output, with the markup of its sources in its targets.

    translations: a file with a new target for each segment, and its links unless there is a linker; an empty line keeps
    a target. Without such a file, targets that have no tags get those of their sources. Otherwise as `markup_stream`.
    """
    file = ExchangeFile.open(path, config.source_language, config.target_language)
    if translations and file.form == "xliff2" and not file.languages[1]:
        raise BadInput("the file has no trgLang, which targets need", path)
    if linker and linker.languages and file.primary not in (linker.languages, (linker.languages[0], "")):
        own, fitted = " and ".join(file.primary), " and ".join(linker.languages)
        raise BadInput(f"the file is in {own}, but the aligner was fitted to {fitted}", readable(path))
    config = replace(config, source_language=file.languages[0] or None, target_language=file.languages[1] or None)
    bad, notes = BadLines(on_error), Notes()
    waiting: deque[Piece] = deque()
    segments = _followed(file.pieces(), waiting)
    if translations:
        columns = ["target"] if linker else ["target", "links"]
        both: list[Iterator[Any]] = [segments, read_lines([translations], on_error)]
        pairs = side_by_side([path, translations], both, "segment")
        rows = (_row_of_new(segment, line, columns) for segment, line in pairs)
    else:
        rows = (_row_of(segment, path) for segment in segments)
    with LineWriter() as output:
        targets: list[str | None] = []
        for text in carried(rows, config, linker, bad, notes, split=lambda text: text.split("\0")):
            targets.append(text or None)
            while waiting and len(waiting[0].segments) <= len(targets):
                piece = waiting.popleft()
                output.write_bytes(piece.with_targets([targets.pop(0) for _ in piece.segments]))
        for piece in waiting:
            output.write_bytes(piece.raw)
    say_warnings(bad, notes)


def _followed(pieces: Iterable[Piece], waiting: deque[Piece]) -> Iterator[Segment]:
    """Yield the segments of pieces, and append each piece to those that wait for new targets."""
    for piece in pieces:
        waiting.append(piece)
        yield from piece.segments


def _row_of(segment: Segment, path: str) -> Line:
    """Return source and target of a segment, or nothing if the target has tags, or its source has none."""
    source, target = segment.source or "", segment.target or ""
    line = Line("", readable(path), segment.line)
    if "<" not in source or not target.strip() or "<" in target:
        return line
    try:
        return replace(line, text=f"{source}\0{characters(target, 0)}")
    except MarkupError as error:
        return replace(line, cause=str(error))


def _row_of_new(segment: Segment, line: Line, columns: Sequence[str]) -> Line:
    """Return the source of a segment and the columns of its new translation, or nothing if the line is empty."""
    cause, found = line.cause, split_columns(f"\t{line.text}")[1:]
    if line.text.strip() and not cause:
        if len(found) != len(columns):
            cause = f"expected `{' TAB '.join(columns)}`, found {counted(len(found), 'column')}"
        elif wrong := unfit_for_xml(line.text):
            cause = f"{wrong} cannot be in an XML file"
        elif segment.source is not None and segment.place is None:
            cause = f"the segment on line {segment.line} has no target to write to"
        elif segment.source is None:
            cause = f"the segment on line {segment.line} has no source"
    text = "\0".join([segment.source or "", *found]) if line.text.strip() and not cause else ""
    return replace(line, text=text, cause=cause)


def _example(markup: Markup, text: str, sides: Sides) -> MarkedLine:
    source, target = sides[0].of_text(markup.text), sides[1].of_text(text)
    for words, whole in ((source, markup.text), (target, text)):
        spans_of(words, whole)  # which fails if the tokenizer has changed a word
        if len(words) > MOST_WORDS:
            raise ValueError(f"{len(words)} words, but a line with markup may have at most {MOST_WORDS}")
    return replace(EMPTY, markup=markup, source=source, text=text, target=target)


def _linked(window: Sequence[MarkedLine], linker: Linker) -> Iterator[MarkedLine]:
    """Yield the examples, with links if they have markup to carry."""
    pairs = [
        SentencePair(
            ParseRecord(tokens=[*each.source] if each.markup.elements else []),
            ParseRecord(tokens=[*each.target]),
            (each.line, each.line),
        )
        for each in window
    ]
    for each, links in zip(window, linker.link(pairs), strict=True):
        yield replace(each, links=links)


def placed_in(
    markup: Markup, text: str, source: Sequence[Span], target: Sequence[Span], links: Mapping[Link, float]
) -> tuple[list[Span], list[Place]]:
    """Return the words of a translation, and the words among them of each element.

    text: the translation; source, target: the character span of each word. A word is divided into several if the source
    word with the same characters has tags inside, unless this would let other tags inside.
    """
    divided = _divided(markup, text, source, target, links)
    for attempt in range(DIVISIONS + 1):
        divided = divided if attempt < DIVISIONS else {}
        sources = _parts(source, {i: offsets for (i, _), offsets in divided.items()})
        targets = _parts(target, {j: offsets for (_, j), offsets in divided.items()})
        words = list(chain.from_iterable(targets))
        known = _between_parts(links, sources, targets, divided)
        places = placed(markup, list(chain.from_iterable(sources)), known, len(words))
        origins = {
            target[j][0] + offset: (source[i][0] + offset, (i, j))
            for (i, j), offsets in divided.items()
            for offset in offsets
        }
        wrong = _wrongly_inside(markup, words, places, origins)
        if not wrong:
            break
        divided = {pair: offsets for pair, offsets in divided.items() if pair not in wrong}
    return words, places


def _divided(
    markup: Markup, text: str, source: Sequence[Span], target: Sequence[Span], links: Mapping[Link, float]
) -> dict[Link, list[int]]:
    """Return the pairs of equal words whose source word has tags inside, and the places of these tags in the word.

    Both words are linked to each other, or to none. Of several such words, a word is paired with the best linked one.
    """
    begins = [begin for begin, _ in source]
    tags: dict[int, set[int]] = {}
    safe, safe_there = set(safe_places(markup.text)), set(safe_places(text))
    for place in {place for element in markup.elements for place in (element.begin, element.end)}:
        word = bisect_left(begins, place) - 1
        if word >= 0 and place < source[word][1] and place in safe:
            tags.setdefault(word, set()).add(place - source[word][0])
    by_text: dict[str, list[int]] = {}
    for j, (begin, end) in enumerate(target if tags else ()):
        by_text.setdefault(text[begin:end], []).append(j)
    linked, linked_there = {i for i, _ in links}, {j for _, j in links}
    equal = [
        (links.get((i, j), 0.0), i, j)
        for i in sorted(tags)
        for j in by_text.get(markup.text[slice(*source[i])], [])
        if (i, j) in links or (i not in linked and j not in linked_there)
    ]
    found: dict[Link, list[int]] = {}
    for _, i, j in sorted(equal, key=lambda each: (-each[0], each[1:])):
        offsets = [offset for offset in sorted(tags[i]) if target[j][0] + offset in safe_there]
        if offsets and i not in {i for i, _ in found} and j not in {j for _, j in found}:
            found[i, j] = offsets
    return found


def _parts(words: Sequence[Span], offsets: Mapping[int, Sequence[int]]) -> list[list[Span]]:
    """Return the parts of each word, which is divided at these places in it."""
    return [
        list(pairwise([begin, *(begin + offset for offset in offsets.get(word, ())), end]))
        for word, (begin, end) in enumerate(words)
    ]


def _between_parts(
    links: Mapping[Link, float],
    sources: Sequence[Sequence[Span]],
    targets: Sequence[Sequence[Span]],
    divided: Mapping[Link, Sequence[int]],
) -> dict[Link, float]:
    """Return the links between parts of words. Those between the parts of two words sum up to the link of the words."""
    rows, columns = ([0, *accumulate(map(len, words))] for words in (sources, targets))
    found: dict[Link, float] = {}
    for i, j in {**dict.fromkeys(links), **dict.fromkeys(divided)}:
        score, size = links.get((i, j), 1.0), len(sources[i])
        if (i, j) in divided:
            found |= {(rows[i] + part, columns[j] + part): score / size for part in range(size)}
        else:
            both = product(range(rows[i], rows[i + 1]), range(columns[j], columns[j + 1]))
            found |= dict.fromkeys(both, score / (size * len(targets[j])))
    return found


def _wrongly_inside(
    markup: Markup, words: Sequence[Span], places: Sequence[Place], origins: Mapping[int, tuple[int, Link]]
) -> set[Link]:
    """Return the pairs of divided words in whose target word is a tag that is not at the same place of the source word.

    origins: of each place in the target where a word is divided, the place in the source and the pair of words.
    """
    wrong: set[Link] = set()
    begins = [*(begin for begin, _ in words), -1]
    for element, place in zip(markup.elements, places, strict=True):
        for word, origin in (place.first, element.begin), (place.end, element.end if place.first < place.end else -1):
            where, pair = origins.get(begins[word], (origin, (-1, -1)))
            if where != origin and not (origin < 0 and place.first == place.end):
                wrong.add(pair)
    return wrong


def placed(markup: Markup, words: Sequence[Span], links: Mapping[Link, float], length: int) -> list[Place]:
    """Return the target words of each element.

    words: the character span of each source word; length: number of target words.
    """
    placing = _Placing(markup, words, links, length)
    due = deque([-1])
    while due:
        due += placing.fill(due.popleft())
    for one, other in markup.pairs:
        placing.place_pair(one, other)
    return [placing.places[number] for number in range(len(markup.elements))]


class _Placing:
    """Gives places to the elements of a line, which is the element -1.

    places: of each element that has one; held: the elements that look for a place in each element.
    """

    def __init__(self, markup: Markup, words: Sequence[Span], links: Mapping[Link, float], length: int) -> None:
        self.elements = markup.elements
        self.begins, self.ends = [begin for begin, _ in words], [end for _, end in words]
        self.links = _completed(links, len(words), length)
        self.totals = [0] * length
        for target, score in chain.from_iterable(self.links):
            self.totals[target] += score
        self.owned = [*_owned(markup, words), range(len(words))]
        self.claims = [Claim.of(each, self.links, self.totals) for each in self.owned]
        self.places = {-1: Place(0, length, -1)}
        self.held: list[list[int]] = [[] for _ in self.owned]
        self.names: list[set[str]] = [{each.name} for each in self.elements]  # of each element and those inside
        for number in range(len(self.elements) - 1, -1, -1):
            parent = self.elements[number].parent
            self.held[parent].insert(0, number)
            if parent >= 0:
                self.names[parent] |= self.names[number]

    def fill(self, parent: int) -> list[int]:
        """Give places to the elements in one that has a place, and return those that have others inside.

        An element that has to go into a sibling gets its place later.
        """
        inside = self.held[parent]
        in_order = parent >= 0 and self.elements[parent].fixed
        own = {each: bool(self.owned[each]) for each in inside if in_order and self.elements[each].parent == parent}
        room = Room(self.places[parent], parent, own)
        all_words = self.owned[parent]
        claims = {number: self.claims[number].best([room.span])[0] for number in inside if self.owned[number]}
        for number in sorted(claims, key=lambda each: (self.owned[each] == all_words, claims[each]), reverse=True):
            has_all = self.owned[number] == all_words and not room.taken
            _, found = (0, room.span) if has_all else self.claims[number].best(self._free(number, room))
            if found != NOWHERE:
                room.take(number, found)
        for number in claims:
            if number in room.taken:
                continue
            if (sibling := self._sibling(number, room)) is not None:
                self._go_into(sibling, number, room)
            else:
                self._take_a_word(number, room)
        for number in inside:
            if number not in claims:
                gap = self._gap(number, room.free(number))
                room.take(number, (gap, gap))
        self.places |= {number: Place(*span, parent) for number, span in room.taken.items()}
        return [number for number in room.taken if self.held[number]]

    def _sibling(self, number: int, room: "Room") -> int | None:
        """Return the sibling that has the best linked words of an element, if it may be inside."""
        spans = {span: each for each, span in room.taken.items() if self._may_hold(each, number, room)}
        _, (first, end) = self.claims[number].best(sorted(spans))
        return next((each for span, each in spans.items() if span[0] <= first < end <= span[1]), None)

    def _take_a_word(self, number: int, room: "Room") -> None:
        """Give an element without linked words the word next to its place, or put it into the sibling there."""
        gap = self._gap(number, room.free(number))

        def distance(span: Span) -> int:
            return max(span[0] - gap, gap - span[1], 0)

        part = min((each for each in self._free(number, room) if each[0] < each[1]), key=distance, default=None)
        if part is None or distance(part):
            near = [each for each, (first, end) in room.taken.items() if first < end]
            siblings = [each for each in near if self._may_hold(each, number, room)]
            sibling = min(siblings, key=lambda each: distance(room.taken[each]), default=None)
            if sibling is not None and (part is None or distance(room.taken[sibling]) < distance(part)):
                return self._go_into(sibling, number, room)
        first = gap if part is None else min(max(gap, part[0]), part[1] - 1)
        room.take(number, (first, first + (part is not None)))

    def _go_into(self, sibling: int, number: int, room: "Room") -> None:
        """Put an element into its sibling.

        If the sibling has a single word, the next element goes into this one, where it would get in the end.
        """
        first, end = room.taken[sibling]
        if INTERACTIVE & self.names[number]:  # it may not get a place there
            self.held[sibling].append(number)
            return
        self.held[room.last.get(sibling, sibling)].append(number)
        if end - first == 1:
            room.last[sibling] = number

    def _may_hold(self, outer: int, inner: int, room: "Room") -> bool:
        """Return whether an element may go into its sibling."""
        if BLOCKS & self.names[inner] or inner in room.fixed:
            return False
        around = outer
        while around >= 0 and INTERACTIVE & self.names[inner]:
            if self.elements[around].name in INTERACTIVE:
                return False
            around = self.places[around].parent if around in self.places else room.parent
        return True

    def _free(self, number: int, room: "Room") -> list[Span]:
        """Return the parts whose words an element may take. Between fixed elements, none comes from elsewhere."""
        return [] if room.fixed and number not in room.fixed else room.free(number)

    def _gap(self, number: int, free: Iterable[Span]) -> int:
        """Return the place of an element without target words in these parts of the target."""
        element = self.elements[number]
        before = bisect_left(self.begins, element.begin)
        return _gap(self.owned[number] or range(before, before), element.apart, self.links, free)

    def place_pair(self, one: int, other: int) -> None:
        """Place the two codes of a pair around the words that an element would get."""
        paths = [self._path(number) for number in (one, other)]
        common = [above for above, there in zip(*paths, strict=False) if above == there]
        whole = self.places[common[-1]][:2]
        start, stop = (self.elements[number].begin for number in (one, other))
        owned = range(bisect_right(self.ends, start), bisect_left(self.begins, stop))
        _, (first, end) = Claim.of(owned, self.links, self.totals).best([whole])
        if first < 0:
            gap = self._gap(one, [whole])
            first = min(gap, whole[1] - 1) if owned and whole[0] < whole[1] else gap
            end = first + (bool(owned) and whole[0] < whole[1])
        for number, gap, word, path in (one, first, first, paths[0]), (other, end, end - 1, paths[1]):
            covers = [each for each in path[len(common) :] if self.places[each].first <= word < self.places[each].end]
            level = covers[-1] if covers and first < end else common[-1]
            while (inner := self._across(gap, level)) is not None:
                if self.elements[inner].name in ENDS:  # codes may overlap
                    level = inner
                else:
                    gap = self.places[inner].first if number == one else self.places[inner].end
            self.places[number] = Place(gap, gap, level)

    def _across(self, gap: int, level: int) -> int | None:
        """Return the element directly inside another one that has words on both sides of a place."""
        places = [(each, place) for each, place in self.places.items() if each >= 0 and place.parent == level]
        return next((each for each, (first, end, _) in places if first < gap < end), None)

    def _path(self, number: int) -> list[int]:
        """Return the elements around one, from the line to its parent."""
        path: list[int] = []
        while number >= 0:
            number = self.elements[number].parent
            path.append(number)
        return path[::-1]


class Room:
    """The target words of an element, and which of them the elements inside have taken.

    fixed: the elements inside that stay in order, and whether they have words.
    """

    def __init__(self, place: Place, parent: int, fixed: Mapping[int, bool]) -> None:
        self.span: Span = place[:2]
        self.parent, self.fixed = parent, dict(sorted(fixed.items()))
        self.taken: dict[int, Span] = {}
        self.last: dict[int, int] = {}  # the last element that went into each
        self._free: list[Span] = [self.span]

    def take(self, number: int, span: Span) -> None:
        self.taken[number] = span
        if span[0] < span[1]:
            self._free = [part for each in self._free for part in _without(each, *span)]

    def free(self, number: int) -> list[Span]:
        """Return the parts that an element may be in, sorted.

        Between fixed elements, each one leaves a word to each other one that has no place yet, if there are enough.
        """
        if not self.fixed:
            return self._free
        placed = [each for each in self.taken if each in self.fixed]
        before = max((each for each in placed if each < number), default=-1)
        after = min((each for each in placed if each > number), default=inf)
        begin = self.taken[before][1] if before >= 0 else self.span[0]
        end = self.taken[int(after)][0] if after < inf else self.span[1]
        begin = min(begin + sum(self.fixed[each] for each in self.fixed if before < each < number), end)
        return [(begin, max(begin, end - sum(self.fixed[each] for each in self.fixed if number < each < after)))]


def _owned(markup: Markup, words: Sequence[Span]) -> list[range]:
    """Return the source words of each element: those with characters in it.

    A word that two siblings share belongs to the one with more of its characters, the first of equals. An element that
    would then have no words shares all of them.
    """
    begins, ends = [begin for begin, _ in words], [end for _, end in words]
    most: list[dict[int, tuple[int, int]]] = [{} for _ in words]  # by parent: number of characters, and the element
    for number, element in enumerate(markup.elements):
        for word in range(bisect_right(ends, element.begin), bisect_left(begins, element.end)):
            share = min(ends[word], element.end) - max(begins[word], element.begin)
            if share > most[word].get(element.parent, (0, 0))[0]:
                most[word][element.parent] = share, number
    owned = [range(0)] * len(markup.elements)
    for word, by_parent in enumerate(most):
        number = -1
        while number in by_parent:
            number = by_parent[number][1]
            owned[number] = range(owned[number].start if owned[number] else word, word + 1)
    for number, element in enumerate(markup.elements):
        if not owned[number] and element.begin < element.end:
            owned[number] = range(bisect_right(ends, element.begin), bisect_left(begins, element.end))
    return owned


@dataclass(frozen=True, slots=True)
class Claim:
    """The counts of target words for one element.

    linked: target words linked to its words, sorted; sums: total counts of the words before each, [length + 1].
    """

    linked: Sequence[int]
    sums: Sequence[int]

    @classmethod
    def of(cls, words: range, links: Links, totals: Sequence[int]) -> "Claim":
        counts = [-total for total in totals]
        linked = set()
        for j, score in chain.from_iterable(links[i] for i in words):
            counts[j] += 2 * score
            linked.add(j)
        return cls(sorted(linked), [0, *accumulate(counts)])

    def best(self, free: Iterable[Span]) -> tuple[float, Span]:
        """Return the largest sum in these parts of the target, and its words: of equals, the first one to end, and the
        shortest. If no word there is linked, return minus infinity and NOWHERE."""
        best = -inf, NOWHERE
        for begin, end in free:
            first = -1
            for j in self.linked[bisect_left(self.linked, begin) : bisect_left(self.linked, end)]:
                first = j if first < 0 or self.sums[j] <= self.sums[first] else first
                found = self.sums[j + 1] - self.sums[first]
                if found > best[0]:
                    best = found, (first, j + 1)
        return best


def _without(part: Span, first: int, end: int) -> list[Span]:
    """Return the rest of a part of the target after an element has taken the words from `first` to `end`."""
    return [(part[0], first), (end, part[1])] if part[0] <= first and end <= part[1] else [part]


def _gap(words: range, apart: tuple[bool, bool], links: Links, free: Iterable[Span]) -> int:
    """Return the place of an element without target words in these parts of the target.

    words: its source words; if it has none, an empty range at the word after it.

    Each link of a nearby word is a vote, weighted by its score and halved for each word in between; the vote of a word
    that the element touches counts twice. A word before the element votes for the place after its target word, plus the
    number of words in between; a word after it votes for the place before, likewise. A place off by some words gets a
    quarter of the vote per word, and half of this on the wrong side.
    """
    votes: Counter[tuple[int, bool]] = Counter()
    for is_after, near in (False, range(words.start - 1, -1, -1)), (True, range(words.stop, len(links))):
        for away, i in enumerate(near[:NEAR]):
            for j, score in links[i]:
                goal = j - away if is_after else j + 1 + away
                votes[goal, is_after] += (score << (away == 0 and not apart[is_after])) >> away
    counts: Counter[int] = Counter()
    for (goal, is_after), vote in votes.items():
        for off in range(-MISSED, MISSED + 1):
            counts[goal + off] += vote >> (2 * abs(off) + ((off > 0) if is_after else (off < 0)))
    return max(sorted({place for begin, end in free for place in range(begin, end + 1)}), key=counts.__getitem__)


def _completed(links: Mapping[Link, float], sources: int, targets: int) -> Links:
    """Return the links, plus weak ones between unlinked words that lie between two linked pairs of words."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(sources)]
    for (i, j), score in links.items():
        found[i].append((j, round(score * SURE)))
    known = {*links, (-1, -1), (sources, targets)}
    linked_to: dict[int, list[int]] = {}
    for i, j in sorted(known):
        linked_to.setdefault(i, []).append(j)
    following = dict(pairwise(sorted({j for _, j in known})))
    for left, right in pairwise(linked_to):
        for first in linked_to[left]:
            after = following.get(first, 0)
            if (right, after) in known and max(right - left, after - first) <= LONGEST + 1:
                for i in range(left + 1, right):
                    found[i] += [(j, WEAK) for j in range(first + 1, after)]
    return found
