"""Links between the words of two sentences, as text.

Pharaoh's `i-j` joins source word i and target word j; `ipj` marks a link that is possible but not sure, as in hand
alignments (Och & Ney 2003), and `i-j:0.93` adds a score. In memory, words are counted from 0; `base` says from what
they are in the text.
"""

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

Link = tuple[int, int]  # source word, target word
_SCORE = re.compile(r":[01](?:\.\d{1,9})?(?=\s|$)", re.ASCII)
_LINK = re.compile(rf"(\d{{1,9}})([-p])(\d{{1,9}})({_SCORE.pattern})?", re.ASCII)


class LinkError(ValueError):
    """Text that is no list of links, or a link to a word that is not there."""


@dataclass(frozen=True, slots=True)
class Links:
    """sure: S; possible: P, all links, the sure ones among them. What an aligner has found is all sure."""

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()


@dataclass(frozen=True, slots=True)
class DirectedLinks:
    """The links of each direction: for a target word its source words, and for a source word its target words."""

    forward: Set[Link]
    backward: Set[Link]


def read_links(text: str, base: int = 0) -> Links:
    """Return the links of one line. Raises LinkError for what is no link, and for words before the first."""
    kinds = _read(text, base)
    return Links(frozenset(link for link, kind, _ in kinds if kind == "-"), frozenset(link for link, _, _ in kinds))


def read_scores(text: str) -> dict[Link, float]:
    """Return the links of one line and their scores, 1 of links without one. Raises LinkError as `read_links` does."""
    return {link: score for link, _, score in _read(text, 0)}


def _read(text: str, base: int) -> list[tuple[Link, str, float]]:
    """Return each link, whether it is sure (`-`) or possible (`p`), and its score."""
    read = []
    for item in text.split():
        found = _LINK.fullmatch(item)
        if not found:
            raise LinkError(f"{item!r:.40} is not a link such as 3-4 or 3p4")
        link = (int(found[1]) - base, int(found[3]) - base)
        if min(link) < 0:
            raise LinkError(f"link {item} where words count from {base}")
        read.append((link, found[2], float(found[4][1:]) if found[4] else 1.0))
    return read


def check_numbers(links: Iterable[Link]) -> None:
    """Raise LinkError for links that were read from JSON, and are none."""
    if any(type(word) is not int or word < 0 for link in links for word in link):
        raise LinkError("links join the numbers of words, counted from 0")


def detect_base(lines: Iterable[str]) -> int:
    """Return from what a file counts words: 0 if any link names a word 0, or if there are no links; else 1."""
    empty = True
    for line in lines:
        words = re.findall("[0-9]+", _SCORE.sub("", line))
        if any(not word.strip("0") for word in words):
            return 0
        empty = empty and not words
    return 0 if empty else 1


def write_links(links: Iterable[Link], base: int = 0) -> str:
    """Return `i-j` for each, in order."""
    return " ".join(f"{source + base}-{target + base}" for source, target in sorted(links))


def write_scores(links: Mapping[Link, float], base: int = 0) -> str:
    """Return `i-j:0.93` for each, in order."""
    return " ".join(f"{source + base}-{target + base}:{links[source, target]:.2f}" for source, target in sorted(links))


def check_inside(links: Set[Link], source_words: int, target_words: int) -> None:
    """Raise LinkError for a link that leaves its sentences."""
    for source, target in links:
        if source >= source_words or target >= target_words:
            raise LinkError(f"link {source}-{target} for {source_words} source and {target_words} target words")
