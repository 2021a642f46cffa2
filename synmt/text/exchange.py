"""Reads the segments of TMX 1.4, XLIFF 1.2 and XLIFF 2 files, and writes the files with other targets.

- `_Reader` cuts the bytes of a file into pieces, each up to the end of a translation unit, and notes where the elements
  of the unit are: Python's XML parser reports the place of each tag in bytes. So all bytes but those of new targets
  stay as they are.
- `ExchangeFile.open` parses a file once, and chooses its languages. Only the end of a file shows that it is well-formed
  and which languages it has; until then its units wait in a temporary file. Memory is bounded by the largest unit.
- `ExchangeFile.pieces` finds the source and the target of each segment among the elements of a unit.

A file may come from a stranger: entities must not be declared, external ones are not read, and the size of a unit and
the depth of elements are bounded.
"""

import html
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import finalize
from xml.parsers import expat

import msgspec

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


class _Element(msgspec.Struct, array_like=True):
    """An element of a unit, by places in the bytes of the file.

    key: its language or number; around: the index of the element around it in the unit, -1 if there is none; begin,
    after: where its start tag begins and its end tag ends; inside, end: where its content begins and ends.
    """

    name: str
    key: str
    around: int
    begin: int
    inside: int = -1
    end: int = -1
    after: int = -1


class _Unit(msgspec.Struct, array_like=True):
    """A translation unit with the bytes before it. start: where the bytes begin in the file; begin, after: where the
    unit begins and ends; line: the number of its first line, 0 for bytes after the last unit."""

    start: int
    begin: int
    line: int
    elements: list[_Element] = []
    after: int = -1
    raw: bytes = b""

    def text(self, begin: int, end: int, encoding: str) -> str:
        """Return the text between two places in the file."""
        return self.raw[begin - self.start : end - self.start].decode(encoding)


class _Spool:
    """Units in a temporary file, which can be read several times."""

    def __init__(self) -> None:
        from tempfile import TemporaryFile  # slow to load

        self._file = TemporaryFile()  # noqa: SIM115 (closed below)
        finalize(self, self._file.close)

    def add(self, unit: _Unit) -> None:
        packed = msgspec.msgpack.encode(unit)
        self._file.write(len(packed).to_bytes(8, "big") + packed)

    def __iter__(self) -> Iterator[_Unit]:
        place = 0
        while self._file.seek(place) == place and (size := self._file.read(8)):
            yield msgspec.msgpack.decode(self._file.read(int.from_bytes(size, "big")), type=_Unit)
            place += 8 + int.from_bytes(size, "big")


