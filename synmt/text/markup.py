"""Inline markup: removes HTML, XLIFF or TMX tags from a line of text, and inserts them into another one.

An element without text to translate, such as `<br>`, `<x id="1"/>` or `<code>ls</code>`, is a unit: it stands between
two words and contains none. Comments, elements such as `<b></b>`, and elements that contain code of another format
(`<ph>`) are units too. All other elements have a first and a last word.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from synmt.text.graphemes import clusters
from synmt.text.tags import MOST_ELEMENTS, MarkupError, TagToken, characters, split_tags

_BLOCKS = """
address article aside blockquote caption center dd details dialog div dl dt fieldset figcaption figure footer form
h1 h2 h3 h4 h5 h6 header hgroup legend li main menu nav ol optgroup option p pre section summary table tbody td tfoot th
thead tr ul
"""
BLOCKS = frozenset(_BLOCKS.split())  # HTML elements whose tags end a word
JOINED = frozenset(["", "wbr", "script", "style"])  # names of units between letters of one word
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
Span = tuple[int, int]  # [first, end)


@dataclass(slots=True)
class Element:
    """One element of a line.

    opening, closing: the tags or codes as written; closing is empty if the end tag is left out. For a unit, `opening`
    is the whole element.
    parent: the number of the enclosing element, or -1.
    begin, end: the character span in the text.
    apart: whether white space or an end of the line precedes and follows a unit.
    name: in lower case; fixed: whether only elements inside this one are translated, and must stay in order.
    """

    opening: str
    closing: str
    parent: int
    begin: int
    end: int
    apart: tuple[bool, bool] = (False, False)
    name: str = ""
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Markup:
    """A line of text, without tags and entities, and its elements; an element follows its parent.

    pairs: the two units of each pair of codes that overlaps other elements.
    """

    text: str
    elements: Sequence[Element]
    pairs: Sequence[tuple[int, int]] = ()


class Place(NamedTuple):
    """The words of an element in another text, [first, end), and the number of the element around it, or -1.

    It contains no words if first = end.
    """

    first: int
    end: int
    parent: int


def read_markup(line: str) -> Markup:
    """Return the text and the elements of a line. Raises MarkupError.

    An `&` that does not begin a character reference is text. If `<br>` or `<p>` divides two letters, the text gets a
    space there. If white space both precedes and follows a unit, the text keeps only the first.
    """
    tokens, overlapping = split_tags(line)
    reader = _MarkupReader(line)
    for token in tokens:
        if token.kind == "text":
            reader.add(characters(line[token.begin : token.end], token.begin))
        elif token.kind == "unit":
            reader.add_unit(token)
        elif token.kind == "start":
            reader.open_element(token)
        else:
            reader.close_element(token)
    return reader.markup(overlapping)


class _MarkupReader:
    """Reads the tokens of a line from left to right.

    open: the number of each open element, and the value of `solid` before it.
    places: of each unit, its span in the line and its number.
    """

    def __init__(self, line: str) -> None:
        self.line = line
        self.text: list[str] = []
        self.size = 0  # characters of the text so far
        self.solid = 0  # parts of the text that are not white space
        self.last = " "  # last character of the text
        self.elements: list[Element] = []
        self.open: list[tuple[int, int]] = []
        self.places: list[tuple[int, int, int]] = []
        self.apart = True  # whether white space or the start of the line comes directly before
        self.divides = False  # whether the next letter begins a word
        self.latest: Element | None = None  # the last unit, until something follows it

    def add(self, text: str) -> None:
        """Read text."""
        if not text:
            return
        self.apart = text[-1].isspace()
        if self.latest:
            self._follow(text[0].isspace())
            text = text.lstrip() if self.last.isspace() else text
        if self.divides and text[:1].isalnum() and ends_word(self.last):
            text = f" {text}"
        if text:
            self.text.append(text)
            self.size += len(text)
            self.solid += not text.isspace()
            self.last, self.divides = text[-1], False

    def add_unit(self, unit: TagToken) -> None:
        self._follow(False)
        self.divides = self.divides or not (unit.name in JOINED or unit.mate)
        self._end_unit(self._append(unit), unit.begin, unit.end)

    def open_element(self, start: TagToken) -> None:
        number = len(self.elements)
        self._append(start)
        self.open.append((number, self.solid))
        self.divides = self.divides or start.name in BLOCKS

    def close_element(self, end: TagToken) -> None:
        number, solid = self.open.pop()
        element = self.elements[number]
        self.divides = self.divides or end.name in BLOCKS
        if self.solid > solid:
            element.closing, element.end = self.line[end.begin : end.end], self.size
            element.apart = (False, False)
        else:
            begin = end.mate.begin if end.mate else end.begin
            del self.elements[number + 1 :]
            while self.places and self.places[-1][0] >= begin:
                self.places.pop()
            element.opening = self.line[begin : end.end]
            self._end_unit(element, begin, end.end)

    def markup(self, overlapping: Sequence[TagToken]) -> Markup:
        """Return the text and elements. overlapping: the starts of pairs of codes that stay units."""
        self._follow(True)
        pairs: list[tuple[int, int]] = []
        known: set[int] = set()
        for start in overlapping:
            halves = [self._unit_at(each.begin) for each in (start, start.mate) if each]
            if len({*halves} - known) == 2:  # neither is in another unit
                known.update(halves)
                pairs.append((halves[0], halves[1]))
        return Markup("".join(self.text), self.elements, pairs)

    def _unit_at(self, begin: int) -> int:
        """Return the number of the unit at a place of the line."""
        return self.places[bisect_right(self.places, begin, key=lambda place: place[0]) - 1][2]

    def _append(self, token: TagToken) -> Element:
        if len(self.elements) == MOST_ELEMENTS:
            raise MarkupError(token.begin, f"more than {MOST_ELEMENTS} elements")
        parent = self.open[-1][0] if self.open else -1
        raw = self.line[token.begin : token.end]
        apart = (self.apart, False)
        self.elements.append(Element(raw, "", parent, self.size, self.size, apart, token.name, token.fixed))
        return self.elements[-1]

    def _end_unit(self, element: Element, begin: int, end: int) -> None:
        self.latest, self.apart = element, False
        self.places.append((begin, end, len(self.elements) - 1))

    def _follow(self, apart: bool) -> None:
        """Record whether white space follows the latest unit."""
        if self.latest:
            self.latest.apart = (self.latest.apart[0], apart)
        self.latest = None


Kind = Literal["start", "end", "unit"]
Tag = tuple[Kind, str, tuple[bool, bool]]  # kind, text, and `Element.apart`


def write_markup(markup: Markup, text: str, words: Sequence[Span], places: Sequence[Place]) -> str:
    """Return another text with these elements inserted.

    words: the character span of each of its m words; places: of each element, its words from 0 to m. They lie within
    the words of its parent, and no other element with the same parent has any of them.

    End tags precede the white space between two words, and start tags follow it. An element without words keeps the
    white space it had on either side, next to a word or another such element.
    """
    gaps: list[list[Tag]] = [[] for _ in range(len(words) + 1)]
    for place, tag in _tags(markup, places):
        gaps[place].append(tag)
    written: list[str] = []
    end = 0
    for (begin, after), tags in zip([*words, (len(text), len(text))], gaps, strict=True):
        written.append(_gap(text[end:begin].translate(_ESCAPES), text[max(0, end - 1) : end], text[begin:after], tags))
        written.append(text[begin:after].translate(_ESCAPES))
        end = after
    return "".join(written)


def _tags(markup: Markup, places: Sequence[Place]) -> Iterator[tuple[int, Tag]]:
    """Yield the tags in text order, each with the number of words before it."""
    elements = markup.elements
    kinds: list[Kind] = ["unit"] * len(elements)
    for one, other in markup.pairs:
        if places[one].first < places[other].first:
            kinds[one], kinds[other] = "start", "end"

    def order(number: int) -> tuple[int, int, int]:
        return places[number].first, places[number].end, ("end", "unit", "start").index(kinds[number])

    inside: list[list[int]] = [[] for _ in range(len(elements) + 1)]  # the last list is the top level
    for number in range(len(elements)):
        inside[places[number].parent].append(number)
    units: dict[int, str] = {}  # elements without words, and their content
    for number in reversed(range(len(elements))):
        if places[number].first == places[number].end:
            within = "".join(units[each] for each in inside[number])
            units[number] = f"{elements[number].opening}{within}{elements[number].closing}"
    due = sorted(inside[-1], key=order)[::-1]
    while due:
        number = due.pop()
        if number < 0:
            yield places[~number].end, ("end", elements[~number].closing, (False, False))
        elif number in units:
            apart = elements[number].apart if kinds[number] == "unit" else (False, False)
            yield places[number].first, (kinds[number], units[number], apart)
        else:
            yield places[number].first, ("start", elements[number].opening, (False, False))
            due += [~number, *sorted(inside[number], key=order)[::-1]]


def _gap(space: str, before: str, after: str, tags: Sequence[Tag]) -> str:
    """Return the tags and the white space between two words.

    The white space follows all end tags. It precedes all start tags and the first unit that had white space before it.
    before, after: the surrounding text, empty at an end of the line.
    """
    begin = next((place for place, (kind, _, _) in enumerate(tags) if kind == "start"), len(tags))
    end = max((place for place, (kind, _, _) in enumerate(tags, 1) if kind == "end"), default=0)
    middle = next((place for place in range(end, begin) if tags[place][2][0]), begin)
    written: list[str] = []
    touches = ends_word(before)  # whether a word or a unit comes directly before
    due: int | None = None  # where to insert white space if a word or a unit follows
    for place, (kind, tag, (apart, follows)) in enumerate([*tags, ("end", "", (False, False))]):
        if place == middle and space:
            written.append(space)
            touches, due = False, None
        if kind == "unit":
            if due is not None:
                written.insert(due, " ")
            elif apart and touches:
                written.append(" ")
        if kind == "end" and due == len(written):
            due += 1
        written.append(tag)
        if kind == "unit":
            touches, due = True, len(written) if follows else None
    if due is not None and after[:1].isalnum():
        written.insert(due, " ")
    return "".join(written)


def ends_word(text: str) -> bool:
    """Return whether text ends with a letter or a digit, which may have marks."""
    return bool(text) and unicodedata.category(text[-1])[0] in "LMN"


def whole_words(words: Sequence[Span], text: str) -> tuple[list[Span], list[int]]:
    """Return the words that tags can stand between, and which of them each word is in.

    A word begins and ends where a tag can stand; words that share characters become one.
    """
    safe = safe_places(text)
    whole: list[Span] = []
    numbers: list[int] = []
    for begin, end in words:
        begin, end = safe[bisect_right(safe, begin) - 1], safe[bisect_left(safe, end)]
        if whole and begin < whole[-1][1]:
            whole[-1] = whole[-1][0], max(end, whole[-1][1])
        else:
            whole.append((begin, end))
        numbers.append(len(whole) - 1)
    return whole, numbers


def safe_places(text: str) -> list[int]:
    """Return the places of a text where a tag can stand, sorted: the borders of its clusters."""
    return [0, *(range(1, len(text) + 1) if text.isascii() else accumulate(map(len, clusters(text))))]
