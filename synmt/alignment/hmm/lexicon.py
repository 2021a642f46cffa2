"""How likely words are as translations of words, by their first letters and by all of them (see aligner.py).

Shapes: N types, pairs of a source and a target word.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Places = NDArray[np.int32]
LETTERS = 4, 6, 8, None  # of a word, and last all
UNSEEN = 0.5  # how often a word has been seen that has not been
MOST_TYPES = 1 << 24  # that a tally holds, some 60 bytes each while it grows


def distinct(keys: Ids) -> tuple[Ids, Ids]:
    """Return the different keys, from −1 on, in order, and which of them each key is. (`np.unique` is many times
    slower.)"""
    order, ordered = _sorted(keys)
    first = np.ones(len(keys), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = first.cumsum() - 1
    return ordered[first], numbers


def _sorted(keys: Ids) -> tuple[Ids, Ids]:
    """Return where keys are, and they themselves, in order. Numbers are sorted several times faster than their places;
    so where both fit, they are sorted as one number."""
    bits = len(keys).bit_length()
    if not len(keys) or int(keys.max()) >= 1 << (62 - bits):
        order = np.argsort(keys)
        return order, keys[order]
    both = np.sort((keys + 1 << bits) | np.arange(len(keys)))
    return both & (1 << bits) - 1, (both >> bits) - 1


@dataclass
class Words:
    """Words of one side, or what they begin with. counts: how often each has been seen, and last an unseen one."""

    letters: int | None
    ids: dict[str, int]
    counts: Floats

    @classmethod
    def counted(cls, words: Mapping[str, float], letters: int | None) -> "Words":
        counts: dict[str, float] = {}
        for word, count in words.items():
            counts[word[:letters]] = counts.get(word[:letters], 0) + count
        numbers = {word: number for number, word in enumerate(counts)}
        return cls(letters, numbers, np.array([*counts.values(), UNSEEN], np.float32))

    def find(self, words: Iterable[str]) -> Places:
        """Return the number of each word."""
        unseen = len(self.ids)
        return np.array([self.ids.get(word[: self.letters], unseen) for word in words], np.int32)


@dataclass
class Level:
    """Words cut after so many letters, and how often two of them have been linked.

    types [N]: target × number of sources + source, in order; counts [N+1]: of each, and 0 of those that are not there;
    totals: how often each source, and each target, has been linked.
    """

    words: tuple[Words, Words]
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

    def count(self, counts: Floats) -> None:
        """Take the counts of all types [N]."""
        sizes = [len(words.counts) for words in self.words]
        self.counts = np.append(counts, np.float32(0))
        self.totals = (
            np.bincount(self.types % sizes[0], counts, sizes[0]).astype(np.float32),
            np.bincount(self.types // sizes[0], counts, sizes[1]).astype(np.float32),
        )


@dataclass
class Located:
    """Where types are in each level of a lexicon. words: their source and target; places: themselves; [N] each."""

    words: list[tuple[Places, Places]]
    places: list[Places]


@dataclass
class Lexicon:
    """levels: from the fewest letters to all; concentration: α."""

    levels: list[Level]
    concentration: float

    @classmethod
    def new(cls, words: Sequence[Mapping[str, float]], concentration: float) -> "Lexicon":
        """Return one that knows the words of both sides, and no links."""
        source, target = words
        levels = [Level((Words.counted(source, letters), Words.counted(target, letters))) for letters in LETTERS]
        return cls(levels, concentration)

    def locate(self, words: Sequence[Sequence[str]], sources: Ids, targets: Ids, new: bool = False) -> Located:
        """Return types, as numbers of the words of either side. new: they become those of the lexicon."""
        located = Located([], [])
        for level in self.levels:
            source, target = (each.find(side) for each, side in zip(level.words, words, strict=True))
            located.words.append((source[sources], target[targets]))
            types = level.key(*located.words[-1])
            if new:
                level.types, places = distinct(types)
                located.places.append(places.astype(np.int32))
            else:
                located.places.append(level.find(types))
        return located

    def learn(self, located: Located, counts: Floats) -> None:
        """Take how often types have been linked [N]; there are no others."""
        for level, places in zip(self.levels, located.places, strict=True):
            level.count(np.bincount(places, counts, len(level.types)).astype(np.float32))

    def relearn(self, tally: "Tally") -> None:
        """Take other types, and how often they have been linked."""
        words = [list(each.ids) for each in self.levels[-1].words]
        targets, sources = np.divmod(tally.keys, len(words[0]))
        self.learn(self.locate(words, sources, targets, new=True), tally.counts)

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
    """Counts of types, by their keys as in `IndexedBitext`. Of more than MOST_TYPES the rarest are forgotten."""

    keys: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Floats = field(default_factory=lambda: np.zeros(0, np.float32))

    def add(self, keys: Ids, counts: Floats, least: float) -> None:
        """Add counts of different types, in order of their keys; those below `least` count for nothing."""
        there = counts >= least
        every = np.concatenate([self.keys, keys[there]])
        self.keys, numbers = distinct(every)
        both = np.concatenate([self.counts, counts[there]])
        self.counts = np.bincount(numbers, both, len(self.keys)).astype(np.float32)
        if len(self.keys) > MOST_TYPES:
            kept = np.sort(np.argpartition(self.counts, -MOST_TYPES)[-MOST_TYPES:])
            self.keys, self.counts = self.keys[kept], self.counts[kept]
