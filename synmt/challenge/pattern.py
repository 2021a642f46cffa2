"""Patterns over several words of a tree: their language, and a search for matching words of a sentence.

The language is a part of Grew (Guillaume 2021, "Graph Matching and Graph Rewriting: GREW tools for corpus
exploration, maintenance and conversion", EACL): clauses between semicolons, each about named nodes, and any number of
blocks `with { … }` and `without { … }`. Different nodes are different words.

    V [upos=VERB|AUX, Tense, lemma<>be, !Voice]       columns or features: with values, any value, others, or none
    V -[nsubj*|csubj]-> S                             V is the head of S; `V -> S`, `V -[^obj]-> S`, `V ->> S` (above)
    V -[1=nsubj, !2]-> S                              the relation and its subtype, after the first colon
    S < V                                             S is right before V; `S << V`, `S > V`, `S >> V`
    S.Number <> V.Number                              both have the column or feature, with other values; or `=`
    V.lemma = "be"                                    as V [lemma="be"]
    length(S, V) > 3                                  they are more than 3 positions apart; or `<`, `<=`, `>=`, `=`
    delta(S, V) = 1                                   V is 1 position after S

A value in quotes is meant literally. re"…", /…/ and /…/i are regular expressions of Python over a whole value. In
other values, * matches any text and ? any letter, regardless of case.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from synmt.trees.dependency import UNKNOWN, dependents
from synmt.trees.record import ParseRecord

COLUMNS = {
    "form": "tokens", "word": "tokens", "lemma": "lemmas", "upos": "upos", "xpos": "xpos", "relation": "deprels",
    "deprel": "deprels", "feature": "feats", "relation.1": "deprels", "relation.2": "deprels",
}  # fmt: skip
ROOT = 0  # the node above a root
MOST_STEPS = 300_000  # words to try in a sentence
SIGNS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}
_STRING = r'"(?P<string>(?:\\.|[^"\\])*)"'
_REGEX = r're"(?P<re>(?:\\.|[^"\\])*)"|/(?P<pcre>(?:\\.|[^/\\])+)/(?P<flag>i?)'
_TOKEN = re.compile(
    rf"\s*(?:(?P<open>-\[\^?)|(?P<arc>->>|->)|(?P<sign><<|>>|<>|<=|>=|[<>=\[\]{{}};,|!()])|(?P<value>{_STRING}|{_REGEX})"
    r'|(?P<name>(?:(?!->|-\[)[^\s\[\]{};,|!()<>="])+))'
)
_VALUE = re.compile(rf"{_STRING}|{_REGEX}")
_NAME = re.compile(r"[^\W\d]\w*")
_LAYER = re.compile(r"(\w+?)__(\w+)")


class PatternError(ValueError):
    """A pattern that cannot be read."""


def column_of(key: str) -> str:
    """Return the column of a record that holds this column of a treebank or this feature."""
    return COLUMNS.get(key.lower(), "feats")


def values_of(record: ParseRecord, word: int, key: str) -> list[str]:
    """Return the values of a word, counted from 1, in a column or as a feature; [] if it has none.

    The key `feature` gives all its features, such as Case=Acc, and `relation.1` and `relation.2` the relation before
    and after its first colon. `Number__psor` is Grew's name of the feature `Number[psor]`.
    """
    key = key.lower()
    column: list[str] = getattr(record, column_of(key))
    if not word or not column:
        return []
    value = column[word - 1]
    if key.startswith("relation."):
        main, colon, subtype = value.partition(":")
        return [main] if key.endswith("1") else [subtype] * bool(colon)
    if key == "feature":
        return value.split("|")
    if key in COLUMNS:
        return [value]
    layered = _LAYER.fullmatch(key)
    key = f"{layered[1]}[{layered[2]}]" if layered else key
    return [value for name, _, value in (each.partition("=") for each in value.split("|")) if name.lower() == key]


@dataclass(frozen=True)
class Value:
    """A value to compare with, as written in a pattern."""

    text: str

    @cached_property
    def fits(self) -> Callable[[str], object]:
        """Return a test whether another value is meant. Raises PatternError for a wrong regular expression."""
        found = _VALUE.fullmatch(self.text)
        if found and found["string"] is not None:
            return re.sub(r"\\([\\\"])", r"\1", found["string"]).__eq__
        if not found:
            wildcards = {"*": ".*", "?": "."}
            pattern = "".join(wildcards.get(each) or re.escape(each) for each in self.text)
            return re.compile(pattern, re.IGNORECASE | re.DOTALL).fullmatch
        try:
            pattern = found["pcre"] if found["re"] is None else found["re"].replace('\\"', '"')
            return re.compile(pattern, re.IGNORECASE if found["flag"] else 0).fullmatch
        except re.error as error:
            raise PatternError(f"pattern: {self.text} is not a regular expression: {error}") from None


@dataclass(frozen=True)
class Condition:
    """A condition on a node. values: one of these must fit; () for any known value.

    negated: there must be a known value, and none that fits; without values, there must be no known value.
    """

    key: str
    values: tuple[Value, ...] = ()
    negated: bool = False

    def holds(self, record: ParseRecord, word: int) -> bool:
        found = values_of(record, word, self.key)
        known = _known(found, self.key)
        if not self.values:
            return bool(known) != self.negated
        if self.negated:
            return bool(known) and not any(value.fits(each) for each in known for value in self.values)
        return any(value.fits(each) for each in found for value in self.values)

    def parts(self) -> Iterator["Condition"]:
        """Yield conditions that hold if a word has the column or feature, with any of the values."""
        yield from (Condition(self.key, (value,)) for value in self.values) if self.values else [Condition(self.key)]

    def __str__(self) -> str:
        return self.key + "".join(f"={value.text}" for value in self.values)


def condition(key: str, value: str) -> Condition:
    """Return the condition that a column or feature has a value; `*` is any known value. Raises PatternError."""
    if value == "*":
        return Condition(key)
    found = Value(value)
    _ = found.fits
    return Condition(key, (found,))


def _known(values: Sequence[str], key: str) -> list[str]:
    """Return the known values; the form of a word may be `_`."""
    return [each for each in values if each != UNKNOWN or column_of(key) == "tokens"]


@dataclass(frozen=True)
class Relation:
    """A relation between two nodes.

    holds: returns whether it holds, given a record and the words of both nodes; columns: the columns that it needs;
    shown: names of nodes with the column or feature that an explanation should show for each; parts: conditions that
    some word should meet; is_arc: whether the first node is the head of the second.
    """

    first: str
    second: str
    holds: Callable[[ParseRecord, int, int], bool]
    columns: tuple[str, ...] = ()
    shown: tuple[tuple[str, str], ...] = ()
    parts: tuple[Condition, ...] = ()
    is_arc: bool = False


@dataclass(frozen=True)
class Pattern:
    """Nodes in the order of their names, with conditions, relations, and patterns that must and must not match.

    may_be_root: the node that may also be ROOT, above a root.
    """

    conditions: Mapping[str, Sequence[Condition]] = field(default_factory=dict)
    relations: Sequence[Relation] = ()
    also: Sequence["Pattern"] = ()
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
        of_others = [column for each in (*self.also, *self.without) for column in each.columns]
        return list(dict.fromkeys([*(name for each in self.relations for name in each.columns), *own, *of_others]))

    @cached_property
    def parts(self) -> list[Condition]:
        """Return a condition for each column, feature and value that it names, which some word should meet."""
        own = [part for conditions in self.conditions.values() for each in conditions for part in each.parts()]
        of_relations = [part for each in self.relations for part in each.parts]
        of_others = [part for each in (*self.also, *self.without) for part in each.parts]
        return list(dict.fromkeys([*own, *of_relations, *of_others]))

    def matches(self, record: ParseRecord) -> Iterator[dict[str, int]]:
        """Yield the words of each match by node, counted from 1. Raises ValueError after MOST_STEPS."""
        return _Matching(self, record, iter(range(MOST_STEPS))).matches({})


class _Matching:
    """A search for the matches of a pattern in a record. steps: an item for each word that may still be tried."""

    def __init__(self, pattern: Pattern, record: ParseRecord, steps: Iterator[int]) -> None:
        self._pattern, self._record, self._steps = pattern, record, steps
        self._filters = [(_Matching(each, record, steps), True) for each in pattern.also]
        self._filters += [(_Matching(each, record, steps), False) for each in pattern.without]
        words = range(1, len(record.tokens) + 1)
        self._below = dependents(record.heads) if record.heads else [list(words), *([] for _ in words)]
        self._domains = {
            name: {
                word
                for word in range(ROOT if name == pattern.may_be_root else 1, len(record.tokens) + 1)
                if all(each.holds(record, word) for each in pattern.conditions.get(name, ()))
            }
            for name in pattern.names
        }
        self._relations = {
            name: [each for each in pattern.relations if name in (each.first, each.second)] for name in pattern.names
        }

    def matches(self, known: dict[str, int]) -> Iterator[dict[str, int]]:
        """Yield each match that extends the known words of other nodes."""
        if all(self._domains.values()) and all(
            self._fits(name, word, known) for name, word in known.items() if name in self._domains
        ):
            yield from self._extended(known, [name for name in self._pattern.names if name not in known])

    def _extended(self, known: dict[str, int], names: Sequence[str]) -> Iterator[dict[str, int]]:
        if not names:
            if all(any(search.matches(known)) == wanted for search, wanted in self._filters):
                yield known
            return
        choices = {name: self._choices(name, known) for name in names}
        name = min(names, key=lambda each: len(choices[each]))
        rest = [each for each in names if each != name]
        for word in choices[name]:
            if next(self._steps, None) is None:
                raise ValueError(f"more than {MOST_STEPS} words to try for the pattern; connect its nodes by arcs")
            if word not in known.values() and self._fits(name, word, known):
                yield from self._extended({**known, name: word}, rest)

    def _choices(self, name: str, known: Mapping[str, int]) -> set[int]:
        """Return the candidates for the word of a node: those that meet its conditions and its arcs to known nodes."""
        found = self._domains[name]
        for each in self._relations[name]:
            if each.is_arc and each.first == name and each.second in known:
                found = found & {_head(self._record, known[each.second])}
            elif each.is_arc and each.second == name and each.first in known:
                found = found.intersection(self._below[known[each.first]])
        return found

    def _fits(self, name: str, word: int, known: Mapping[str, int]) -> bool:
        """Return whether a word meets the conditions of a node and its relations to known nodes."""
        if word not in self._domains[name]:
            return False
        for each in self._relations[name]:
            first, second = (word if node == name else known.get(node) for node in (each.first, each.second))
            if first is not None and second is not None and not each.holds(self._record, first, second):
                return False
        return True


def _head(record: ParseRecord, word: int) -> int:
    return record.heads[word - 1] if record.heads else ROOT


def arc(head: str, word: str, conditions: Sequence[Condition] = (), optional: bool = False) -> Relation:
    """Return the relation of a head to its dependent.

    conditions: on the dependent's relation. optional: without heads, all words depend on ROOT.
    """

    def holds(record: ParseRecord, first: int, second: int) -> bool:
        if second == ROOT or _head(record, second) != first:
            return False
        return all(each.holds(record, second) for each in conditions)

    columns = (*(() if optional else ("heads",)), *(("deprels",) if conditions else ()))
    shown = ((word, "relation"),) if conditions else ()
    parts = tuple(part for each in conditions for part in each.parts())
    return Relation(head, word, holds, columns, shown, parts, is_arc=True)


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
    """Return the relation of two words whose distance in positions compares so with a number. sign: one of SIGNS.

    The node above a root is at position 0 of its sentence.
    """

    def holds(record: ParseRecord, one: int, other: int) -> bool:
        apart = abs(one - other) if one and other else _place(record, one or other)
        return SIGNS[sign](apart, number)

    return Relation(first, second, holds)


def delta(first: str, second: str, sign: str, number: int) -> Relation:
    """Return the relation of two words, of which the second is so many positions after the first."""
    return Relation(first, second, lambda record, one, other: SIGNS[sign](other - one, number))


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
            [each.lower() for each in _known(values_of(record, word, key), key)]
            for word, key in ((one, its), (another, other))
        ]
        return all(values) and (values[0] != values[1]) == negated

    columns = (column_of(its), column_of(other))
    return Relation(first, second, holds, columns, ((first, its), (second, other)), (Condition(its), Condition(other)))


def read_pattern(text: str) -> Pattern:
    """Return the pattern. Raises PatternError, which names the place."""
    return _PatternReader(text).whole()


class _PatternReader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text.strip(), 0

    def whole(self) -> Pattern:
        is_block = re.match(r"(pattern|request)\s*\{", self._text)
        found = self._block() if is_block else self._clauses()
        filters: dict[str, list[Pattern]] = {"with": [], "without": []}
        while (kind := self._next("name")) in filters:
            filters[kind].append(self._block())
        if self._at < len(self._text):
            raise self._error("the end")
        if not found.names:
            raise PatternError("a pattern needs a clause, such as V [upos=VERB]")
        return Pattern(found.conditions, found.relations, filters["with"], filters["without"])

    def _block(self) -> Pattern:
        self._take("name")
        self._sign("{")
        found = self._clauses()
        self._sign("}")
        return found

    def _clauses(self) -> Pattern:
        conditions: dict[str, list[Condition]] = {}
        relations: list[Relation] = []
        while self._next("name") not in (None, "with", "without"):
            name, key = self._node()
            if self._next("sign") == "[" and not key:
                conditions.setdefault(name, []).extend(self._conditions())
            elif key and (constant := self._constant(key)):
                conditions.setdefault(name, []).append(constant)
            else:
                found = self._relation(name, key)
                relations.append(found)
                for node in (name, found.first, found.second):  # in the order in which they are written
                    if node in (found.first, found.second):
                        conditions.setdefault(node, [])
            if not self._has(";"):
                break
        return Pattern(conditions, relations)

    def _constant(self, key: str) -> Condition | None:
        """Return the condition of `V.lemma = "be"`, or None if another node follows."""
        start = self._at
        negated = self._sign("=", "<>") == "<>"
        if self._next("value"):
            return Condition(key, self._values(), negated)
        self._at = start
        return None

    def _conditions(self) -> Iterator[Condition]:
        self._sign("[")
        while self._next("sign") != "]":
            absent = self._has("!")
            yield self._condition(self._take("name"), absent)
            if self._next("sign") != "]":
                self._sign(",")
        self._sign("]")

    def _condition(self, key: str, absent: bool) -> Condition:
        if absent or self._next("sign") not in ("=", "<>"):
            return Condition(key, (), absent)
        negated = self._sign("=", "<>") == "<>"
        values = self._values()
        is_any = not negated and [value.text for value in values] == ["*"]
        return Condition(key, () if is_any else values, negated)

    def _values(self) -> tuple[Value, ...]:
        values = [self._value()]
        while self._has("|"):
            values.append(self._value())
        return tuple(values)

    def _value(self) -> Value:
        value = Value(self._take("value" if self._next("value") else "name"))
        _ = value.fits  # raises PatternError
        return value

    def _labels(self) -> list[Condition]:
        """Read the labels of an arc: relations, or conditions on their parts 1 and 2."""
        negated = self._take("open").endswith("^")
        if self._next("sign") == "!" or self._has_key():
            return list(self._label_features(negated))
        found = [] if self._next("sign") == "]" else [Condition("relation", self._values(), negated)]
        for value in (value for each in found for value in each.values):
            if value.text.startswith("E:"):
                raise PatternError(
                    f"pattern: {value.text}: enhanced relations cannot be searched, only those of DEPREL"
                )
        self._sign("]")
        return found

    def _has_key(self) -> bool:
        start = self._at
        found = self._next("name") and self._take("name") and self._next("sign") in ("=", "<>")
        self._at = start
        return bool(found)

    def _label_features(self, negated: bool) -> Iterator[Condition]:
        if negated:
            raise self._error("relations after ^")
        self._at -= 1
        for each in self._conditions():
            if each.key not in ("1", "2"):
                raise PatternError(f"pattern: an arc has the features 1 and 2, not {each.key}")
            yield Condition(f"relation.{each.key}", each.values, each.negated)

    def _relation(self, name: str, key: str) -> Relation:
        if name in ("length", "delta") and self._has("("):
            first, _ = self._node()
            self._sign(",")
            second, _ = self._node()
            self._sign(")")
            sign, number = self._sign(*SIGNS), self._take("name")
            if not re.fullmatch(r"-?[0-9]{1,9}", number):
                raise self._error("a number")
            return (length if name == "length" else delta)(first, second, sign, int(number))
        if key:
            sign = self._sign("=", "<>")
            other, its = self._node()
            if not its:
                raise self._error("a column or feature of a node, as in V.Number")
            return agreement(name, key, other, its, sign == "<>")
        if self._next("open"):
            labels = self._labels()
            if self._take("arc") != "->":
                raise self._error("->")
            other, _ = self._node()
            return arc(name, other, labels)
        if self._next("arc"):
            found = self._take("arc")
            other, _ = self._node()
            return above(name, other) if found == "->>" else arc(name, other)
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
            raise self._error({"name": "a name", "value": "a value", "arc": "an arc", "open": "an arc"}[kind])
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
