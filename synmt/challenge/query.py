"""Queries: sentences by patterns over their words (pattern.py), and by links.

The options about a word and its head are a pattern over these two nodes.

The phenomena of published challenge sets are such queries. Choshen & Abend (2019), "Automatically Extracting Challenge
Sets for Non-local Phenomena in Neural Machine Translation", CoNLL: a sentence belongs to a set if one of its words
shows the phenomenon and is more than a given number of positions away from its head. As in the published sets, the
distance of a root is its own position.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from typing import Any, Literal

from synmt.challenge.pattern import (
    ROOT,
    Condition,
    Pattern,
    Relation,
    arc,
    column_of,
    condition,
    length,
    order,
    read_pattern,
    values_of,
)
from synmt.options import Checked, chosen, config_of, setting
from synmt.streams import Message
from synmt.trees.dependency import UNKNOWN
from synmt.trees.record import ParseRecord, RecordError

WORD, HEAD = "word", "head"  # the nodes of a pattern made from options
Direction = Literal["before", "after"]


@dataclass(frozen=True)
class WordQuery(Checked):
    """Conditions on a word: patterns, in which * matches any text and ? any letter, regardless of case; or a literal
    value in quotes, or a regular expression between slashes."""

    relation: str | None = setting(None, "its relation to its head", metavar="PATTERN")
    upos: str | None = setting(None, "its part of speech", metavar="PATTERN")
    feature: tuple[str, ...] = setting(
        (), "a feature that it has, such as Case=Acc; once more for another one", metavar="PATTERN"
    )
    lemma: str | None = setting(None, "its lemma", metavar="PATTERN")
    word: str | None = setting(None, "the word itself", metavar="PATTERN")

    @property
    def conditions(self) -> list[Condition]:
        asked = ((each.name, getattr(self, each.name)) for each in fields(self))
        return [
            condition(key, pattern)
            for key, patterns in asked
            for pattern in ([patterns] if isinstance(patterns, str) else patterns or ())
        ]

    @property
    def columns(self) -> list[str]:
        """Return the columns of a record that the conditions need."""
        return [column_of(each.key) for each in self.conditions]


@dataclass(frozen=True, kw_only=True)
class Shape(Checked):
    """The position of a word relative to its head, or a pattern."""

    min_distance: int = setting(0, "the head is more than N positions away; a root counts as position 0", most=10**6)
    direction: Direction | None = setting(None, "the side of the head on which the word is")
    pattern: str | None = setting(
        None, "clauses about several words: V [upos=VERB]; V -[obj]-> O; O < V", metavar="PATTERN"
    )

    def __post_init__(self) -> None:
        """Raise ValueError for a setting out of bounds, and for a pattern that cannot be read."""
        super().__post_init__()
        if self.pattern is not None:
            read_pattern(self.pattern)


@dataclass(frozen=True)
class Query(Shape):
    """Conditions on a word, its head, and a word of the translation to which it is linked.

    pattern: replaces the conditions on word and head; its first node is the linked word. min_move: the position of the
    linked word differs by more than this. announces: whether to note what it names that no word has.
    """

    word: WordQuery = WordQuery()
    head: WordQuery = WordQuery()
    linked: WordQuery = WordQuery()
    min_move: int = -1
    announces: bool = True

    @cached_property
    def shape(self) -> Pattern:
        """Return the pattern. Raises PatternError."""
        if self.pattern is not None:
            return read_pattern(self.pattern)
        of_head = bool(self.min_distance or self.direction or self.head.conditions)
        relations: list[Relation] = [arc(HEAD, WORD, optional=not of_head)]
        if self.min_distance:
            relations.append(length(WORD, HEAD, ">", self.min_distance))
        if self.direction:
            relations.append(order(*((WORD, HEAD) if self.direction == "before" else (HEAD, WORD))))
        return Pattern({WORD: self.word.conditions, HEAD: self.head.conditions}, relations, may_be_root=HEAD)

    def __post_init__(self) -> None:
        """Raise ValueError as `Shape`, and for a condition that cannot be read."""
        super().__post_init__()
        _ = self.shape, self.linked.conditions

    def place(self, node: str) -> int:
        """Return the place of a node in each match; "" is the first node. Raises ValueError for an unknown node."""
        names = self.shape.names
        if node and node not in names:
            raise ValueError(f"{node!r} is not a node of the query, which has {', '.join(names)}")
        return names.index(node) if node else 0


def query_of(options: Mapping[str, Any]) -> Query:
    """Return the query of these options, by name. Raises ValueError as `check_asked`."""
    word, head = (config_of(WordQuery, options, prefix) for prefix in ("", "head-"))
    query = Query(word, head, **chosen(Shape, options))
    check_asked(query)
    return query


def check_asked(query: Query) -> None:
    """Raise ValueError for conditions that a pattern replaces, and for a query that every word would match."""
    if query.pattern and query != Query(pattern=query.pattern):
        raise ValueError(Message("--pattern replaces all other conditions"))
    if query == Query():
        raise ValueError(Message("a query needs a condition, such as --relation or --word"))


@dataclass(frozen=True)
class LinkedTranslation:
    """The translation of a sentence. links: from word i of the sentence to word j of the translation, from 0."""

    record: ParseRecord
    links: frozenset[tuple[int, int]]


def occurrences(
    record: ParseRecord, query: Query, translation: LinkedTranslation | None = None, one: bool = False
) -> list[tuple[int, ...]]:
    """Return the words of each match by node of the query's pattern, counted from 1; the head of a root is 0.

    one: stop after the first match. Raises RecordError for a sentence without a needed column, and ValueError for a
    pattern with too many candidates in the sentence. If only features are missing, no word matches.
    """
    _check("record", record, query.shape.columns)
    if translation:
        _check("translation", translation.record, query.linked.columns)
    matches = (tuple(each[name] for name in query.shape.names) for each in query.shape.matches(record))
    found = (words for words in matches if translation is None or _is_linked(words[0], query, translation))
    return [*islice(found, 1)] if one else sorted(found)


class Unmet:
    """The columns, features and values that a query names, as long as no word has them."""

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self._conditions = list(conditions)

    def see(self, record: ParseRecord) -> None:
        words = range(1, len(record.tokens) + 1)
        self._conditions = [each for each in self._conditions if not any(each.holds(record, word) for word in words)]

    def __str__(self) -> str:
        return ", ".join(map(str, self._conditions))


def _check(what: str, record: ParseRecord, columns: Sequence[str]) -> None:
    missing = [name for name in columns if name != "feats" and not getattr(record, name)]
    if record.tokens and missing:
        raise RecordError(f"{what} has no {missing[0]}")


def _is_linked(word: int, query: Query, translation: LinkedTranslation) -> bool:
    """Return whether a word is linked to a word of the translation that the query asks for."""
    linked = [j + 1 for i, j in translation.links if i == word - 1]
    return any(
        abs(word - other) > query.min_move
        and all(each.holds(translation.record, other) for each in query.linked.conditions)
        for other in linked
    )


def marked(record: ParseRecord, found: Iterable[Iterable[int]]) -> str:
    """Return the tokens, with stars around the words found."""
    starred = {number for match in found for number in match}
    return " ".join(f"*{token}*" if word in starred else token for word, token in enumerate(record.tokens, 1))


def explained(record: ParseRecord, query: Query, found: Sequence[Sequence[int]]) -> str:
    """Return the word of each node, its number, and its values in the columns and features that the query asks for.

    `word=4:out[relation=compound:prt] head=1:Put; …`
    """
    shape = query.shape
    asked = {name: [each.key for each in shape.conditions.get(name, ())] for name in shape.names}
    for each in shape.relations:
        for name, key in each.shown:
            asked[name].append(key)
    return "; ".join(
        " ".join(_shown(record, name, word, asked[name]) for name, word in zip(shape.names, match, strict=True))
        for match in found
    )


def _shown(record: ParseRecord, name: str, word: int, keys: Sequence[str]) -> str:
    if word == ROOT:
        return f"{name}=0"
    values = ",".join(f"{key}={'|'.join(values_of(record, word, key))}" for key in dict.fromkeys(keys) if key != "form")
    return f"{name}={word}:{record.tokens[word - 1]}" + f"[{values}]" * bool(values)


class Counts:
    """How often each combination of values is matched, and in how many sentences.

    keys: nodes with a column or feature, such as word.lemma. Raises ValueError for nodes that the query does not have,
    and for a pattern that cannot be read.
    """

    def __init__(self, query: Query, keys: Sequence[str]) -> None:
        node, parts = query.shape.names[0], [each.partition(".")[::2] for each in keys]
        if unnamed := [each for each, (_, key) in zip(keys, parts, strict=True) if not key]:
            raise ValueError(f"{unnamed[0]!r} is not a column of a node, such as {node}.lemma")
        self._places = [(query.place(name), key) for name, key in parts]
        self._keys = keys
        self._matches, self._sentences = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()

    def add(self, record: ParseRecord, found: Sequence[Sequence[int]]) -> None:
        rows = [
            tuple("|".join(values_of(record, match[place], key)) or UNKNOWN for place, key in self._places)
            for match in found
        ]
        self._matches.update(rows)
        self._sentences.update(set(rows))

    def lines(self) -> Iterator[str]:
        """Yield a table with a header, the most frequent values first."""
        yield "\t".join([*self._keys, "matches", "sentences"])
        for row, number in sorted(self._matches.items(), key=lambda each: (-each[1], each[0])):
            yield "\t".join([*row, str(number), str(self._sentences[row])])


@dataclass(frozen=True, slots=True)
class Phenomenon:
    title: str
    query: Query


PHENOMENA = {
    "particle": Phenomenon("Verb particles: 'put the coals out'", Query(WordQuery(relation="*prt*"), announces=False)),
    "reflexive": Phenomenon(
        "Reflexive pronouns: 'sich oft irren'", Query(WordQuery(feature=("Reflex=Yes",)), announces=False)
    ),
    "preposition-stranding": Phenomenon(
        "Stranded prepositions: 'asked for'", Query(WordQuery(upos="ADP", relation="*obl*"), announces=False)
    ),
}
