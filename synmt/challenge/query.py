"""Queries: words by what their columns say, by how far and on which side their heads stand, and by their links.

The phenomena of the published sets are such queries (`phenomena.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Literal

from synmt.options import Known, config_of, known_in, setting
from synmt.trees.record import ParseRecord, RecordError

COLUMNS = {"relation": "deprels", "upos": "upos", "feature": "feats", "lemma": "lemmas", "word": "tokens"}
Direction = Literal["before", "after"]


@dataclass(frozen=True)
class WordQuery:
    """What a word must be: patterns, in which * is any text and ? any letter; case does not count."""

    relation: str | None = setting(None, "its relation to its head", metavar="PATTERN")
    upos: str | None = setting(None, "its part of speech", metavar="PATTERN")
    feature: tuple[str, ...] = setting(
        (), "a feature that it has, such as Case=Acc; once more for another one", metavar="PATTERN"
    )
    lemma: str | None = setting(None, "its lemma", metavar="PATTERN")
    word: str | None = setting(None, "the word itself", metavar="PATTERN")

    @property
    def patterns(self) -> list[tuple[str, str]]:
        """Return the columns of a record that are looked at, each with a pattern."""
        asked = ((COLUMNS[each.name], getattr(self, each.name)) for each in fields(self))
        return [
            (column, pattern.lower())
            for column, patterns in asked
            for pattern in ([patterns] if isinstance(patterns, str) else patterns or ())
        ]

    def holds(self, record: ParseRecord, word: int) -> bool:
        """Return whether a word, counted from 1, of a sentence with these columns is such a one."""
        return word > 0 and all(
            any(fnmatchcase(value.lower(), pattern) for value in _values(record, column, word))
            for column, pattern in self.patterns
        )


def _values(record: ParseRecord, column: str, word: int) -> list[str]:
    """Return what a column says of a word: features one by one; none where no word of the sentence has any."""
    values: list[str] = getattr(record, column)
    if column == "feats":
        return values[word - 1].split("|") if values else []
    return [values[word - 1]]


@dataclass(frozen=True)
class Query:
    """min_distance: a word is more than as many positions from its head, a root from the place before the sentence;
    direction: where it stands from its head; linked: what a word of the other language that it is linked to must be;
    min_move: that one's position differs by more than this."""

    word: WordQuery = WordQuery()
    head: WordQuery = WordQuery()
    linked: WordQuery = WordQuery()
    min_distance: int = 0
    direction: Direction | None = None
    min_move: int = -1

    @property
    def of_links(self) -> bool:
        """Return whether the links of the sentence must be known."""
        return self.min_move >= 0 or bool(self.linked.patterns)

    @property
    def columns(self) -> list[str]:
        """Return the columns that records must have."""
        of_heads = ["heads"] if self.min_distance or self.direction or self.head.patterns else []
        return [*of_heads, *(column for each in (self.word, self.head) for column, _ in each.patterns)]


@dataclass(frozen=True)
class Distance:
    """Where a word stands from its head."""

    min_distance: int = setting(
        0, "the head is more than N positions away; that of a root is before the sentence", most=10**6
    )
    direction: Direction | None = setting(None, "where the word stands from it")


def known() -> dict[str, Known]:
    """Return the options of a query without links, by name."""
    return {**known_in(WordQuery), **known_in(WordQuery, "head-"), **known_in(Distance)}


def query_of(options: Mapping[str, Any]) -> Query:
    """Return the query of such options, as keywords. Raises ValueError."""
    word, head = (config_of(WordQuery, options, prefix) for prefix in ("", "head-"))
    where = config_of(Distance, options)
    return Query(word, head, min_distance=where.min_distance, direction=where.direction)


@dataclass(frozen=True)
class Beside:
    """The sentence's translation. links: of word i to word j of it, from 0."""

    record: ParseRecord
    links: frozenset[tuple[int, int]]


def occurrences(record: ParseRecord, query: Query, beside: Beside | None = None) -> list[tuple[int, int]]:
    """Return the words that a query asks for, each as (word, head), counted from 1; the head of a root is 0.

    Raises RecordError for a sentence without what tells them; one without features merely has no such words.
    """
    _check(record, query.columns)
    if beside:
        _check(beside.record, [column for column, _ in query.linked.patterns])
    heads = record.heads or [0] * len(record.tokens)
    places = [place for length in record.sentences or [len(record.tokens)] for place in range(1, length + 1)]
    return [
        (word, head)
        for word, (head, place) in enumerate(zip(heads, places, strict=True), 1)
        if (not query.min_distance or (abs(word - head) if head else place) > query.min_distance)
        and (not query.direction or (head and (word < head) == (query.direction == "before")))
        and query.word.holds(record, word)
        and (not query.head.patterns or query.head.holds(record, head))
        and (beside is None or any(_moved(word, other, query, beside) for other in _linked(word, beside)))
    ]


def _check(record: ParseRecord, columns: list[str]) -> None:
    missing = [name for name in columns if name != "feats" and not getattr(record, name)]
    if record.tokens and missing:
        raise RecordError(f"record has no {missing[0]}")


def _linked(word: int, beside: Beside) -> Iterator[int]:
    return (j + 1 for i, j in sorted(beside.links) if i == word - 1)


def _moved(word: int, other: int, query: Query, beside: Beside) -> bool:
    return abs(word - other) > query.min_move and query.linked.holds(beside.record, other)


def marked(record: ParseRecord, found: list[tuple[int, int]]) -> str:
    """Return the tokens, with stars around the words that were found and their heads."""
    chosen = {number for pair in found for number in pair}
    return " ".join(f"*{token}*" if word in chosen else token for word, token in enumerate(record.tokens, 1))
