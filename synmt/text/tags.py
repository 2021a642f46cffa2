"""Splits a line into text and tags, by the rules of HTML, XLIFF and TMX.

Each start tag has an end tag, which is empty if HTML allows it to be left out. A pair of codes, such as `<bpt i="1">`
and `<ept i="1">`, is the start and the end of an element, unless it overlaps another element. Everything that must not
be translated becomes a unit, whatever it contains.
"""

import html
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

_PROTECTED = "code kbd samp var pre math svg"
_VOID = "area base br col embed hr img input link meta param source track wbr"
_RAW = "script style textarea iframe xmp noembed noframes"
_CODE = "bpt ept it ph ut bx ex sc ec sm"
_OPTIONAL = "li dt dd p rt rp optgroup option colgroup caption thead tbody tfoot tr td th html head body"
_PHRASES = "a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strong sub sup tt u var"
_ENDED_BY = {
    """
    address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4
    h5 h6 header hgroup main menu nav ol p pre search section table ul
    """: "p",
    "li": "li",
    "dt dd": "dt dd",
    "rt rp": "rt rp",
    "option": "option",
    "optgroup": "option optgroup",
    "hr": "p option optgroup",
    "td th": "td th",
    "tr": "tr td th caption colgroup",
    "thead tbody tfoot": "thead tbody tfoot tr td th caption colgroup",
    "caption colgroup": "caption colgroup",
    "col": "caption",
    "head": "head",
    "body": "head body",
    "html": "html",
}
PROTECTED = frozenset(_PROTECTED.split())  # HTML elements that are not translated, unless translate="yes"
VOID = frozenset(_VOID.split())  # HTML elements without an end tag
RAW = frozenset(_RAW.split())  # HTML elements whose content is not markup
CODE = frozenset(_CODE.split())  # XLIFF and TMX elements that stand for code of another format
ENDS = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}  # codes that start a pair, and the code that ends it
PHRASES = frozenset(_PHRASES.split())  # HTML elements inside a paragraph
OPTIONAL = frozenset(_OPTIONAL.split())  # HTML elements whose end tag may be left out
ENDED_BY = {  # by start tag: the elements whose end tag may be left out before it
    name: frozenset(ended.split()) for names, ended in _ENDED_BY.items() for name in names.split()
}
MOST_ELEMENTS = 1000  # per line; time grows with the product of elements and words
_NAME = r"[A-Za-z_][\w.:-]*+"
_ATTRIBUTE = r"""\s++ (?P<key> [^\s"'<>/=]++ ) (?: \s*+ = \s*+ (?P<value> "[^"]*+" | '[^']*+' | [^\s"'<>`]++ ) )?+"""
_ATTRIBUTES = f"(?: {_ATTRIBUTE.replace('?P<key>', '?:').replace('?P<value>', '?:')} )*+"
_MARKUP = re.compile(
    rf"""
      (?P<unit> <!-- (?!-?>) (?: (?!--!?>) . )* --> | <\?.*?\?> )
    | (?P<doctype> <!doctype \s (?: [^<>"'\[] | "[^"]*+" | '[^']*+' )*+ > )
    | (?P<cdata> <!\[CDATA\[ .*? \]\]> )
    | (?P<raw> < (?P<kind> {_RAW.replace(" ", "|")} ) {_ATTRIBUTES} \s*+ > .*? </ (?P=kind) \s*+ > )
    | </ (?P<end> {_NAME} ) \s*+ >
    | < (?P<name> {_NAME} ) {_ATTRIBUTES} \s*+ (?P<empty> / )?+ >
    | (?P<wrong> < \S*+ )
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_EACH_ATTRIBUTE = re.compile(_ATTRIBUTE, re.VERBOSE)
_REFERENCE = re.compile(r"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|[A-Za-z][A-Za-z0-9]*+;?)")
_SPACES = str.maketrans("\t\n\f\r", "    ")


class MarkupError(ValueError):
    """Tags that are not well-formed, or a reference to no character."""

    def __init__(self, begin: int, cause: str) -> None:
        super().__init__(f"character {begin + 1}: {cause}")


@dataclass(slots=True, eq=False)
class TagToken:
    """A part of a line, [begin, end).

    name: of the element, in lower case, or "" for a comment and the like; tag: the start tag.
    mate: the end of a start, the start of an end, and the other one of a pair of codes.
    fixed: whether only elements inside this one are translated, and must stay in order.
    """

    kind: Literal["text", "unit", "start", "end"]
    begin: int
    end: int
    name: str = ""
    tag: str = ""
    mate: "TagToken | None" = None
    fixed: bool = False


def split_tags(line: str) -> tuple[list[TagToken], list[TagToken]]:
    """Return the parts of a line, and the starts of pairs of codes that overlap other elements. Raises MarkupError.

    Texts and units are separate parts. A start follows the start of its parent, and precedes its end.
    """
    tokens = _Nesting(line).read()
    overlapping = _pair(tokens)
    return _protected(line, tokens), overlapping


def characters(text: str, begin: int) -> str:
    """Return text without character references, as browsers read it.

    begin: its place in the line. Raises MarkupError.
    """

    def read(found: re.Match[str]) -> str:
        name = found[0].strip("&;")
        if name[0] != "#":
            return html.unescape(found[0]).translate(_SPACES)
        digits, base = (name[2:], 16) if name[1] in "xX" else (name[1:], 10)
        number = int(digits.lstrip("0")[:9] or "0", base)
        one = html.unescape(f"&#{number};").translate(_SPACES)
        if not one or unicodedata.category(one) == "Cc" or (one == "\ufffd" and number != 0xFFFD):
            raise MarkupError(begin + found.start(), f"{found[0]:.40} is not a text character")
        return one

    return _REFERENCE.sub(read, text) if "&" in text else text


class _Nesting:
    """Reads the tags of a line from left to right.

    open: the starts of elements that have not ended; ended: by name, the tag that ended an element without its end tag.
    """

    def __init__(self, line: str) -> None:
        self.line = line
        self.tokens: list[TagToken] = []
        self.open: list[TagToken] = []
        self.ended: dict[str, str] = {}

    def read(self) -> list[TagToken]:
        position = 0
        for found in _MARKUP.finditer(self.line):
            self._add("text", position, found.start())
            position = found.end()
            self._see(found)
        self._add("text", position, len(self.line))
        while self.open:
            if self.open[-1].name not in OPTIONAL:
                raise MarkupError(self.open[-1].begin, f"<{self.open[-1].name}> is not closed")
            self._end(len(self.line), len(self.line))
        return self.tokens

    def _see(self, found: re.Match[str]) -> None:
        begin, end = found.span()
        name = (found["name"] or found["end"] or found["kind"] or "").lower()
        if found["wrong"]:
            raise MarkupError(begin, f"{found[0]!r:.40} does not begin a tag; write &lt; for a < in the text")
        if found["cdata"] and not any(each.name in ("svg", "math") for each in self.open):
            raise MarkupError(begin, "a CDATA section outside <svg> and <math>; write &lt; for a < in the text")
        if found["end"]:
            self._close(name, begin, end)
        elif found["name"]:
            self._open(name, found)
        else:
            self._add("unit", begin, end, name)

    def _add(self, kind: Literal["text", "unit", "start", "end"], begin: int, end: int, name: str = "") -> None:
        if begin < end:
            self.tokens.append(TagToken(kind, begin, end, name, self.line[begin:end] if kind != "text" else ""))

    def _open(self, name: str, found: re.Match[str]) -> None:
        if name in RAW and not found["empty"]:
            raise MarkupError(found.start(), f"<{name}> is not closed")
        ended = ENDED_BY.get(name, frozenset())
        last = len(self.open)
        inline: TagToken | None = None  # an element that would end too late
        for place in range(last - 1, -1, -1) if ended else ():
            each = self.open[place]
            if each.name not in OPTIONAL | PHRASES:
                break
            if inline and each.name == name:
                raise MarkupError(found.start(), f"{found[0]!r:.40}, but </{inline.name}> should come first")
            inline = inline or (each if each.name in PHRASES else None)
            last = place if each.name in ended and not inline else last
        for each in self.open[last:]:
            self.ended[each.name] = name
        while len(self.open) > last:
            self._end(found.start(), found.start())
        if found["empty"] or name in VOID:
            self._add("unit", *found.span(), name)
        else:
            if len(self.open) == MOST_ELEMENTS:
                raise MarkupError(found.start(), f"more than {MOST_ELEMENTS} elements")
            self._add("start", *found.span(), name)
            self.open.append(self.tokens[-1])

    def _close(self, name: str, begin: int, end: int) -> None:
        if not any(each.name == name for each in reversed(self.open)):
            why = f"<{self.ended[name]}> has ended the <{name}>" if name in self.ended else f"no <{name}> is open"
            raise MarkupError(begin, f"{self.line[begin:end]!r:.40}, but {why}")
        while self.open[-1].name != name:
            if self.open[-1].name not in OPTIONAL:
                due = f"</{self.open[-1].name}> should come first"
                raise MarkupError(begin, f"{self.line[begin:end]!r:.40}, but {due}")
            self._end(begin, begin)
        self._end(begin, end)

    def _end(self, begin: int, end: int) -> None:
        """End the innermost element."""
        start = self.open.pop()
        if start.name in CODE:
            while self.tokens.pop() is not start:
                pass
            self.tokens.append(TagToken("unit", start.begin, end, start.name, start.tag))
        else:
            self.tokens.append(TagToken("end", begin, end, start.name, mate=start))
            start.mate = self.tokens[-1]


def _attributes(tag: str) -> Mapping[str, str]:
    """Return the values of the attributes of a tag by their names, in lower case."""
    found = [
        (each["key"].lower(), html.unescape((each["value"] or "").strip("\"'")))
        for each in _EACH_ATTRIBUTE.finditer(tag)
    ]
    return dict(reversed(found))  # the first one counts


def _pair(tokens: Sequence[TagToken]) -> list[TagToken]:
    """Turn each pair of codes into a start and an end, and return the starts of pairs that overlap other elements.

    Codes without their other half stay units.
    """
    waiting: dict[tuple[str, str], list[TagToken]] = {}
    for token in tokens:
        if token.kind == "unit" and (token.name in ENDS or token.name in ENDS.values()):
            known = _attributes(token.tag)
            key = known.get("startref") or known.get("i") or known.get("rid") or known.get("id") or ""
            if known.get("isolated") == "yes" or (token.name == "em" and "startref" not in known):
                continue
            if token.name in ENDS:
                waiting.setdefault((ENDS[token.name], key), []).append(token)
            elif waiting.get((token.name, key)):
                token.mate = waiting[token.name, key].pop()
                token.mate.mate = token
    overlapping: dict[TagToken, None] = {}
    open: list[TagToken] = []
    for token in tokens:
        if token.mate is None:
            continue
        if token.mate.begin > token.begin or token.kind == "start":
            open.append(token)
        elif token.kind == "end":
            while open[-1] is not token.mate:
                overlapping[open.pop()] = None
            open.pop()
        else:
            while open and open[-1] in overlapping:
                open.pop()
            if open and open[-1] is token.mate:
                open.pop().kind, token.kind = "start", "end"
            else:
                overlapping[token.mate] = None
    return list(overlapping)


def _protected(line: str, tokens: Sequence[TagToken]) -> list[TagToken]:
    """Return the tokens of a line, with a single unit for everything that is not translated, between its spaces."""
    kept: list[TagToken] = []
    open = [(True, -1)]  # of each open element: whether its text is translated, and the place of its start
    for token in tokens:
        translated, first = open[-1]
        if token.kind == "start":
            open.append((_is_translated(token, translated), len(kept)))
            kept.append(token)
        elif token.kind == "end":
            open.pop()
            start = kept[first]
            start.fixed = not translated
            if translated or any(each.kind in ("start", "end") for each in kept[first + 1 :]):
                kept.append(token)
            else:
                del kept[first:]
                _keep(kept, TagToken("unit", start.begin, token.end, "code", start.tag), *open[-1])
        elif token.kind == "unit":
            _keep(kept, token, translated, first)
        elif translated:
            kept.append(token)
        else:
            text = line[token.begin : token.end]
            begin = token.end - len(text.lstrip(" \t\r\n\f"))
            end = token.begin + len(text.rstrip(" \t\r\n\f"))
            if begin < end:
                spaces = (token.begin, begin), (end, token.end)
                before, after = (TagToken("text", *each) for each in spaces)
                kept += [before] if before.begin < before.end else []
                _keep(kept, TagToken("unit", begin, end, "code"), translated, first)
                kept += [after] if after.begin < after.end else []
            else:
                kept.append(token)
    return kept


def _keep(kept: list[TagToken], unit: TagToken, translated: bool, first: int) -> None:
    """Add a unit. If its element is not translated, join it to a unit before it. first: the place of the element."""
    place = len(kept) - 1
    if not translated:
        place -= place > first and kept[place].kind == "text"
        if place > first and kept[place].kind == "unit":
            unit = TagToken("unit", kept[place].begin, unit.end, "code", unit.tag)
            del kept[place:]
    kept.append(unit)


def _is_translated(start: TagToken, inherited: bool) -> bool:
    """Return whether the text of an element is translated. inherited: whether that around it is."""
    known = _attributes(start.tag)
    asked = known.get("translate", known.get("its:translate", "-")).lower()
    if asked in ("yes", "", "no"):
        return asked != "no"
    protected = start.name in PROTECTED or known.get("mtype") == "protected"
    return inherited and not protected and "notranslate" not in known.get("class", "").split()
