"""Queries: sentences by the columns of their words, by distance and direction to the heads, and by links.

The phenomena of published challenge sets are such queries. Choshen & Abend (2019), "Automatically Extracting Challenge
Sets for Non-local Phenomena in Neural Machine Translation", CoNLL: a sentence belongs to a set if one of its words
shows the phenomenon and is more than a given number of positions away from its head. As in the published sets, the
distance of a root is its own position.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Literal

from synmt.options import Known, check_settings, config_of, known_in, setting
from synmt.trees.record import ParseRecord, RecordError

COLUMNS = {"relation": "deprels", "upos": "upos", "feature": "feats", "lemma": "lemmas", "word": "tokens"}
Direction = Literal["before", "after"]


@dataclass(frozen=True)
class WordQuery:
    """Conditions on a word: patterns, in which * matches any text and ? any letter, regardless of case."""

    relation: str | None = setting(None, "its relation to its head", metavar="PATTERN")
    upos: str | None = setting(None, "its part of speech", metavar="PATTERN")
    feature: tuple[str, ...] = setting(
        (), "a feature that it has, such as Case=Acc; once more for another one", metavar="PATTERN"
    )
    lemma: str | None = setting(None, "its lemma", metavar="PATTERN")
    word: str | None = setting(None, "the word itself", metavar="PATTERN")

    @property
    def patterns(self) -> list[tuple[str, str]]:
        """Return the columns of a record to examine, each with a pattern."""
        asked = ((COLUMNS[each.name], getattr(self, each.name)) for each in fields(self))
        return [
            (column, pattern.lower())
            for column, patterns in asked
            for pattern in ([patterns] if isinstance(patterns, str) else patterns or ())
        ]

    def holds(self, record: ParseRecord, word: int) -> bool:
        """Return whether a word of a sentence, counted from 1, meets the conditions."""
        return word > 0 and all(
            any(fnmatchcase(value.lower(), pattern) for value in _values(record, column, word))
            for column, pattern in self.patterns
        )


def _values(record: ParseRecord, column: str, word: int) -> list[str]:
    """Return the values of a word in a column; features one by one, [] if no word of the sentence has any."""
    values: list[str] = getattr(record, column)
    if column == "feats":
        return values[word - 1].split("|") if values else []
    return [values[word - 1]]


@dataclass(frozen=True)
class Query:
    """Conditions on a word, its head, and a word of the translation to which it is linked.

    min_distance: the head is more than this many positions away; the distance of a root is its own position.
    direction: the word comes before or after its head.
    min_move: the position of the linked word differs by more than this.
    """

    word: WordQuery = WordQuery()
    head: WordQuery = WordQuery()
    linked: WordQuery = WordQuery()
    min_distance: int = 0
    direction: Direction | None = None
    min_move: int = -1

    @property
    def of_links(self) -> bool:
        """Return whether the query needs links."""
        return self.min_move >= 0 or bool(self.linked.patterns)

    @property
    def columns(self) -> list[str]:
        """Return the columns that the query needs."""
        of_heads = ["heads"] if self.min_distance or self.direction or self.head.patterns else []
        return [*of_heads, *(column for each in (self.word, self.head) for column, _ in each.patterns)]


@dataclass(frozen=True)
class Distance:
    """Where a word stands from its head."""

    min_distance: int = setting(
        0, "the head is more than N positions away; that of a root is before the sentence", most=10**6
    )
    direction: Direction | None = setting(None, "where the word stands from it")

    def __post_init__(self) -> None:
        check_settings(self)


def known() -> dict[str, Known]:
    """Return the options of a query without links, by name."""
    return {**known_in(WordQuery), **known_in(WordQuery, "head-"), **known_in(Distance)}


def query_of(options: Mapping[str, Any]) -> Query:
    """Return the query of such options, as keywords. Raises ValueError."""
    word, head = (config_of(WordQuery, options, prefix) for prefix in ("", "head-"))
    where = config_of(Distance, options)
    return Query(word, head, min_distance=where.min_distance, direction=where.direction)


@dataclass(frozen=True)
class LinkedTranslation:
    """The translation of a sentence. links: from word i of the sentence to word j of the translation, from 0."""

    record: ParseRecord
    links: frozenset[tuple[int, int]]


def occurrences(
    record: ParseRecord, query: Query, translation: LinkedTranslation | None = None
) -> list[tuple[int, int]]:
    """Return the words that match a query as (word, head), counted from 1; the head of a root is 0.

    Raises RecordError for a sentence without a needed column. If only features are missing, no word matches.
    """
    _check(record, query.columns)
    if translation:
        _check(translation.record, [column for column, _ in query.linked.patterns])
    heads = record.heads or [0] * len(record.tokens)
    places = [place for length in record.sentences or [len(record.tokens)] for place in range(1, length + 1)]
    return [
        (word, head)
        for word, (head, place) in enumerate(zip(heads, places, strict=True), 1)
        if (not query.min_distance or (abs(word - head) if head else place) > query.min_distance)
        and (not query.direction or (head and (word < head) == (query.direction == "before")))
        and query.word.holds(record, word)
        and (not query.head.patterns or query.head.holds(record, head))
        and (
            translation is None or any(_moved(word, other, query, translation) for other in _linked(word, translation))
        )
    ]


def _check(record: ParseRecord, columns: list[str]) -> None:
    missing = [name for name in columns if name != "feats" and not getattr(record, name)]
    if record.tokens and missing:
        raise RecordError(f"record has no {missing[0]}")


def _linked(word: int, translation: LinkedTranslation) -> Iterator[int]:
    return (j + 1 for i, j in sorted(translation.links) if i == word - 1)


def _moved(word: int, other: int, query: Query, translation: LinkedTranslation) -> bool:
    return abs(word - other) > query.min_move and query.linked.holds(translation.record, other)


def marked(record: ParseRecord, found: list[tuple[int, int]]) -> str:
    """Return the tokens, with stars around the words found and their heads."""
    chosen = {number for pair in found for number in pair}
    return " ".join(f"*{token}*" if word in chosen else token for word, token in enumerate(record.tokens, 1))


@dataclass(frozen=True, slots=True)
class Phenomenon:
    title: str
    query: Query


PHENOMENA = {
    "particle": Phenomenon("Verb particles: 'put the coals out'", Query(WordQuery(relation="*prt*"))),
    "reflexive": Phenomenon("Reflexive pronouns: 'sich oft irren'", Query(WordQuery(feature=("Reflex=Yes",)))),
    "preposition-stranding": Phenomenon(
        "Stranded prepositions: 'asked for'", Query(WordQuery(upos="ADP", relation="*obl*"))
    ),
}
