"""Phenomena whose words stand far from their heads, for challenge sets.

Choshen & Abend (2019), "Automatically Extracting Challenge Sets for Non-local Phenomena in Neural Machine
Translation", CoNLL. A sentence belongs to a set if one of its words shows the phenomenon and is more than a given
number of positions away from its head. As in the published sets, the distance of a root is its own position.
"""

from collections.abc import Callable
from dataclasses import dataclass

from synmt.trees.record import ParseRecord, RecordError


@dataclass(frozen=True, slots=True)
class Phenomenon:
    """holds: whether a word, counted from 0, of a sentence with all of its `columns` shows it."""

    title: str
    columns: tuple[str, ...]
    holds: Callable[[ParseRecord, int], bool]


def _is_particle(record: ParseRecord, word: int) -> bool:
    return "prt" in record.deprels[word].lower()


def _is_reflexive(record: ParseRecord, word: int) -> bool:
    return "Reflex=Yes" in record.feats[word].split("|")


def _is_stranded(record: ParseRecord, word: int) -> bool:
    return record.upos[word] == "ADP" and "obl" in record.deprels[word].lower()


PHENOMENA = {
    "particle": Phenomenon("Verb particles: 'put the coals out'", ("deprels",), _is_particle),
    "reflexive": Phenomenon("Reflexive pronouns: 'sich oft irren'", ("feats",), _is_reflexive),
    "preposition-stranding": Phenomenon("Stranded prepositions: 'asked for'", ("upos", "deprels"), _is_stranded),
}


def occurrences(record: ParseRecord, phenomenon: Phenomenon, min_distance: int) -> list[tuple[int, int]]:
    """Return the words that show the phenomenon more than `min_distance` positions from their heads.

    Each as (word, head), counted from 1; the head of a root is 0. Raises RecordError for a sentence without heads
    or without what tells the phenomenon; one without features merely has no such words.
    """
    missing = [name for name in ("heads", *phenomenon.columns) if name != "feats" and not getattr(record, name)]
    if record.tokens and missing:
        raise RecordError(f"record has no {missing[0]}")
    if "feats" in phenomenon.columns and not record.feats:
        return []
    places = [place for length in record.sentences or [len(record.tokens)] for place in range(1, length + 1)]
    return [
        (word, head)
        for word, (head, place) in enumerate(zip(record.heads, places, strict=False), 1)
        if (abs(word - head) if head else place) > min_distance and phenomenon.holds(record, word - 1)
    ]


def marked(record: ParseRecord, found: list[tuple[int, int]]) -> str:
    """Return the tokens, with stars around the words that were found and their heads."""
    chosen = {number for pair in found for number in pair}
    return " ".join(f"*{token}*" if word in chosen else token for word, token in enumerate(record.tokens, 1))
