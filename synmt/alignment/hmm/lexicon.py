"""Translation probabilities of words, estimated from their first letters and from whole words (see aligner.py).

Shapes: N types, that is, distinct pairs of a source and a target word.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Places = NDArray[np.int32]
LETTERS = 4, 6, 8, None  # lengths of the prefixes of a word; None: the whole word
UNSEEN = 0.5  # the count of an unseen word
MOST_TYPES = 1 << 23  # most types of a tally, each of which takes some 100 bytes in a lexicon


def distinct(keys: Ids) -> tuple[Ids, Ids]:
    """Return the distinct keys, sorted, and the index of each key among them. Keys are at least −1. (`np.unique` is
    many times slower.)"""
    order, ordered = _sorted(keys)
    first = np.ones(len(keys), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = first.cumsum() - 1
    return ordered[first], numbers


def _sorted(keys: Ids) -> tuple[Ids, Ids]:
    """Return the indices that sort the keys, and the sorted keys. Sorting numbers is several times faster than
    `np.argsort`, so each key is joined with its index into one number if both fit."""
    bits = len(keys).bit_length()
    if not len(keys) or int(keys.max()) >= 1 << (62 - bits):
        order = np.argsort(keys)
        return order, keys[order]
    both = np.sort((keys + 1 << bits) | np.arange(len(keys)))
    return both & (1 << bits) - 1, (both >> bits) - 1


@dataclass
class WordCounts:
    """WordCounts of one side, or their prefixes. counts: how often each has been seen; the last is for unseen words."""

    letters: int | None
    ids: dict[str, int]
    counts: Floats

    @classmethod
    def counted(cls, words: Mapping[str, float], letters: int | None) -> "WordCounts":
        counts: dict[str, float] = {}
        for word, count in words.items():
            counts[word[:letters]] = counts.get(word[:letters], 0) + count
        numbers = {word: number for number, word in enumerate(counts)}
        return cls(letters, numbers, np.array([*counts.values(), UNSEEN], np.float32))

    def find(self, words: Iterable[str]) -> Places:
        """Return the id of each word."""
        unseen = len(self.ids)
        return np.array([self.ids.get(word[: self.letters], unseen) for word in words], np.int32)


@dataclass
class Level:
    """The words of both sides, or their prefixes of one length, and how often they are linked.

    types [N]: target × number of sources + source, ascending; counts [N+1]: how often each type is linked, and 0 for
    unknown types; totals: how often each source, and each target, is linked.
    """

    words: tuple[WordCounts, WordCounts]
    types: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Floats = field(default_factory=lambda: np.zeros(1, np.float32))
    totals: tuple[Floats, Floats] = field(init=False)

    def __post_init__(self) -> None:
        self.count(self.counts[:-1])

    def key(self, sources: Places, targets: Places) -> Ids:
        return targets.astype(np.int64) * len(self.words[0].counts) + sources

    def find(self, types: Ids) -> Places:
        """Return the positions of types; N for unknown ones."""
        places = np.searchsorted(self.types, types)
        there = np.append(self.types, -1)[places] == types
        return np.where(there, places, len(self.types)).astype(np.int32)

    def renew(self, sources: Places, targets: Places) -> Places:
        """Replace all types by these pairs of words, and return the positions of the pairs."""
        self.types, places = distinct(self.key(sources, targets))
        return places.astype(np.int32)

    def learn(self, places: Places, counts: Floats) -> None:
        """Set all counts: how often the types at these positions are linked; other types get 0."""
        self.count(np.bincount(places, counts, len(self.types)).astype(np.float32))

    def count(self, counts: Floats) -> None:
        """Set the counts of all types [N]."""
        sizes = [len(words.counts) for words in self.words]
        self.counts = np.append(counts, np.float32(0))
        self.totals = (
            np.bincount(self.types % sizes[0], counts, sizes[0]).astype(np.float32),
            np.bincount(self.types // sizes[0], counts, sizes[1]).astype(np.float32),
        )


@dataclass
class Located:
    """Types in each level of a lexicon. words: their source and target words; places: their positions; [N] each."""

    words: list[tuple[Places, Places]]
    places: list[Places]


@dataclass
class PrefixLexicon:
    """levels: from the fewest letters to all; concentration: α."""

    levels: list[Level]
    concentration: float

    @classmethod
    def new(cls, words: Sequence[Mapping[str, float]], concentration: float) -> "PrefixLexicon":
        """Return a lexicon of the words of both sides, without links."""
        source, target = words
        levels = [
            Level((WordCounts.counted(source, letters), WordCounts.counted(target, letters))) for letters in LETTERS
        ]
        return cls(levels, concentration)

    def locate(self, words: Sequence[Sequence[str]], sources: Ids, targets: Ids, new: bool = False) -> Located:
        """Find types in each level. words: the words of each side; sources, targets: the types, as indices of words;
        new: first replace the types of the lexicon by these."""
        located = Located([], [])
        for level in self.levels:
            source, target = (each.find(side) for each, side in zip(level.words, words, strict=True))
            located.words.append((source[sources], target[targets]))
            located.places.append(level.renew(*located.words[-1]) if new else level.find(level.key(*located.words[-1])))
        return located

    def learn(self, located: Located, counts: Floats) -> None:
        """Set all counts. counts [N]: how often each located type is linked; other types get 0."""
        for level, places in zip(self.levels, located.places, strict=True):
            level.learn(places, counts)

    def relearn(self, tally: "Tally") -> None:
        """Replace all types and counts by a tally, level by level, since a tally is large."""
        words = [list(each.ids) for each in self.levels[-1].words]
        targets, sources = np.divmod(tally.keys, len(words[0]))
        for level in self.levels:
            source, target = (each.find(side) for each, side in zip(level.words, words, strict=True))
            level.learn(level.renew(source[sources], target[targets]), tally.counts)

    def probabilities(self, located: Located) -> tuple[Floats, Floats]:
        """Return t(target | source) and t(source | target) of types, [N] each."""
        return self._given(located, 0), self._given(located, 1)

    def _given(self, located: Located, given: int) -> Floats:
        other, weight = 1 - given, np.float32(self.concentration)
        shorter: Floats = self.levels[0].words[other].counts.sum(keepdims=True)
        likely = np.ones(1, np.float32)
        for level, words, places in zip(self.levels, located.words, located.places, strict=True):
            seen = level.words[other].counts[words[other]]
            likely = level.counts[places] + weight * likely * (seen / shorter)
            likely /= level.totals[given][words[given]] + weight
            shorter = seen
        return likely


@dataclass
class Tally:
    """Counts of types, by their keys as in `IndexedBitext`. Beyond MOST_TYPES, the rarest types are dropped."""

    keys: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Floats = field(default_factory=lambda: np.zeros(0, np.float32))

    def add(self, keys: Ids, counts: Floats, least: float) -> None:
        """Add counts of distinct types, in the order of their keys; counts below `least` are ignored."""
        keys, counts = keys[counts >= least], counts[counts >= least]
        places = np.searchsorted(self.keys, keys)
        known = np.append(self.keys, -1)[places] == keys
        self.counts[places[known]] += counts[known]
        self.counts = np.insert(self.counts, places[~known], counts[~known])
        self.keys = np.insert(self.keys, places[~known], keys[~known])
        if len(self.keys) > MOST_TYPES:
            kept = np.sort(np.argpartition(self.counts, -MOST_TYPES)[-MOST_TYPES:])
            self.keys, self.counts = self.keys[kept], self.counts[kept]
