"""Inline markup: removes HTML or XLIFF tags from a line of text, and inserts them into another one.

An element without text, such as `<br>` or `<x id="1"/>`, is a unit: it stands between two words and contains none.
Comments, elements such as `<b></b>`, and elements that contain code of another format (`<ph>`) are units too. All other
elements have a first and a last word.
"""

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.entities import html5
from typing import Literal

_VOID = "area base br col embed hr img input link meta param source track wbr"
_CODE = "bpt ept it ph ut"
_BLOCKS = """
address article aside blockquote caption center dd details dialog div dl dt fieldset figcaption figure footer form
h1 h2 h3 h4 h5 h6 header hgroup legend li main menu nav ol optgroup option p pre section summary table tbody td tfoot th
thead tr ul
"""
VOID = frozenset(_VOID.split())  # HTML elements without an end tag
CODE = frozenset(_CODE.split())  # XLIFF and TMX elements that contain code of another format
BLOCKS = frozenset(_BLOCKS.split())  # HTML elements whose tags end a word
MOST_ELEMENTS = 1000  # per line; time grows with the product of elements and words
_MARKUP = re.compile(
    r"""
      (?P<comment> <!--.*?--> | <\?.*?\?> )
    | (?P<script> <(?P<kind>script|style)\b [^<>]*+ > .*? </(?P=kind)\s*+> )
    | </ (?P<end>[A-Za-z_][\w.:-]*+) \s*+ >
    | < (?P<name>[A-Za-z_][\w.:-]*+)
        (?: \s++ [^\s"'<>/=]++ (?: \s*+ = \s*+ (?: "[^"<]*+" | '[^'<]*+' | [^\s"'=<>`]++ ) )?+ )*+
        \s*+ (?P<empty>/)?+ >
    | & (?P<entity> \#[0-9]{1,7} | \#[xX][0-9a-fA-F]{1,6} | [A-Za-z][A-Za-z0-9]*+ ) ;
    | (?P<wrong> < \S*+ )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
Span = tuple[int, int]  # [first, end)


class MarkupError(ValueError):
    """Tags that are not well-formed, or an unknown entity."""


@dataclass(slots=True)
class Element:
    """One element of a line.

    opening, closing: the tags as written. For a unit, `opening` is the whole element.
    parent: the number of the enclosing element, or -1.
    begin, end: the character span in the text.
    apart: whether white space or an end of the line precedes and follows a unit.
    """

    opening: str
    closing: str
    parent: int
    begin: int
    end: int
    apart: tuple[bool, bool] = (False, False)


@dataclass(frozen=True, slots=True)
class Markup:
    """A line of text, without tags and entities, and its elements; an element follows its parent."""

    text: str
    elements: Sequence[Element]


def read_markup(line: str) -> Markup:
    """Return the text and the elements of a line. Raises MarkupError.

    An `&` that does not begin an entity is text. If `<br>` or `<p>` divides two letters, the text gets a space there.
    If white space both precedes and follows a unit, the text keeps only the first.
    """
    reader = _Reader(line)
    position = 0
    for found in _MARKUP.finditer(line):
        reader.add(line[position : found.start()])
        position = found.end()
        reader.see(found)
    reader.add(line[position:])
    return reader.markup()


class _Reader:
    """Reads a line from left to right.

    open: the name, number and start of each open element, and the value of `solid` before it.
    """

    def __init__(self, line: str) -> None:
        self.line = line
        self.text: list[str] = []
        self.size = 0  # characters of the text so far
        self.solid = 0  # parts of the text that are not white space
        self.last = " "  # last character of the text
        self.elements: list[Element] = []
        self.open: list[tuple[str, int, int, int]] = []
        self.code = 0  # number of open elements that contain code
        self.apart = True  # whether white space or the start of the line comes directly before
        self.divides = False  # whether the next letter begins a word
        self.latest: Element | None = None  # the last unit, until something follows it

    def see(self, found: re.Match[str]) -> None:
        """Read a tag, a comment or an entity."""
        name = (found["name"] or found["end"] or "").lower()
        if found["wrong"]:
            raise MarkupError(f"{found['wrong']!r:.40} does not begin a tag; write &lt; for a < in the text")
        if found["entity"]:
            self.add(_characters(found["entity"]))
        elif found["comment"] or found["script"]:
            self._add_unit(found[0], divides=False)
        elif found["end"]:
            self._close(name, found)
        elif found["empty"] or name in VOID:
            self._add_unit(found[0], divides=name != "wbr")
        else:
            self._open(name, found)

    def add(self, text: str) -> None:
        """Read text."""
        if not text or self.code:
            return
        self.apart = text[-1].isspace()
        if self.latest:
            self._follow(text[0].isspace())
            text = text.lstrip() if self.last.isspace() else text
        if self.divides and text[:1].isalnum() and self.last.isalnum():
            text = f" {text}"
        if text:
            self.text.append(text)
            self.size += len(text)
            self.solid += not text.isspace()
            self.last, self.divides = text[-1], False

    def markup(self) -> Markup:
        """Return the text and elements so far. Raises MarkupError if an element is still open."""
        if self.open:
            raise MarkupError(f"<{self.open[-1][0]}> is not closed")
        self._follow(True)
        return Markup("".join(self.text), self.elements)

    def _open(self, name: str, tag: re.Match[str]) -> None:
        if name in ("script", "style"):
            raise MarkupError(f"<{name}> is not closed")
        number = len(self.elements)
        self._append(tag[0])
        self.open.append((name, number, tag.start(), self.solid))
        self.code += name in CODE
        self.divides = self.divides or name in BLOCKS

    def _close(self, name: str, tag: re.Match[str]) -> None:
        if not self.open or self.open[-1][0] != name:
            due = f"</{self.open[-1][0]}> should come first" if self.open else "no element is open"
            raise MarkupError(f"{tag[0]!r:.40}, but {due}")
        _, number, start, solid = self.open.pop()
        element = self.elements[number]
        self.code -= name in CODE
        self.divides = self.divides or name in BLOCKS or name in CODE
        if self.solid > solid:
            element.closing, element.end, element.apart = tag[0], self.size, (False, False)
        else:
            del self.elements[number + 1 :]
            element.opening = self.line[start : tag.end()]
            self._end_unit(element)

    def _add_unit(self, tag: str, divides: bool) -> None:
        self._follow(False)
        self.divides = self.divides or divides
        self._end_unit(self._append(tag))

    def _append(self, tag: str) -> Element:
        if len(self.elements) == MOST_ELEMENTS:
            raise MarkupError(f"more than {MOST_ELEMENTS} elements")
        parent = self.open[-1][1] if self.open else -1
        self.elements.append(Element(tag, "", parent, self.size, self.size, (self.apart, False)))
        return self.elements[-1]

    def _end_unit(self, element: Element) -> None:
        self.latest, self.apart = element, False

    def _follow(self, apart: bool) -> None:
        """Record whether white space follows the latest unit."""
        if self.latest:
            self.latest.apart = (self.latest.apart[0], apart)
        self.latest = None


def _characters(entity: str) -> str:
    """Return the text of an entity, given without `&` and `;`. Raises MarkupError."""
    if entity.startswith("#"):
        number = int(entity[2:], 16) if entity[1] in "xX" else int(entity[1:])
        text = chr(number) if number <= sys.maxunicode else ""
    else:
        text = html5.get(f"{entity};", "")
    if not text or any(unicodedata.category(each) in ("Cc", "Cs", "Cn") for each in text):
        raise MarkupError(f"&{entity}; is not a text character")
    return text


Kind = Literal["start", "end", "unit"]
Tag = tuple[Kind, str, tuple[bool, bool]]  # kind, text, and `Element.apart`


def write_markup(markup: Markup, text: str, words: Sequence[Span], places: Sequence[Span]) -> str:
    """Return another text with these elements inserted.

    words: the character span of each of its m words; places: the word span of each element, [first, end), 0 to m, with
    first = end if it contains no words. The span of an element lies within the span of its parent and overlaps
    none of its siblings.

    End tags precede the white space between two words, and start tags follow it. An element without words keeps the
    white space it had on either side, next to a word or another such element.
    """
    gaps: list[list[Tag]] = [[] for _ in range(len(words) + 1)]
    for place, tag in _tags(markup.elements, places):
        gaps[place].append(tag)
    written: list[str] = []
    end = 0
    for (begin, after), tags in zip([*words, (len(text), len(text))], gaps, strict=True):
        written.append(_gap(text[end:begin].translate(_ESCAPES), text[max(0, end - 1) : end], text[begin:after], tags))
        written.append(text[begin:after].translate(_ESCAPES))
        end = after
    return "".join(written)


def _tags(elements: Sequence[Element], places: Sequence[Span]) -> Iterator[tuple[int, Tag]]:
    """Yield the tags in text order, each with the number of words before it."""
    inside: list[list[int]] = [[] for _ in range(len(elements) + 1)]  # the last list is the top level
    for number, element in enumerate(elements):
        inside[element.parent].append(number)
    units: dict[int, str] = {}  # elements without words, and their content
    for number in reversed(range(len(elements))):
        if places[number][0] == places[number][1]:
            within = "".join(units[each] for each in inside[number])
            units[number] = f"{elements[number].opening}{within}{elements[number].closing}"
    due = sorted(inside[-1], key=places.__getitem__)[::-1]
    while due:
        number = due.pop()
        if number < 0:
            yield places[~number][1], ("end", elements[~number].closing, (False, False))
        elif number in units:
            yield places[number][0], ("unit", units[number], elements[number].apart)
        else:
            yield places[number][0], ("start", elements[number].opening, (False, False))
            due += [~number, *sorted(inside[number], key=places.__getitem__)[::-1]]


def _gap(space: str, before: str, after: str, tags: Sequence[Tag]) -> str:
    """Return the tags and the white space between two words.

    The white space follows all end tags. It precedes all start tags and the first unit that had white space before it.
    before, after: the surrounding text, empty at an end of the line.
    """
    begin = next((place for place, (kind, _, _) in enumerate(tags) if kind == "start"), len(tags))
    end = max((place for place, (kind, _, _) in enumerate(tags, 1) if kind == "end"), default=0)
    middle = next((place for place in range(end, begin) if tags[place][2][0]), begin)
    written: list[str] = []
    touches = before[-1:].isalnum()  # whether a word or a unit comes directly before
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
