"""Links between the words of two sentences, as text: Pharaoh lines, JSON lines and GIZA++'s A3 files.

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
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import orjson

from synmt.streams import Line

Link = tuple[int, int]  # source word, target word
HEADER = "# Sentence pair"
ROUNDING = 1e-3  # a mean of probabilities may exceed 1 by this much
_WORD = re.compile(r"\(\{((?: \d+)*) \}\)", re.ASCII)
_SCORE = re.compile(r":[01](?:\.\d{1,9})?(?=\s|$)", re.ASCII)
_CONFIDENCE = re.compile(r"\t[01]\.\d{6}$", re.ASCII)
_COLUMN = re.compile(r"\t(?![01]\.\d{6}(?:\t|$))", re.ASCII)  # a tab that no confidence follows
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
    """

    forward: Set[Link]
    backward: Set[Link]


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


def read_scores(text: str) -> tuple[dict[str, Any], dict[Link, float]]:
    """Return the fields of one line in JSON, none for other lines; and the sorted links with their scores.

    A link without a score gets 1. Raises LinkError as `read_links` does.
    """
    if text.startswith("{"):
        fields, links = read_json(text)
    else:
        fields, links = {}, {link: score for link, _, score in _read(text, 0)}
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
        fields = orjson.loads(text.strip() or "{}")
    except orjson.JSONDecodeError as error:
        raise LinkError(f"not JSON: {error}") from None
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


def check_inside(links: Set[Link], source_words: int, target_words: int) -> None:
    """Raise LinkError for a link to a word that its sentence does not have."""
    for source, target in links:
        if source >= source_words or target >= target_words:
            raise LinkError(f"link {source}-{target} for {source_words} source and {target_words} target words")


def read_a3(lines: Iterable[Line]) -> Iterator[tuple[Line, frozenset[Link], tuple[int, int]]]:
    """Yield the first line of each pair, its links as (word of the third line, word of the second), counted from 0, and
    the number of words in these two lines. Raises BadInput."""
    iterator = iter(lines)
    for number, header in enumerate(iterator, 1):
        if not header.text.startswith(f"{HEADER} ({number})"):
            raise header.error(f"expected the line '{HEADER} ({number}) …' of an A3 file")
        words, aligned = next(iterator, None), next(iterator, None)
        if words is None or aligned is None:
            raise header.error("the A3 file ends inside a sentence pair")
        cells = _WORD.findall(aligned.text)
        if not cells or not aligned.text.startswith("NULL "):
            raise aligned.error("expected words, NULL first, with ({ numbers }) after each")
        # Ten digits are enough to know that a number is too large.
        links = frozenset((place, int(n[:10]) - 1) for place, cell in enumerate(cells[1:]) for n in cell.split())
        lengths = len(cells) - 1, len(words.text.split())
        if any(not 0 <= target < lengths[1] for _, target in links):
            raise aligned.error("a word number is too high for the line above")
        yield header, links, lengths
