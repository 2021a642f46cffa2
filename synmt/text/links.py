"""Links between the words of two sentences, as text: Pharaoh and JSON lines, GIZA++'s A3 files, and numbered links.

Pharaoh's `i-j` joins source word i and target word j; `ipj` marks a possible but not sure link, as in hand alignments
(Och & Ney 2003), and `i-j:0.93` adds a score. A tab and the confidence of the pair may follow. In memory, words count
from 0; `base` is the number of the first word in the text.

A JSON line of `synmt align` has `links`, a list of `[i, j, score]`, and usually `source` and `target`, lists of words.
Its words count from 0. `{}` is a pair with an empty side.

An A3 file has three lines per sentence pair:

    # Sentence pair (7) source length 2 target length 3 alignment score : 1.2e-05
    das kleine Haus
    NULL ({ }) the ({ 1 }) house ({ 2 3 })

The words of its third line, after NULL, are on the source side of the model; the numbers are positions in the second.

Numbered links are those of Mihalcea & Pedersen (2003), "An Evaluation Exercise for Word Alignment", at the workshop on
parallel texts of NAACL. Each line has one link: the number of its sentence pair, of the source word and of the target
word, all from 1, where word 0 stands for none; `S` or `P`, if need be; and a score, if need be:

    0001 1 1 S
    0001 2 3 P 0.5

`open_links` reads a file in any of these formats as one line per pair.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, ClassVar

import msgspec

from synmt.streams import Line, Notes, counted, sniff
from synmt.streams.decoding import decoded

Link = tuple[int, int]  # source word, target word
HEADER = "# Sentence pair"
MOST_AHEAD = 10_000  # lines without a word 0 that show that words count from 1
ROUNDING = 1e-3  # a mean of probabilities may exceed 1 by this much
_WORD = re.compile(r"\(\{((?: \d+)*) \}\)", re.ASCII)
_SCORE = re.compile(r":[01](?:\.\d{1,9})?(?=\s|$)", re.ASCII)
_CONFIDENCE = re.compile(r"\t[01]\.\d{6}$", re.ASCII)
_COLUMN = re.compile(r"\t(?![01]\.\d{6}(?:\t|$))", re.ASCII)  # a tab that no confidence follows
_NUMBERED = re.compile(r"\s*(\d{1,6})\s+(\d{1,9})\s+(\d{1,9})(?:\s+([SP]))?(?:\s+(\d*\.?\d+))?\s*", re.ASCII)
_LINK = re.compile(rf"(\d{{1,9}})([-p])(\d{{1,9}})({_SCORE.pattern})?", re.ASCII)


class LinkError(ValueError):
    """Malformed links, or a link to a word that does not exist."""


@dataclass(frozen=True, slots=True)
class Links:
    """Links of one pair. sure: S; possible: P, which includes S. All links of an aligner are sure."""

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()


@dataclass(frozen=True, slots=True)
class DirectedLinks:
    """The links of both directions.

    forward: from each target word to the source words that generate it; backward: from each source word.
    scores: of the links of either direction; by default, the share of directions that contain a link.
    """

    forward: Set[Link]
    backward: Set[Link]
    scores: Mapping[Link, float] | None = None


def read_links(text: str, base: int = 0) -> Links:
    """Return the links of one line; in JSON, all are sure.

    Raises LinkError for a malformed link or a word number below `base`, and for JSON if `base` is not 0.
    """
    if not text.startswith("{"):
        kinds = _read(text, base)
        return Links(frozenset(link for link, kind, _ in kinds if kind == "-"), frozenset(link for link, _, _ in kinds))
    if base:
        raise LinkError(f"links in JSON count words from 0, not from {base}")
    links = frozenset(read_json(text)[1])
    return Links(links, links)


def read_links_between(source: Sequence[str], target: Sequence[str], text: str, base: int = 0) -> Links:
    """Return the links of one line. Raises LinkError as `read_links` does, and for links between other words."""
    links = read_links(text, base)
    if text.startswith("{"):
        check_words(read_json(text)[0], source, target)
    check_inside(links.possible, len(source), len(target))
    return links


def read_scores(text: str, base: int = 0) -> tuple[dict[str, Any], dict[Link, float]]:
    """Return the fields of one line in JSON, none for other lines; and the sorted links with their scores.

    A link without a score gets 1. Raises LinkError as `read_links` does.
    """
    if text.startswith("{"):
        fields, links = read_json(text)
    else:
        fields, links = {}, {link: score for link, _, score in _read(text, base)}
    return fields, dict(sorted(links.items()))


def split_columns(text: str) -> list[str]:
    """Return the columns of a line `source TAB target TAB links`, which more sources and links may follow; a confidence
    belongs to the links before it."""
    columns = text.split("\t", 2)
    return [*columns[:2], *(column for rest in columns[2:] for column in _COLUMN.split(rest))]


def _read(text: str, base: int) -> list[tuple[Link, str, float]]:
    """Return each link, whether it is sure (`-`) or possible (`p`), and its score."""
    read = []
    for item in _CONFIDENCE.sub("", text).split():
        found = _LINK.fullmatch(item)
        if not found:
            raise LinkError(f"{item!r:.40} is not a link such as 3-4 or 3p4")
        link = (int(found[1]) - base, int(found[3]) - base)
        if min(link) < 0:
            raise LinkError(f"link {item} is invalid: words count from {base}")
        read.append((link, found[2], _score(float(found[4][1:])) if found[4] else 1.0))
    return read


def read_json(text: str, scored: bool = False, needed: bool = True) -> tuple[dict[str, Any], dict[Link, float]]:
    """Return the fields of a line in JSON, none if it is empty, and its links with their scores, at most 1.

    scored: whether each link must have a score; otherwise, a link without one gets 1.
    needed: whether any object but `{}` must have links. Raises LinkError.
    """
    try:
        fields = decoded(text.strip() or "{}")
    except ValueError as error:
        raise LinkError(str(error)) from None
    found = fields.get("links", None if fields and needed else []) if isinstance(fields, dict) else None
    if not isinstance(found, list):
        raise LinkError('needs "links": [[source word, target word, score], …]')
    links = {}
    for each in found:
        match each:
            case [i, j, *score] if type(i) is type(j) is int and min(i, j) >= 0 and scored <= len(score) <= 1:
                links[i, j] = _score(*score)
            case _:
                raise LinkError(f"{each!r:.40} is not a link such as [3, 4, 0.9]")
    return fields, links


def _score(value: Any = 1.0) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1 + ROUNDING:
        raise LinkError("a score must be between 0 and 1")
    return min(1.0, value)


def detect_base(lines: Iterable[str]) -> int:
    """Return the number of the first word in a file: 0 if any link names word 0, for JSON and without links, else 1."""
    empty = True
    for line in lines:
        if line.startswith("{"):
            return 0
        words = re.findall("[0-9]+", _SCORE.sub("", _CONFIDENCE.sub("", line)))
        if any(not word.strip("0") for word in words):
            return 0
        empty = empty and not words
    return 0 if empty else 1


def write_links(links: Iterable[Link], base: int = 0) -> str:
    """Return the links as `i-j`, sorted."""
    return " ".join(f"{source + base}-{target + base}" for source, target in sorted(links))


def write_scores(links: Mapping[Link, float], base: int = 0) -> str:
    """Return each link as `i-j:0.93`, in order."""
    return " ".join(f"{source + base}-{target + base}:{links[source, target]:.2f}" for source, target in sorted(links))


def check_words(fields: Mapping[str, Any], source: Sequence[str], target: Sequence[str]) -> None:
    """Raise LinkError if a line in JSON has other words than these; upper and lower case do not matter, since many
    aligners get their words in lower case."""
    for side, ours in (("source", source), ("target", target)):
        theirs = fields.get(side, ours)
        if not isinstance(theirs, list | tuple) or len(theirs) != len(ours):
            count = counted(len(theirs), "word") if isinstance(theirs, list | tuple) else "no list of words"
            raise LinkError(f"links of another {side}, with {count} instead of {len(ours)}")
        for one, other in zip(theirs, ours, strict=True):
            if one != other and str(one).casefold() != other.casefold():
                raise LinkError(f"links of another {side}, with {one!r:.40} instead of {other!r:.40}")


def check_inside(links: Set[Link], source_words: int, target_words: int) -> None:
    """Raise LinkError for a link to a word that its sentence does not have."""
    for source, target in links:
        if source >= source_words or target >= target_words:
            raise LinkError(f"link {source}-{target} for {source_words} source and {target_words} target words")


@dataclass
class LinkLines:
    """The links of pair after pair: an iterator over lines for `read_links` or `read_scores`, each at its place.

    base: the number of the first word in these lines. rest: the line of any pair after the last one, if the format has
    no lines for pairs without links.
    """

    lines: Iterator[Line]
    base: int = 0
    rest: Line | None = None

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        return next(self.lines)

    def warning(self, name: str) -> str:
        """Return a warning about a file of this name if the base is a guess; "" for word 0 or numbered links."""
        return f"{name} has no link to a word 0, so its words count from 1" if self.base and not self.rest else ""


def open_links(lines: Iterable[Line], base: int | None = None, reverse: bool = False) -> LinkLines:
    """Return the links of a file, one line per pair, in constant memory except for numbered links.

    base: the number of the first word; None to detect it. reverse: whether the third lines of an A3 file have the words
    of the target. Raises BadInput.
    """
    first, rest = sniff(lines)
    if first.startswith(HEADER):
        return LinkLines(_lines_of_a3(rest, reverse))
    if _NUMBERED.fullmatch(first):
        return _numbered(rest, 1 if base is None else base)
    if base is None:
        base, rest = _detected(rest)
    return LinkLines(rest, base)


class BaseDoubt:
    """Counts the pairs with links in a stream, which must count words from 0, and those that link a word 0."""

    MANY: ClassVar[int] = 20  # pairs with links; among this many, some pair links a first word

    def __init__(self) -> None:
        self._pairs = self._from_0 = 0

    def see(self, links: Collection[Link]) -> None:
        self._pairs += bool(links)
        self._from_0 += any(0 in link for link in links)

    def say(self, notes: Notes) -> None:
        """Add a note if all pairs seem to count from 1."""
        if self._pairs >= self.MANY and not self._from_0:
            notes.add("no link names a word 0: do the words count from 1? Here they count from 0")


def _detected(lines: Iterator[Line]) -> tuple[int, Iterator[Line]]:
    """Return the number of the first word, detected in as many of the lines as needed, and all lines."""
    ahead: list[Line] = []

    def texts() -> Iterator[str]:
        for line in islice(lines, MOST_AHEAD):
            ahead.append(line)
            yield line.text

    return detect_base(texts()), chain(ahead, lines)


def _numbered(lines: Iterable[Line], base: int) -> LinkLines:
    """Return numbered links as Pharaoh lines. Raises BadInput."""
    found: dict[int, list[str]] = {}
    places: dict[int, Line] = {}
    source = ""
    for line in lines:
        source = line.source
        if not line.text.strip():
            continue
        link = _NUMBERED.fullmatch(line.text)
        if not link or not int(link[1]):
            raise line.error("expected the numbers of a sentence and two words, all from 1, then S or P, then a score")
        number, i, j = int(link[1]), int(link[2]), int(link[3])
        items = found.setdefault(number, [])
        places.setdefault(number, line)
        if i >= base and j >= base:  # a word 0 is none
            with line.naming():
                score = "" if link[5] is None else f":{_score(float(link[5])):.9f}"
            items.append(f"{i}{'p' if link[4] == 'P' else '-'}{j}{score}")
    rest = Line("", source, 0)
    texts = {n: replace(line, text=" ".join(found[n])) for n, line in places.items()}
    return LinkLines((texts.get(n, rest) for n in range(1, max(found, default=0) + 1)), base, rest)


def _lines_of_a3(lines: Iterable[Line], reverse: bool) -> Iterator[Line]:
    """Yield the pairs of an A3 file as lines in JSON."""
    for line, links, (third, second) in read_a3(lines):
        source, target = (second, third) if reverse else (third, second)
        ordered = sorted((j, i) if reverse else (i, j) for i, j in links)
        yield replace(line, text=msgspec.json.encode({"source": source, "target": target, "links": ordered}).decode())


def read_a3(lines: Iterable[Line]) -> Iterator[tuple[Line, frozenset[Link], tuple[list[str], list[str]]]]:
    """Yield the first line of each pair, its links as (word of the third line, word of the second), counted from 0, and
    the words of these two lines. Raises BadInput."""
    iterator = iter(lines)
    for number, header in enumerate(iterator, 1):
        if not header.text.startswith(f"{HEADER} ({number})"):
            raise header.error(f"expected the line '{HEADER} ({number}) …' of an A3 file")
        below, aligned = next(iterator, None), next(iterator, None)
        if below is None or aligned is None:
            raise header.error("the A3 file ends inside a sentence pair")
        parts = _WORD.split(aligned.text)  # word, numbers, word, numbers, …, ""
        words, cells = list(map(str.strip, parts[:-1:2])), parts[1::2]
        if not cells or words[0] != "NULL":
            raise aligned.error("expected words, NULL first, with ({ numbers }) after each")
        # Ten digits are enough to know that a number is too large.
        links = frozenset((place, int(n[:10]) - 1) for place, cell in enumerate(cells[1:]) for n in cell.split())
        second = below.text.split()
        if any(not 0 <= target < len(second) for _, target in links):
            raise aligned.error("a word number is too high for the line above")
        yield header, links, (words[1:], second)
