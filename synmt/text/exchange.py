"""Reads the segments of TMX 1.4, XLIFF 1.2 and XLIFF 2 files, and writes the files with other targets.

Python's XML parser reports the place of each tag in bytes. A file is read as pieces, each with all bytes up to the end
of a translation unit, so all bytes but those of new targets stay as they are. Memory is bounded by the largest unit.

A file may come from a stranger: entities must not be declared, external ones are not read, and the size of a unit and
the depth of elements are bounded. A file is read twice: first to check it, and to find its languages.
"""

import html
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from synmt.streams import BadInput, BadLines, Line, Message, readable
from synmt.streams.inputs import CHUNK, EXCHANGE, open_input
from synmt.text.markup import read_markup

UNITS = {"tmx": "tu", "xliff1": "trans-unit", "xliff2": "segment"}
LARGEST = 2**24  # bytes of a unit
DEEPEST = 500  # nested elements
LANG = "xml:lang"
_CDATA = re.compile(r"(<!--.*?-->|<\?.*?\?>)|<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_BREAKS = re.compile(r" *[\t\r\n]\s*")
_NOT_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Segment:
    """A source and its target, as XML with references instead of CDATA sections; None if there is none.

    line: where its unit begins, from 1. place: the bytes of the piece to replace by a new target between the two tags
    of `around`; None if there is no place for one.
    """

    source: str | None
    target: str | None
    line: int
    place: tuple[int, int] | None = None
    around: tuple[str, str] = ("", "")

    @property
    def texts(self) -> tuple[str, str]:
        """The text of both sides without tags, each on one line, "" if there is none. Raises MarkupError."""
        source, target = (_BREAKS.sub(" ", read_markup(each or "").text).strip() for each in (self.source, self.target))
        return source, target


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of a file up to the end of a translation unit, or between units, and the segments of the unit.

    begin: where the unit begins in the bytes, after all of them if there is none.
    """

    raw: bytes
    begin: int
    segments: Sequence[Segment]
    encoding: str

    def with_targets(self, targets: Iterable[str | None]) -> bytes:
        """Return the bytes with new targets, as XML; None keeps one. A segment without a place keeps its target."""
        written, end = [], 0
        changed = [(each, new) for each, new in zip(self.segments, targets, strict=True) if new is not None]
        for each, new in sorted(changed, key=lambda pair: pair[0].place or ()):
            if place := each.place:
                before, after = each.around
                whole = f"{before}{new}{after}".encode(self.encoding, "xmlcharrefreplace")
                written += [self.raw[end : place[0]], whole]
                end = place[1]
        return b"".join([*written, self.raw[end:]])

    def without_unit(self) -> bytes:
        """Return the bytes before the unit, and not the white space next to it."""
        before = self.raw[: self.begin].decode(self.encoding)
        return before.rstrip().encode(self.encoding)


@dataclass(frozen=True)
class ExchangeFile:
    """A file that has been checked. form: a key of UNITS; languages: of its sources and targets, "" if unknown."""

    path: str
    form: str
    languages: tuple[str, str]

    @classmethod
    def open(cls, path: str, source: str | None = None, target: str | None = None) -> "ExchangeFile":
        """Check a file, and choose the languages: those given, or the only pair in the file. Raises BadInput."""
        if not Path(path).is_file():
            raise BadInput("TMX and XLIFF cannot be read from a pipe: give a file", readable(path))
        reader = _ExchangeReader(path, None)
        for _ in reader.pieces():
            pass
        try:
            chosen = _of_tmx(reader, source, target) if reader.form == "tmx" else _of_xliff(reader, source, target)
        except ValueError as error:
            raise BadInput(str(error), readable(path)) from None
        return cls(path, reader.form, chosen)

    @property
    def primary(self) -> tuple[str, str]:
        """The languages without regions: en for en-US."""
        return primary(self.languages[0]), primary(self.languages[1])

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces; their bytes make up the file. Raises BadInput."""
        return _ExchangeReader(self.path, self.languages).pieces()

    def columns(self, bad: BadLines) -> Iterator[tuple[Line, Line]]:
        """Yield the text of the source and the target of each segment; both are empty if one has bad markup."""
        for piece in self.pieces():
            for segment in piece.segments:
                yield self.lines(segment, bad)

    def lines(self, segment: Segment, bad: BadLines) -> tuple[Line, Line]:
        """Return the text of the source and of the target of a segment."""
        name = readable(self.path)
        source, target = bad.read(Line("", name, segment.line), lambda _: segment.texts, ("", ""))
        return Line(source, name, segment.line), Line(target, name, segment.line)


def open_exchange(files: Sequence[str], source: str | None = None, target: str | None = None) -> list[ExchangeFile]:
    """Check files, and choose the same languages in all. Raises BadInput, also for a file of lines among them."""
    for each in files:
        if not each.endswith(EXCHANGE):
            raise BadInput(f"does not end in .tmx, .xlf or .xliff, unlike {readable(files[0])}", readable(each))
    opened = [ExchangeFile.open(each, source, target) for each in files]
    for file in opened:
        if file.primary != opened[0].primary:
            both = " and ".join("-".join(one.primary) for one in (opened[0], file))
            raise BadInput(f"the files are in different languages, {both}", readable(file.path))
    return opened


@dataclass(frozen=True, slots=True)
class Kept:
    """What to write of a pair, and what to write without it; or of bytes between units, which stay."""

    whole: bytes
    without: bytes = b""
    is_pair: bool = True


def columns_of_units(
    files: Sequence[str], languages: tuple[str | None, str | None], bad: BadLines, waiting: deque[Kept]
) -> Iterator[tuple[Line, Line]]:
    """Yield the text of the source and the target of each unit of a TMX file, and append its bytes to those that wait.
    Raises BadInput, also for several files, and for XLIFF, whose units stand for places in a document."""
    first, *others = open_exchange(files, *languages)
    if others or first.form != "tmx":
        raise BadInput("only lines and a single TMX file can be filtered, not XLIFF", readable(files[-1]))
    for piece in first.pieces():
        waiting.append(Kept(piece.raw, piece.without_unit(), bool(piece.segments)))
        for segment in piece.segments:
            yield first.lines(segment, bad)


def unfit_for_xml(text: str) -> str:
    """Return a character that XML does not allow, such as U+0008, or "" if all are allowed."""
    found = _NOT_XML.search(text)
    return f"U+{ord(found[0]):04X}" if found else ""


def _of_tmx(reader: "_ExchangeReader", source: str | None, target: str | None) -> tuple[str, str]:
    """Return the languages of a TMX file. Raises ValueError."""
    found = list(reader.languages.values())
    if source is None and reader.source_language.lower() not in ("", "*all*"):
        source = reader.source_language
    if source is None and target is not None and len(found) == 2:
        source = next((each for each in found if each != _named(found, target)), None)
    if source is None:
        raise ValueError(
            Message("no language is the source of all of {}: choose with --source-language", listed(found))
        )
    one = _named(found, source)
    others = [each for each in found if each != one]
    if target is None and len(others) != 1:
        raise ValueError(Message("has {} besides {}: choose one with --target-language", listed(others), one))
    other = _named(found, target if target is not None else others[0])
    if one == other:
        raise ValueError(Message("--source-language and --target-language are both {}", one))
    return one, other


def _named(found: Sequence[str], asked: str) -> str:
    """Return the language of a file that a code names: the same, or the only one with another region."""
    same = [each for each in found if each.lower() == asked.lower()]
    alike = same or [each for each in found if each.lower().replace("_", "-").startswith(f"{asked.lower()}-")]
    alike = alike or [each for each in found if asked.lower().startswith(f"{each.lower()}-")]
    if not alike:
        raise ValueError(f"has no segments in {asked}, only in {listed(found)}")
    if len(alike) > 1:
        raise ValueError(f"{asked} can be {' or '.join(alike)}: name one of them")
    return alike[0]


def _of_xliff(reader: "_ExchangeReader", source: str | None, target: str | None) -> tuple[str, str]:
    """Return the languages of an XLIFF file. Raises ValueError."""
    found = list(reader.pairs)
    if len(found) > 1:
        raise ValueError(f"has translations {listed(['-'.join(each) for each in found])}: split it by language")
    own = found[0] if found else ("", "")
    for asked, known in zip((source, target), own, strict=True):
        if asked and known and primary(asked) != primary(known):
            raise ValueError(f"is from {own[0]} to {own[1] or 'an unknown language'}, not {asked}")
    return own[0] or source or "", own[1] or target or ""


def primary(language: str) -> str:
    """Return a language without its region: en for en-US."""
    return language.replace("_", "-").partition("-")[0].lower()


def listed(names: Sequence[str]) -> str:
    """Return names with commas."""
    return ", ".join(names) or "no language"


@dataclass(slots=True)
class _Part:
    """An element of a unit, by the places of its bytes in the file: of its start tag, of its content, and of what
    follows it.

    key: its language or number; depth: how many elements are around it; around: the part around it, if any.
    """

    name: str
    key: str
    begin: int
    depth: int
    around: "_Part | None" = None
    inside: int = -1
    end: int = -1
    after: int = -1


@dataclass(slots=True)
class _Unit:
    """A translation unit: where it begins and ends, its first line, how many elements are around it, and its parts."""

    begin: int
    line: int
    depth: int
    after: int = -1
    parts: list[_Part] = field(default_factory=list)


class _ExchangeReader:
    """Reads a file, and the languages in it."""

    def __init__(self, path: str, wanted: tuple[str, str] | None) -> None:
        self.path, self.wanted = path, wanted
        self.form = self.source_language = ""
        self.languages: dict[str, str] = {}  # of TMX, by their names in lower case
        self.pairs: dict[tuple[str, str], None] = {}  # of XLIFF
        self.encoding = "utf-8"
        self._stack: list[tuple[str, bool]] = []  # names of open elements, and whether they are translated
        self._open: list[_Part] = []
        self._unit: _Unit | None = None
        self._due: list[tuple[_Part | _Unit, str]] = []  # places that the next event has
        self._raw, self._offset, self._safe = bytearray(), 0, 0
        self._done: list[Piece] = []
        self._parser = expat.ParserCreate()
        self._parser.XmlDeclHandler = self._declare
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.DefaultHandlerExpand = self._other
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._skip_entity

    def pieces(self) -> Iterator[Piece]:
        name = readable(self.path)
        try:
            with open_input(self.path, CHUNK) as stream:
                while chunk := stream.read(CHUNK):  # type: ignore[union-attr]
                    if not self._offset and not self._raw and chunk[:2] in (b"\xff\xfe", b"<\0"):
                        self.encoding = "utf-16-le"
                    elif not self._offset and not self._raw and chunk[:2] in (b"\xfe\xff", b"\0<"):
                        self.encoding = "utf-16-be"
                    self._raw += chunk
                    self._parser.Parse(chunk)
                    if self._unit is None and self._safe > self._offset:
                        self._cut(self._safe)
                    yield from self._taken()
                    if len(self._raw) > LARGEST:
                        raise ValueError(f"more than {LARGEST} bytes before the end of a unit")
                self._parser.Parse(b"", True)
                yield from self._taken()
                yield Piece(bytes(self._raw), len(self._raw), [], self.encoding)
        except expat.ExpatError as error:
            raise BadInput(f"not well-formed XML: {expat.ErrorString(error.code)}", name, error.lineno) from None
        except (ValueError, LookupError) as error:  # also for unknown encodings
            raise BadInput(str(error), name, self._parser.CurrentLineNumber) from None
        except OSError as error:
            raise BadInput(error.strerror or str(error), name) from None
        if not self.form:
            raise BadInput("neither TMX nor XLIFF", name)

    def _taken(self) -> Iterator[Piece]:
        yield from self._done
        self._done.clear()

    def _declare(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding and not self.encoding.startswith("utf-16"):
            self.encoding = encoding

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise ValueError(f"declares the entity {name}: only the entities of XML itself are read")

    def _skip_entity(self, name: str, _: bool) -> None:
        raise ValueError(f"the entity {name} is not declared")

    def _other(self, _: str) -> None:
        self._arrive(self._parser.CurrentByteIndex)

    def _arrive(self, place: int) -> None:
        """Note the place of an event, where the tag before it ends."""
        for part, name in self._due:
            setattr(part, name, place)
        self._due.clear()
        if self._unit is None:
            self._safe = place
        elif self._unit.after >= 0:
            unit, self._unit = self._unit, None
            self._cut(unit.after, unit)
            self._safe = place

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        place, depth = self._parser.CurrentByteIndex, len(self._stack)
        self._arrive(place)
        name = tag.rpartition(":")[2]
        above, translated = self._stack[-1] if self._stack else ("", True)
        if not self._stack:
            self._begin(name, attributes)
        if depth == DEEPEST:
            raise ValueError(f"more than {DEEPEST} nested elements")
        if not self._open and "translate" in attributes:
            translated = attributes["translate"] != "no"
        self._stack.append((name, translated))
        self._languages_of(name, attributes)
        if self._unit is None and name == UNITS[self.form]:
            self._unit = _Unit(place, self._parser.CurrentLineNumber, depth)
        elif self._unit and translated and (part := self._part(name, above, attributes, place)):
            self._unit.parts.append(part)
            self._open.append(part)
            self._due.append((part, "inside"))

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        """Recognize the format by the outermost element."""
        if name == "xliff":
            self.form = "xliff2" if attributes.get("version", "1").startswith("2") else "xliff1"
        elif name == "tmx":
            self.form = name
        else:
            raise ValueError(f"neither TMX nor XLIFF: the file begins with <{name:.40}>")

    def _languages_of(self, name: str, attributes: dict[str, str]) -> None:
        if self.form == "tmx":
            if name == "header":
                self.source_language = attributes.get("srclang", "")
            elif name == "tuv":
                language = attributes.get(LANG, attributes.get("lang", ""))
                self.languages.setdefault(language.lower(), language)
        elif name == ("file" if self.form == "xliff1" else "xliff"):
            names = ("source-language", "target-language") if self.form == "xliff1" else ("srcLang", "trgLang")
            self.pairs.setdefault((attributes.get(names[0], ""), attributes.get(names[1], "")), None)

    def _part(self, name: str, above: str, attributes: dict[str, str], place: int) -> _Part | None:
        """Return the part of a unit that an element is, if it is one."""
        around, depth = self._open[-1] if self._open else None, len(self._stack) - 1
        if self.form == "tmx":
            if (name, above) == ("tuv", "tu"):
                language = attributes.get(LANG, attributes.get("lang", ""))
                return _Part(name, language.lower(), place, depth)
            is_part = (name, above) == ("seg", "tuv") and around
            return _Part(name, around.key, place, depth, around) if around and is_part else None
        if above == UNITS[self.form] and name in ("source", "target", "seg-source"):
            return _Part(name, "", place, depth)
        is_segment = name == "mrk" and attributes.get("mtype") == "seg" and around
        return _Part(name, attributes.get("mid", ""), place, depth, around) if around and is_segment else None

    def _end(self, tag: str) -> None:
        place = self._parser.CurrentByteIndex
        self._arrive(place)
        self._stack.pop()
        depth = len(self._stack)
        if self._open and self._open[-1].depth == depth:
            part = self._open.pop()
            part.end = place
            self._due.append((part, "after"))
        elif self._unit and self._unit.depth == depth:
            self._due.append((self._unit, "after"))

    def _cut(self, place: int, unit: _Unit | None = None) -> None:
        """End a piece at a place of the file."""
        raw = bytes(self._raw[: place - self._offset])
        begin = unit.begin - self._offset if unit else len(raw)
        segments = list(self._segments(unit, raw)) if unit and self.wanted is not None else []
        del self._raw[: len(raw)]
        self._done.append(Piece(raw, begin, segments, self.encoding))
        self._offset = place

    def _segments(self, unit: _Unit, raw: bytes) -> Iterator[Segment]:
        """Yield the segments of a unit: one of a TMX file; of an XLIFF file, those of <seg-source>, if it has any."""
        if self.form == "tmx":
            segs = {part.key: part for part in reversed(unit.parts) if part.name == "seg"}  # of variants, the first
            source, target = (segs.get(each.lower()) for each in self.wanted or ())
            yield self._segment(unit, raw, source, target, source and source.around)
            return
        whole = {part.name: part for part in unit.parts if part.name != "mrk"}
        marked = [part for part in unit.parts if part.name == "mrk" and part.around]
        targets = {part.key: part for part in marked if part.around is whole.get("target")}
        sources = [part for part in marked if part.around is whole.get("seg-source")]
        for each in sources:
            yield self._segment(unit, raw, each, targets.get(each.key), None)
        if not sources and "source" in whole:
            before = whole.get("seg-source", whole["source"])
            yield self._segment(unit, raw, whole["source"], whole.get("target"), before)

    def _segment(
        self, unit: _Unit, raw: bytes, source: _Part | None, target: _Part | None, before: _Part | None
    ) -> Segment:
        """Return a segment. before: the element that a missing target follows, None if there is no place for one."""

        def decoded(begin: int, end: int) -> str:
            return raw[begin - self._offset : end - self._offset].decode(self.encoding)

        def content(part: _Part | None) -> str | None:
            return None if part is None else _CDATA.sub(_escaped, decoded(part.inside, part.end))

        if target is not None:
            tag = decoded(target.begin, target.inside)
            if tag.endswith("/>"):
                place, around = (target.begin, target.end), (f"{tag[:-2].rstrip()}>", f"</{_name(tag)}>")
            else:
                place, around = (target.inside, target.end), ("", "")
        elif source is not None and before is not None:
            indent = re.search(r"\s*\Z", decoded(self._offset, before.begin))
            space = indent[0] if indent else ""
            place, around = (before.after, before.after), self._missing(decoded(source.begin, source.inside), space)
        else:
            return Segment(content(source), None, unit.line)
        within = place[0] - self._offset, place[1] - self._offset
        return Segment(content(source), content(target), unit.line, within, around)

    def _missing(self, tag: str, space: str) -> tuple[str, str]:
        """Return the tags of a target that is missing. tag: of the source; space: before the source."""
        prefix = _name(tag).rpartition(":")
        name = f"{prefix[0]}{prefix[1]}"
        if self.form == "tmx":
            language = self.wanted[1] if self.wanted else ""
            return f'{space}<{name}tuv {LANG}="{language}"><{name}seg>', f"</{name}seg></{name}tuv>"
        return f"{space}<{name}target>", f"</{name}target>"


def _escaped(found: re.Match[str]) -> str:
    """Return a CDATA section as escaped text, and a comment as it is."""
    return found[1] or html.escape(found[2] or "", quote=False)


def _name(tag: str) -> str:
    """Return the name in a start tag."""
    found = re.match(r"<([^\s/>]+)", tag)
    return found[1] if found else ""
