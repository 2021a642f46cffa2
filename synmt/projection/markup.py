"""Carries inline markup over word links, from lines to their translations.

An element encloses the target words that correspond to its words (`placed`):

- Each target word counts the scores of its links to words of the element, minus the scores of its other links. The
  element gets the contiguous words with the largest sum, whose first and last word must be linked to words of the
  element.
- An element that encloses all words of the line, or of its parent, also encloses all of them in the translation.
- Siblings do not overlap: those with larger sums choose first.
- An element without words, or for whose words no target word is left, goes where its neighbouring words have gone.

Words without links count as linked to each other if the words on either side of them are.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from math import inf

from synmt.data.records import SentencePair
from synmt.data.words import Sides, say_doubts
from synmt.projection.config import MarkupConfig, ProjectionConfig
from synmt.projection.stream import FIRST_WINDOW, WINDOW, Linker, sides_of_links
from synmt.projection.votes import read_scored_links
from synmt.streams import (
    BadLines,
    Latest,
    Line,
    Notes,
    OnError,
    convert_files,
    counted,
    never,
    read_lines,
    windows,
    write_lines,
)
from synmt.text.links import Link, split_columns
from synmt.text.markup import Markup, Span, read_markup, write_markup
from synmt.text.tokenization import note_tokenizers, spans_of
from synmt.trees.record import ParseRecord

SURE = 10**6  # a link with score 1; integers make equal sums compare as equal
WEAK = SURE // 1000  # a link that is inferred from neighbours
LONGEST = 5  # number of consecutive words that may be linked only because their neighbours are
NEAR = 8  # words on either side that vote for the place of an element without words
MISSED = 12  # largest distance, in words, from the place that a word votes for
MOST_WORDS, MOST_LINKS = 1000, 20_000  # per line; time grows with these numbers times the number of elements
NOWHERE = (-1, -1)
Links = Sequence[Sequence[tuple[int, int]]]  # target words and scores of each source word


@dataclass(frozen=True, slots=True)
class Example:
    """A line with markup, its translation without markup, the words of both, and the links between them."""

    line: Line
    markup: Markup
    source: Sequence[str]
    text: str
    target: Sequence[str]
    links: Mapping[Link, float]

    def carried(self) -> str:
        """Return the translation with the markup."""
        words = spans_of(self.target, self.text)
        places = placed(self.markup, spans_of(self.source, self.markup.text), self.links, len(words))
        return write_markup(self.markup, self.text, words, places)


EMPTY = Example(Line("", "", 0), Markup("", []), [], "", [], {})


def markup_stream(
    files: Sequence[str], markup: MarkupConfig, config: ProjectionConfig, linker: Linker | None, on_error: OnError
) -> None:
    """Write translations with the markup of their sources, or with `strip` sources without markup, to standard output.

    Runs in constant memory. linker: links source and target; without it, lines contain links. Raises BadInput, or with
    `on_error="blank"` leaves a bad line empty, and counts it.
    """
    bad, notes, latest = BadLines(on_error), Notes(), Latest()
    if markup.strip:
        convert_files(files, lambda line: read_markup(line).text, bad)
        return
    sides = sides_of_links(config, markup.source_language, linker)
    columns = ["source", "target"] if linker else ["source", "target", "links"]

    def read(text: str) -> Example:
        found = split_columns(text) if text.strip() else [""] * len(columns)
        if len(found) != len(columns):
            raise ValueError(f"expected `{' TAB '.join(columns)}`, found {counted(len(found), 'column')}")
        example = _example(read_markup(found[0]), found[1], sides)
        if linker:
            return example
        links = read_scored_links(found[2], example.source, example.target)
        if len(links) > MOST_LINKS:
            raise ValueError(f"{len(links)} links, but a line with markup may have at most {MOST_LINKS}")
        return replace(example, links=links)

    lines = latest.follow(read_lines(files, on_error))
    examples = (replace(bad.read(line, read, EMPTY), line=line) for line in lines)
    write_lines(_carried(examples, linker, latest.pauses, bad), latest.pauses)
    if not linker or not linker.languages:
        note_tokenizers(notes, config.tokenizer or "moses", {side.side: side.language for side in sides})
    say_doubts(bad, notes, *sides)


class Carrier:
    """Removes markup from lines to be translated, and inserts it into their translations.

    linker: links the words of both; bad: decides what happens to lines with bad markup.
    """

    def __init__(self, linker: Linker, bad: BadLines) -> None:
        self._linker, self._bad = linker, bad
        self._sides = sides_of_links(ProjectionConfig(), None, linker)
        self._waiting: deque[tuple[Line, Markup]] = deque()

    def texts(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Yield the lines without markup."""
        for line in lines:
            markup = self._bad.read(line, read_markup, EMPTY.markup)
            plain = replace(line, text=markup.text, fault="")
            self._waiting.append((plain, markup))
            yield plain

    def lines(self, translations: Iterable[str], pauses: Callable[[], bool] = never) -> Iterator[str]:
        """Yield the translations of these lines with markup, in order."""
        return _carried(map(self._example, translations), self._linker, pauses, self._bad)

    def _example(self, text: str) -> Example:
        line, markup = self._waiting.popleft()
        found = self._bad.read(line, lambda _: _example(markup, text, self._sides), EMPTY)
        return replace(found, line=line)


