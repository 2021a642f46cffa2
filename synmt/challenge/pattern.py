"""Patterns over several words of a tree: their language, and a search for matching words of a sentence.

The language is a part of Grew (Guillaume 2021, "Graph Matching and Graph Rewriting: GREW tools for corpus
exploration, maintenance and conversion", EACL): clauses between semicolons, each about named nodes, and any number of
blocks `without { … }`. Different nodes are different words.

    V [upos=VERB|AUX, Tense, lemma<>be, !Voice]       columns or features: with values, any value, others, or none
    V -[nsubj*|csubj]-> S                             V is the head of S; `V -> S`, `V -[^obj]-> S`, `V ->> S` (above)
    S < V                                             S is right before V; `S << V`, `S > V`, `S >> V`
    S.Number <> V.Number                              both have the column or feature, with other values; or `=`
    length(S, V) > 3                                  they are more than 3 positions apart; or `<`

Values are patterns, in which * matches any text and ? any letter, regardless of case, with quotes or without.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain

from synmt.trees.dependency import UNKNOWN
from synmt.trees.record import ParseRecord

COLUMNS = {
    "form": "tokens", "word": "tokens", "lemma": "lemmas", "upos": "upos", "xpos": "xpos", "relation": "deprels",
    "deprel": "deprels", "feature": "feats",
}  # fmt: skip
ROOT = 0  # the node above a root
_TOKEN = re.compile(
    r'\s*(?:(?P<arc>-\[[^\]]*\]->|->>|->)|(?P<sign><<|>>|<>|[<>=\[\]{};,|!()])|"(?P<string>[^"]*)"'
    r'|(?P<name>(?:(?!->|-\[)[^\s\[\]{};,|!()<>="])+))'
)
_NAME = re.compile(r"[^\W\d]\w*")


def column_of(key: str) -> str:
    """Return the column of a record that holds this column of a treebank or this feature."""
    return COLUMNS.get(key.lower(), "feats")


def values_of(record: ParseRecord, word: int, key: str) -> list[str]:
    """Return the values of a word, counted from 1, in a column or as a feature; [] if it has none.

    The key `feature` gives all its features, such as Case=Acc.
    """
    key = key.lower()
    column: list[str] = getattr(record, column_of(key))
    if not word or not column:
        return []
    if key in COLUMNS and key != "feature":
        return [column[word - 1]]
    features = column[word - 1].split("|")
    if key == "feature":
        return features
    return [value for name, _, value in (each.partition("=") for each in features) if name.lower() == key]


@dataclass(frozen=True)
class Condition:
    """A condition on a node. values: patterns in lower case, one of which must match; () for any known value.

    negated: there must be a known value, and none that matches a pattern; without patterns, there must be no known
    value.
    """

    key: str
    values: tuple[str, ...] = ()
    negated: bool = False

    def holds(self, record: ParseRecord, word: int) -> bool:
        found = values_of(record, word, self.key)
        known = [each for each in found if each != UNKNOWN]
        if not self.values:
            return bool(known) != self.negated
        if self.negated:
            return bool(known) and not any(_fits(each, self.values) for each in known)
        return any(_fits(each, self.values) for each in found)


def _fits(value: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(value.lower(), pattern.replace("[", "[[]")) for pattern in patterns)


@dataclass(frozen=True)
class Relation:
    """A relation between two nodes.

    holds: returns whether it holds, given a record and the words of both nodes; columns: the columns that it needs;
    shown: names of nodes with the column or feature that an explanation should show for each.
    """

    first: str
    second: str
    holds: Callable[[ParseRecord, int, int], bool]
    columns: tuple[str, ...] = ()
    shown: tuple[tuple[str, str], ...] = ()
    is_arc: bool = False


@dataclass(frozen=True)
class Pattern:
    """Nodes in the order of their names, with conditions, relations, and patterns that must not match.

    may_be_root: the node that may also be ROOT, above a root.
    """

    conditions: Mapping[str, Sequence[Condition]] = field(default_factory=dict)
    relations: Sequence[Relation] = ()
    without: Sequence["Pattern"] = ()
    may_be_root: str = ""

    @cached_property
    def names(self) -> list[str]:
        of_relations = chain.from_iterable((each.first, each.second) for each in self.relations)
        return list(dict.fromkeys([*self.conditions, *of_relations]))

    @cached_property
    def columns(self) -> list[str]:
        """Return the columns of a record that it needs."""
        own = [column_of(each.key) for conditions in self.conditions.values() for each in conditions]
        of_others = [column for each in self.without for column in each.columns]
        return list(dict.fromkeys([*(name for each in self.relations for name in each.columns), *own, *of_others]))

    def matches(self, record: ParseRecord, given: Mapping[str, int] | None = None) -> Iterator[dict[str, int]]:
        """Yield the words of each match by node, counted from 1. given: nodes whose words are known."""
        known = dict(given or {})
        return self._extended(record, known, sorted(self.names, key=lambda name: name not in known))  # known ones first

    def _extended(self, record: ParseRecord, known: dict[str, int], names: Sequence[str]) -> Iterator[dict[str, int]]:
        if not names:
            if not any(any(each.matches(record, known)) for each in self.without):
                yield known
            return
        name, *rest = names
        for word in self._choices(record, known, name):
            found = {**known, name: word}
            if all(each.holds(record, word) for each in self.conditions.get(name, ())) and all(
                each.holds(record, found[each.first], found[each.second])
                for each in self.relations
                if name in (each.first, each.second) and each.first in found and each.second in found
            ):
                yield from self._extended(record, found, rest)

    def _choices(self, record: ParseRecord, known: Mapping[str, int], name: str) -> Sequence[int]:
        """Return the candidates for the word of a node: the known word, or all words that fit its arcs to known nodes
        below it."""
        if name in known:
            return [known[name]]
        below = [
            known[each.second] for each in self.relations if each.is_arc and each.first == name and each.second in known
        ]
        least = ROOT if name == self.may_be_root else 1
        if below and below[0]:
            above = _head(record, below[0])
            return [above] if above >= least and above not in known.values() else []
        return [word for word in range(least, len(record.tokens) + 1) if word not in known.values()]


def _head(record: ParseRecord, word: int) -> int:
    return record.heads[word - 1] if record.heads else ROOT


def arc(head: str, word: str, labels: Sequence[str] = (), negated: bool = False, optional: bool = False) -> Relation:
    """Return the relation of a head to its dependent.

    labels: patterns. negated: none of them may match. optional: without heads, all words depend on ROOT.
    """

    def holds(record: ParseRecord, first: int, second: int) -> bool:
        if second == ROOT or _head(record, second) != first:
            return False
        return not labels or _fits(record.deprels[second - 1], labels) != negated

    columns = (*(() if optional else ("heads",)), *(("deprels",) if labels else ()))
    return Relation(head, word, holds, columns, ((word, "relation"),) if labels else (), is_arc=True)


def above(head: str, word: str) -> Relation:
    """Return the relation of a word to all words below it."""

    def holds(record: ParseRecord, first: int, second: int) -> bool:
        while second > 0:
            second = _head(record, second)
            if second == first:
                return True
        return False

    return Relation(head, word, holds, ("heads",))


def order(first: str, second: str, adjacent: bool = False) -> Relation:
    """Return the relation of a word to the words after it. The node above a root has no position."""
    return Relation(first, second, lambda record, one, other: ROOT < one < other and (not adjacent or other - one == 1))


def length(first: str, second: str, sign: str, number: int) -> Relation:
    """Return the relation of two words that are more (`>`) or less (`<`) than that many positions apart.

    The node above a root is at position 0 of its sentence.
    """

    def holds(record: ParseRecord, one: int, other: int) -> bool:
        apart = abs(one - other) if one and other else _place(record, one or other)
        return apart > number if sign == ">" else apart < number

    return Relation(first, second, holds)


def _place(record: ParseRecord, word: int) -> int:
    for words in record.sentences:
        if word <= words:
            break
        word -= words
    return word


def agreement(first: str, its: str, second: str, other: str, negated: bool) -> Relation:
    """Return the relation of words whose columns or features are known and equal or, if negated, different."""

    def holds(record: ParseRecord, one: int, another: int) -> bool:
        values = [
            [each.lower() for each in values_of(record, word, key) if each != UNKNOWN]
            for word, key in ((one, its), (another, other))
        ]
        return all(values) and (values[0] != values[1]) == negated

    columns = (column_of(its), column_of(other))
    return Relation(first, second, holds, columns, ((first, its), (second, other)))


class PatternError(ValueError):
    """A pattern that cannot be read."""


def read_pattern(text: str) -> Pattern:
    """Return the pattern. Raises PatternError, which names the place."""
    return _Reader(text).whole()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text.strip(), 0

    def whole(self) -> Pattern:
        is_block = re.match(r"(pattern|request)\s*\{", self._text)
        found = self._block() if is_block else self._clauses()
        without = []
        while self._next("name") == "without":
            without.append(self._block())
        if self._at < len(self._text):
            raise self._error("the end")
        if not found.names:
            raise PatternError("a pattern needs a clause, such as V [upos=VERB]")
        return Pattern(found.conditions, found.relations, without)

    def _block(self) -> Pattern:
        self._take("name")
        self._sign("{")
        found = self._clauses()
        self._sign("}")
        return found

    def _clauses(self) -> Pattern:
        conditions: dict[str, list[Condition]] = {}
        relations: list[Relation] = []
        while self._next("name") not in (None, "without"):
            name, key = self._node()
            if self._next("sign") == "[" and not key:
                conditions.setdefault(name, []).extend(self._conditions())
            else:
                found = self._relation(name, key)
                relations.append(found)
                for node in (name, found.first, found.second):  # in the order in which they are written
                    if node in (found.first, found.second):
                        conditions.setdefault(node, [])
            if not self._has(";"):
                break
        return Pattern(conditions, relations)

    def _conditions(self) -> Iterator[Condition]:
        self._sign("[")
        while self._next("sign") != "]":
            absent = self._has("!")
            key = self._take("name")
            if not absent and self._next("sign") in ("=", "<>"):
                negated = self._sign("=", "<>") == "<>"
                yield Condition(key, self._values(), negated)
            else:
                yield Condition(key, (), absent)
            if self._next("sign") != "]":
                self._sign(",")
        self._sign("]")

    def _values(self) -> tuple[str, ...]:
        values = [self._value()]
        while self._has("|"):
            values.append(self._value())
        return tuple(values)

    def _value(self) -> str:
        return self._take("string" if self._next("string") is not None else "name").lower()

    def _relation(self, name: str, key: str) -> Relation:
        if name == "length" and self._has("("):
            first, _ = self._node()
            self._sign(",")
            second, _ = self._node()
            self._sign(")")
            sign, number = self._sign(">", "<"), self._take("name")
            if not number.isdecimal():
                raise self._error("a number")
            return length(first, second, sign, int(number))
        if key:
            sign = self._sign("=", "<>")
            other, its = self._node()
            if not its:
                raise self._error("a column or feature of a node, as in V.Number")
            return agreement(name, key, other, its, sign == "<>")
        if self._next("arc"):
            found = self._take("arc")
            other, _ = self._node()
            if found == "->>":
                return above(name, other)
            labels = found[2:-3].strip() if found != "->" else ""
            negated = labels.startswith("^")
            values = (each.strip().removeprefix('"').removesuffix('"') for each in labels.lstrip("^").split("|"))
            return arc(name, other, tuple(each.lower() for each in values if each), negated)
        if self._next("sign") not in ("<", "<<", ">", ">>"):
            raise self._error("[, an arc such as -[obj]-> or an order such as <<")
        sign = self._take("sign")
        other, _ = self._node()
        return order(*((name, other) if sign[0] == "<" else (other, name)), adjacent=len(sign) == 1)

    def _node(self) -> tuple[str, str]:
        """Read a node, or a node and its column or feature: V.Number."""
        name, _, key = self._take("name").partition(".")
        if not _NAME.fullmatch(name):
            raise self._error("the name of a node")
        return name, key

    def _next(self, kind: str) -> str | None:
        found = _TOKEN.match(self._text, self._at)
        return found[kind] if found else None

    def _has(self, sign: str) -> bool:
        """Return whether this sign is next, and read it if it is."""
        found = self._next("sign") == sign
        if found:
            self._take("sign")
        return found

    def _take(self, kind: str) -> str:
        found = _TOKEN.match(self._text, self._at)
        if not found or found[kind] is None:
            raise self._error({"name": "a name", "string": "a value", "arc": "an arc"}[kind])
        self._at = found.end()
        return found[kind]

    def _sign(self, *signs: str) -> str:
        if self._next("sign") not in signs:
            raise self._error(" or ".join(signs))
        return self._take("sign")

    def _error(self, wanted: str) -> PatternError:
        rest = self._text[self._at :].strip()
        found = f"{rest!r:.30}" if rest else "its end"
        return PatternError(f"pattern: expected {wanted} at {found}")
