"""The patterns that heads are taught: for each word of a sentence, one word to attend to.

Three patterns depend only on position:

    previous   the word before; the first word attends to itself
    next       the word after; the last word attends to itself
    self       the word itself

Three depend on the dependency tree:

    parent          the head of the word; the root attends to itself
    children        all dependents of the word; a word without dependents is not taught
    latest-linked   the latest earlier word that is its head or its dependent, if there is one

Two are controls, which a claim about syntax has to beat:

    shuffled-parent   the parent in a tree whose words have been shuffled
    random            another word of the sentence; for a decoder, an earlier one

Both draw from a generator that is seeded by the words, so a sentence has the same targets in every epoch and every run.
"""

import random
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import count
from typing import NamedTuple

from synmt.ideas.source import parents_of_words
from synmt.trees.record import ParseRecord

NOTHING = -1  # instead of the index of a word
MASK = "mask:"  # before the name of one of the user's own masks


def _latest_linked(record: ParseRecord) -> list[int]:
    latest = [NOTHING] * len(record.tokens)
    for word, parent in enumerate(parents_of_words(record)):
        first, second = sorted((word, parent))
        if NOTHING < first < second:
            latest[second] = max(latest[second], first)
    return latest


def _shuffled_parents(record: ParseRecord) -> list[int]:
    places = list(range(len(record.tokens)))
    _generator(record).shuffle(places)
    parents = [NOTHING] * len(places)
    for word, parent in enumerate(parents_of_words(record)):
        parents[places[word]] = NOTHING if parent == NOTHING else places[parent]
    return parents


def _random_others(record: ParseRecord) -> list[int]:
    last, generator = len(record.tokens) - 1, _generator(record)
    if last < 1:
        return [NOTHING] * len(record.tokens)
    drawn = [generator.randrange(last) for _ in record.tokens]
    return [other + (other >= word) for word, other in enumerate(drawn)]


def _generator(record: ParseRecord) -> random.Random:
    return random.Random(zlib.crc32(" ".join(record.tokens).encode()))


def _near(step: int) -> Callable[[ParseRecord], list[int]]:
    """Return the pattern of the word `step` places away, or of the word itself at the edge of the sentence."""

    def words(record: ParseRecord) -> list[int]:
        count = len(record.tokens)
        return [word + step if 0 <= word + step < count else word for word in range(count)]

    return words


Pattern = Callable[[ParseRecord], list[int]]  # for each word, the index of its target, or NOTHING
PATTERNS: Mapping[str, Pattern] = {
    "previous": _near(-1), "next": _near(1), "self": _near(0),
    "parent": parents_of_words, "children": parents_of_words, "latest-linked": _latest_linked,
    "shuffled-parent": _shuffled_parents, "random": _random_others,
}  # fmt: skip
OF_TREES = frozenset({"parent", "children", "latest-linked", "shuffled-parent"})
REVERSED = frozenset({"children"})  # the pattern maps each word to the word that should attend to it


class Taught(NamedTuple):
    """One supervised head. The layer is counted from 1, the head from 0."""

    pattern: str
    layer: int
    head: int


def read_taught(teach: str, layer: int, patterns: Mapping[str, Pattern], masks: bool = False) -> list[Taught]:
    """Return the heads that an option such as `previous+parent@3.2` names, each with its pattern.

    layer: the layer of heads without `@`. A head without a number is the first free one of its layer.
    masks: whether to accept `mask:NAME` as a pattern.
    Raises ValueError for an unknown pattern, and for a head that is taught twice.
    """
    named = [_read(part, layer, patterns, masks) for part in teach.split("+")]
    taken = {(layer, head) for _, layer, head in named if head is not None}
    free: defaultdict[int, count[int]] = defaultdict(count)  # heads of each layer that may be free
    found = []
    for pattern, where, head in named:
        if head is None:
            head = next(each for each in free[where] if (where, each) not in taken)
        found.append(Taught(pattern, where, head))
    if len({each[1:] for each in found}) < len(found):
        raise ValueError(f"teach cannot be {teach!r}: a head occurs more than once")
    return found


def _read(part: str, layer: int, patterns: Mapping[str, Pattern], masks: bool) -> tuple[str, int, int | None]:
    """Return the pattern, layer and head of a part such as `parent@3.2`."""
    pattern, at, place = part.rpartition("@") if "@" in part else (part, "", "")
    number, dot, head = place.partition(".")
    numbers = [number] * bool(at) + [head] * bool(dot)
    known = pattern in patterns or (masks and pattern.startswith(MASK) and pattern != MASK)
    if not known or not all(each.isascii() and each.isdigit() and int(each) for each in numbers):
        names = ", ".join([*patterns, *[f"{MASK}NAME"] * masks])
        raise ValueError(f"teach cannot be {part!r}; patterns are {names}, and places look like @3 or @3.2")
    return pattern, int(number) if at else layer, int(head) - 1 if dot else None