def _example(markup: Markup, text: str, sides: Sides) -> Example:
    source, target = sides[0].of_text(markup.text), sides[1].of_text(text)
    for words, whole in ((source, markup.text), (target, text)):
        spans_of(words, whole)  # which fails if the tokenizer has changed a word
        if len(words) > MOST_WORDS:
            raise ValueError(f"{len(words)} words, but a line with markup may have at most {MOST_WORDS}")
    return replace(EMPTY, markup=markup, source=source, text=text, target=target)


def _carried(
    examples: Iterable[Example], linker: Linker | None, pauses: Callable[[], bool], bad: BadLines
) -> Iterator[str]:
    """Yield the translation of each example with its markup. linker: links their words, if given."""
    for window in windows(examples, WINDOW, FIRST_WINDOW, pauses):
        for each in _linked(window, linker) if linker else window:
            if each.source and not each.target:
                bad.leave_empty("line without a translation")
            yield each.carried() if each.target or not each.source else ""


def _linked(window: Sequence[Example], linker: Linker) -> Iterator[Example]:
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


def placed(markup: Markup, words: Sequence[Span], links: Mapping[Link, float], length: int) -> list[Span]:
    """Return the target words of each element, [first, end), as `write_markup` takes them.

    words: the character span of each source word; length: number of target words.
    """
    elements = markup.elements
    known = _completed(links, len(words), length)
    totals = [0] * length
    for target, score in chain.from_iterable(known):
        totals[target] += score
    owned = [*_owned(markup, words), range(len(words))]  # the last, with the number -1, is the line
    places = [(0, length)] * len(owned)
    held: list[list[int]] = [[] for _ in owned]
    for number, element in enumerate(elements):
        held[element.parent].append(number)
    for parent in (-1, *range(len(elements))):
        free = [places[parent]]
        claims = {number: Claim.of(owned[number], known, totals) for number in held[parent]}
        for number in sorted(claims, key=lambda number: claims[number].best(free)[0], reverse=True):
            has_all = bool(owned[number]) and owned[number] == owned[parent]
            first, end = places[number] = places[parent] if has_all else claims[number].best(free)[1]
            free = [part for each in free for part in _without(each, first, end)]
        for number in claims:
            if places[number] == NOWHERE:
                before = sum(begin < elements[number].begin for begin, _ in words)
                around = owned[number] or range(before, before)
                gap = _gap(around, elements[number].apart, known, free)
                places[number] = gap, gap
    return places[:-1]


def _owned(markup: Markup, words: Sequence[Span]) -> list[range]:
    """Return the source words of each element: those with characters in it.

    A word that two siblings share belongs to the one with more of its characters, the first of equals.
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