@dataclass(frozen=True)
class ExchangeFile:
    """A file that has been parsed. form: a key of UNITS; languages: of its sources and targets, "" if unknown."""

    path: str
    form: str
    languages: tuple[str, str]
    encoding: str
    units: _Spool

    @classmethod
    def open(
        cls, path: str, source: str | None = None, target: str | None = None, needs_target: bool = True
    ) -> "ExchangeFile":
        """Parse a file, and choose the languages: those given, or the only pair in the file. Raises BadInput."""
        if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
            raise BadInput("TMX and XLIFF cannot be read from a pipe: give a file", readable(path))
        reader, units = _Reader(path), _Spool()
        for unit in reader.units():
            units.add(unit)
        try:
            if reader.form == "tmx":
                chosen = _of_tmx(reader, source, target, needs_target)
            else:
                chosen = _of_xliff(reader, source, target)
        except ValueError as error:
            raise BadInput(str(error), readable(path)) from None
        return cls(path, reader.form, chosen, reader.encoding, units)

    @property
    def primary(self) -> tuple[str, str]:
        """The languages without regions: en for en-US."""
        return primary(self.languages[0]), primary(self.languages[1])

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces; their bytes make up the file."""
        for unit in self.units:
            segments = list(self._segments(unit)) if unit.line else []
            yield Piece(unit.raw, unit.begin - unit.start, segments, self.encoding)

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

    def _segments(self, unit: _Unit) -> Iterator[Segment]:
        """Yield the segments of a unit: one of a TMX file; of an XLIFF file, those of <seg-source>, if it has any."""
        elements = unit.elements
        if self.form == "tmx":
            segs: dict[str, _Element] = {}  # of variants, the first
            for each in elements:
                if each.name == "seg":
                    segs.setdefault(each.key, each)
            source, target = (_in(segs, each) for each in self.languages)
            yield self._segment(unit, source, target, elements[source.around] if source else None)
            return
        whole = {each.name: each for each in elements if each.name != "mrk"}
        marked = [each for each in elements if each.name == "mrk"]
        targets = {each.key: each for each in marked if elements[each.around] is whole.get("target")}
        sources = [each for each in marked if elements[each.around] is whole.get("seg-source")]
        for each in sources:
            yield self._segment(unit, each, targets.get(each.key), None)
        if not sources and "source" in whole:
            before = whole.get("seg-source", whole["source"])
            yield self._segment(unit, whole["source"], whole.get("target"), before)

    def _segment(
        self, unit: _Unit, source: _Element | None, target: _Element | None, before: _Element | None
    ) -> Segment:
        """Return a segment. before: the element that a missing target follows, None if there is no place for one."""

        def content(element: _Element | None) -> str | None:
            if element is None:
                return None
            return _CDATA.sub(_escaped, unit.text(element.inside, element.end, self.encoding))

        if target is not None:
            tag = unit.text(target.begin, target.inside, self.encoding)
            if tag.endswith("/>"):
                place, around = (target.begin, target.end), (f"{tag[:-2].rstrip()}>", f"</{_name(tag)}>")
            else:
                place, around = (target.inside, target.end), ("", "")
        elif source is not None and before is not None:
            indent = re.search(r"\s*\Z", unit.text(unit.start, before.begin, self.encoding))
            tag, space = unit.text(source.begin, source.inside, self.encoding), indent[0] if indent else ""
            place, around = (before.after, before.after), self._missing(tag, space)
        else:
            return Segment(content(source), None, unit.line)
        within = place[0] - unit.start, place[1] - unit.start
        return Segment(content(source), content(target), unit.line, within, around)

    def _missing(self, tag: str, space: str) -> tuple[str, str]:
        """Return the tags of a target that is missing. tag: of the source; space: before the source."""
        prefix = _name(tag).rpartition(":")
        name = f"{prefix[0]}{prefix[1]}"
        if self.form == "tmx":
            return f'{space}<{name}tuv {LANG}="{self.languages[1]}"><{name}seg>', f"</{name}seg></{name}tuv>"
        return f"{space}<{name}target>", f"</{name}target>"


def open_exchange(
    files: Sequence[str], source: str | None = None, target: str | None = None, needs_target: bool = True
) -> list[ExchangeFile]:
    """Parse files, and choose the same languages in all. Raises BadInput, also for a file of lines among them."""
    for each in files:
        if not each.endswith(EXCHANGE):
            raise BadInput(f"does not end in .tmx, .xlf or .xliff, unlike {readable(files[0])}", readable(each))
    opened = [ExchangeFile.open(each, source, target, needs_target) for each in files]
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


def columns_of_units(files: Sequence[ExchangeFile], bad: BadLines, waiting: deque[Kept]) -> Iterator[tuple[Line, Line]]:
    """Yield the text of the source and the target of each unit of a TMX file, and append its bytes to those that wait.
    Raises BadInput, also for several files, and for XLIFF, whose units stand for places in a document."""
    first, *others = files
    if others or first.form != "tmx":
        raise BadInput("only lines and a single TMX file can be filtered, not XLIFF", readable(files[-1].path))
    for piece in first.pieces():
        waiting.append(Kept(piece.raw, piece.without_unit(), bool(piece.segments)))
        for segment in piece.segments:
            yield first.lines(segment, bad)


def unfit_for_xml(text: str) -> str:
    """Return a character that XML does not allow, such as U+0008, or "" if all are allowed."""
    found = _NOT_XML.search(text)
    return f"U+{ord(found[0]):04X}" if found else ""


def _of_tmx(reader: "_Reader", source: str | None, target: str | None, needs_target: bool) -> tuple[str, str]:
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
    others = [each for each in found if each != one and not agree(each.lower(), one.lower())]
    if not needs_target:
        return one, ""
    if target is None and len(others) != 1:
        raise ValueError(Message("has {} besides {}: choose one with --target-language", listed(others), one))
    other = _named(found, target if target is not None else others[0])
    if one == other:
        raise ValueError(Message("--source-language and --target-language are both {}", one))
    return one, other


def _in(segs: Mapping[str, _Element], language: str) -> _Element | None:
    """Return the variant in a language, or the first one in a language that differs only by having a region or not."""
    asked = language.lower()
    return segs.get(asked) or next((each for key, each in segs.items() if agree(key, asked)), None)


def agree(one: str, other: str) -> bool:
    """Return whether one of two languages in lower case is the other one without its region, as de and de-at."""
    one, other = one.replace("_", "-"), other.replace("_", "-")
    return one.startswith(f"{other}-") or other.startswith(f"{one}-")


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


def _of_xliff(reader: "_Reader", source: str | None, target: str | None) -> tuple[str, str]:
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


class _Reader:
    """Reads the units of a file, and the languages in it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.form = self.source_language = ""
        self.languages: dict[str, str] = {}  # of TMX, by their names in lower case
        self.pairs: dict[tuple[str, str], None] = {}  # of XLIFF
        self.encoding = "utf-8"
        self._stack: list[tuple[str, bool]] = []  # names of open elements, and whether they are translated
        self._unit: _Unit | None = None
        self._open: list[tuple[int, int]] = []  # open elements of the unit, by their index and their depth
        self._depth = 0  # of the unit
        self._due: list[tuple[_Element | _Unit, str]] = []  # places that the next event has
        self._raw, self._offset, self._safe = bytearray(), 0, 0  # bytes that are in no unit yet, and where they begin
        self._done: list[_Unit] = []
        self._parser = expat.ParserCreate()
        self._parser.XmlDeclHandler = self._declare
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.DefaultHandlerExpand = self._other
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._skip_entity

    def units(self) -> Iterator[_Unit]:
        """Yield the units; their bytes make up the file. Raises BadInput."""
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
                self._cut(self._offset + len(self._raw))
                yield from self._taken()
        except expat.ExpatError as error:
            raise BadInput(f"not well-formed XML: {expat.ErrorString(error.code)}", name, error.lineno) from None
        except (ValueError, LookupError) as error:  # also for unknown encodings
            raise BadInput(str(error), name, self._parser.CurrentLineNumber) from None
        except OSError as error:
            raise BadInput(error.strerror or str(error), name) from None
        if not self.form:
            raise BadInput("neither TMX nor XLIFF", name)

    def _taken(self) -> Iterator[_Unit]:
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
        for due, name in self._due:
            setattr(due, name, place)
        self._due.clear()
        if self._unit is None:
            self._safe = place
        elif self._unit.after >= 0:
            self._cut(self._unit.after)
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
            self._unit, self._depth = _Unit(self._offset, place, self._parser.CurrentLineNumber), depth
        elif self._unit and translated and (element := self._element(self._unit, name, above, attributes, place)):
            self._open.append((len(self._unit.elements), depth))
            self._unit.elements.append(element)
            self._due.append((element, "inside"))

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

    def _element(self, unit: _Unit, name: str, above: str, attributes: dict[str, str], place: int) -> _Element | None:
        """Return an element that belongs to a unit, None for other elements. above: the name of the one around it."""
        around = self._open[-1][0] if self._open else -1
        if self.form == "tmx":
            if (name, above) == ("tuv", "tu"):
                return _Element(name, attributes.get(LANG, attributes.get("lang", "")).lower(), -1, place)
            if (name, above) == ("seg", "tuv") and self._open:
                return _Element(name, unit.elements[around].key, around, place)
        elif above == UNITS[self.form] and name in ("source", "target", "seg-source"):
            return _Element(name, "", -1, place)
        elif name == "mrk" and attributes.get("mtype") == "seg" and self._open:
            return _Element(name, attributes.get("mid", ""), around, place)
        return None

    def _end(self, tag: str) -> None:
        place = self._parser.CurrentByteIndex
        self._arrive(place)
        self._stack.pop()
        depth = len(self._stack)
        if self._unit and self._open and self._open[-1][1] == depth:
            element = self._unit.elements[self._open.pop()[0]]
            element.end = place
            self._due.append((element, "after"))
        elif self._unit and self._depth == depth:
            self._due.append((self._unit, "after"))

    def _cut(self, place: int) -> None:
        """End the unit, or bytes without one, at a place of the file."""
        unit = self._unit or _Unit(self._offset, place, 0)
        unit.raw = bytes(self._raw[: place - self._offset])
        del self._raw[: len(unit.raw)]
        self._done.append(unit)
        self._unit, self._offset = None, place


def _escaped(found: re.Match[str]) -> str:
    """Return a CDATA section as escaped text, and a comment as it is."""
    return found[1] or html.escape(found[2] or "", quote=False)


def _name(tag: str) -> str:
    """Return the name in a start tag."""
    found = re.match(r"<([^\s/>]+)", tag)
    return found[1] if found else ""
