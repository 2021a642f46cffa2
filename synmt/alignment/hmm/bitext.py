"""Sentence pairs as words, with compounds split into parts, in batches of similar lengths (see aligner.py).

Compounds: Koehn & Knight (2003), "Empirical Methods for Compound Splitting", EACL. No word list is needed: a word is
split if the geometric mean of its parts' counts exceeds its own count. Of several splits, the one with the greatest
mean is used. Linking letters stay with the part before them.

Shapes: B pairs of J source and I target words, padded; N types, pairs of a source and a target word.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from math import log

import numpy as np

from synmt.alignment.hmm.lexicon import UNSEEN, Floats, Ids, Located, Places, PrefixLexicon, Tally, distinct
from synmt.alignment.hmm.similar import KAPPA, Cells, Similar

BATCH_CELLS = 1 << 17  # B × J² or B × I², whichever is greater: transitions lead from any word to any other
MOST_CELLS = 3 << 23  # Σ J × I of pairs that are indexed in one chunk; each cell takes about 40 bytes
CHUNK_CELLS = 1 << 23  # of pairs that are indexed in several chunks, since the lexicon grows, too
JOINING = "s", "n", "es", "en", "-"  # in German and related languages; the hyphen is universal
LEAST_PART_COUNT = 3
MOST_PARTS = 3
LONGEST = 100  # most letters of a word to split

Parts = tuple[str, ...]


@dataclass(frozen=True)
class Compounds:
    """The words of one side. counts: how often each occurred; letters: least length of a part, 0 to split nothing;
    parts: the parts of each known word."""

    counts: Mapping[str, float]
    letters: int
    parts: dict[str, Parts] = field(default_factory=dict)

    @classmethod
    def learn(cls, counts: Mapping[str, float], letters: int) -> "Compounds":
        """Split all words."""
        compounds = cls(counts, letters)
        compounds.parts.update((word, compounds.cut(word)) for word in counts)
        return compounds

    def of(self, word: str) -> Parts:
        """Return the parts of a word, which spell it when joined."""
        return self.parts.get(word) or self.cut(word)

    def counts_of_parts(self) -> dict[str, float]:
        """Return how often each part occurred in the known words."""
        counts: dict[str, float] = {}
        for word, parts in self.parts.items():
            for part in parts:
                counts[part] = counts.get(part, 0) + self.counts[word]
        return counts

    def cut(self, word: str) -> Parts:
        """Return the best split of a word; it may be the whole word."""
        best: Parts = (word,)
        most = log(self.counts.get(word, UNSEEN))
        if self.letters and 2 * self.letters <= len(word) <= LONGEST:
            for parts, total in self._ways(word, MOST_PARTS):
                if total / len(parts) > most:
                    best, most = parts, total / len(parts)
        return best

    def _ways(self, word: str, most: int) -> Iterator[tuple[Parts, float]]:
        """Yield the splits of a word into at most `most` known parts, each with the sum of the logarithms of counts."""
        if (count := self.counts.get(word, 0)) >= LEAST_PART_COUNT:
            yield (word,), log(count)
        if most == 1:
            return
        for place in range(self.letters, len(word) - self.letters + 1):
            part = word[:place]
            if (count := self._joined(part)) >= LEAST_PART_COUNT:
                for parts, total in self._ways(word[place:], most - 1):
                    yield (part, *parts), log(count) + total

    def _joined(self, part: str) -> float:
        """Return how often a part occurred, with or without linking letters."""
        whole = self.counts.get(part, 0)
        if whole >= LEAST_PART_COUNT:
            return whole
        shorter = (part.removesuffix(letters) for letters in JOINING if part.endswith(letters))
        return max((self.counts.get(each, 0) for each in shorter if len(each) >= self.letters), default=0)


@dataclass
class IndexedSentences:
    """The sentences of one side, in a few bytes per word. words: the id of each distinct word; ids: of all words in
    order; ends: 0 and the end of each sentence; heads: of all words, counted from 1 in their sentence, 0 for a root;
    empty without trees."""

    words: dict[str, int] = field(default_factory=lambda: defaultdict(count().__next__))
    ids: array = field(default_factory=lambda: array("i"))
    ends: array = field(default_factory=lambda: array("q", [0]))
    heads: array = field(default_factory=lambda: array("i"))

    def add(self, words: Sequence[str], heads: Sequence[int] = ()) -> None:
        self.heads.extend(heads)
        self.ids.extend(map(self.words.__getitem__, words))
        self.ends.append(len(self.ids))

    def cut(self, cut: Callable[[str], Sequence[str]]) -> "IndexedSentences":
        """Return the sentences with each word replaced by its parts. In trees, the last part takes the place of the
        word, and the other parts depend on it."""
        side = IndexedSentences()
        parts = [list(map(side.words.__getitem__, cut(word))) for word in self.words]
        sizes, ids = np.array(list(map(len, parts)), np.int64), np.frombuffer(self.ids, np.int32)
        firsts, numbers = np.cumsum(sizes) - sizes, np.fromiter(chain.from_iterable(parts), np.int32)
        of_words, last = sizes[ids], np.cumsum(sizes[ids])  # parts up to the end of each word
        within = np.arange(len(of_words) and last[-1]) - np.repeat(last - of_words, of_words)
        side.ids.frombytes(numbers[np.repeat(firsts[ids], of_words) + within].tobytes())
        places, ends = np.append(0, last), np.frombuffer(self.ends, np.int64)
        side.ends = array("q", places[ends].tobytes())
        if len(self.heads):
            begin = np.repeat(ends[:-1], np.diff(ends))  # start of each word's sentence
            above = places[begin + np.frombuffer(self.heads, np.int32)]
            heads = np.where(
                within + 1 < np.repeat(of_words, of_words), *(np.repeat(each, of_words) for each in (last, above))
            )
            side.heads.frombytes((heads - np.repeat(places[begin], of_words)).astype(np.int32).tobytes())
        return side

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, row: int) -> Places:
        return np.frombuffer(self.ids, np.int32)[self.ends[row] : self.ends[row + 1]]

    def heads_of(self, group: Sequence[int]) -> Ids | None:
        """Return the heads of some sentences, counted from 0, −1 for roots and padding, [B,J]; None without trees."""
        heads = np.frombuffer(self.heads, np.int32)
        return _padded([heads[self.ends[row] : self.ends[row + 1]] - 1 for row in group]) if len(heads) else None

    def lengths(self) -> Ids:
        ends = np.frombuffer(self.ends, np.int64)
        return ends[1:] - ends[:-1]

    def counts(self) -> dict[str, int]:
        """Return how often each word occurs."""
        counts = np.bincount(np.frombuffer(self.ids, np.int32), minlength=len(self.words))
        return dict(zip(self.words, counts.tolist(), strict=True))


Sides = tuple[IndexedSentences, IndexedSentences]


def similar_types(sides: Sides, similar: Similar) -> Tally:
    """Return the counts that links start from with an encoder: κ q² for each pair of similar words."""
    ends = np.frombuffer(similar.ends, np.int64)
    sizes = ends[1:] - ends[:-1]
    sources, targets = (
        np.frombuffer(side.ids, np.int32)[np.repeat(side.ends[:-1], sizes) + np.frombuffer(places, np.int32)]
        for side, places in zip(sides, (similar.sources, similar.targets), strict=True)
    )
    types, numbers = distinct(targets.astype(np.int64) * len(sides[0].words) + sources)
    counts = np.bincount(numbers, KAPPA * np.frombuffer(similar.q, np.float32) ** 2, len(types))
    return Tally(types, counts.astype(np.float32))


def chunks(sides: Sides) -> list[range]:
    """Return ranges of pairs to index together."""
    source, target = (side.lengths() for side in sides)
    cells = np.cumsum(source * target)
    total = int(cells[-1]) if len(cells) else 0
    parts = -(-total // CHUNK_CELLS) if total > MOST_CELLS else min(total, 1)
    ends = np.searchsorted(cells, np.arange(1, parts) * (total / max(parts, 1)))
    return [range(*each) for each in zip([0, *ends.tolist()], [*ends.tolist(), len(cells)], strict=True)]


@dataclass
class Batch:
    """rows [B]: indices of the pairs; sources [B,J] and targets [B,I]: ids of their words, −1 for padding; types
    [B,I,J]: ids of pairs of words, N for padding; heads: of each side, [B,J] and [B,I], −1 for roots and padding, if
    there are trees; similar: the words that an encoder finds similar, if there is one."""

    rows: list[int]
    sources: Ids
    targets: Ids
    types: Places
    heads: tuple[Ids | None, Ids | None]
    similar: Cells | None = None

    def evidence(self) -> Floats | None:
        """Return the factor of each link, [B,I,J]; None without an encoder."""
        return self.similar.evidence(self.types.shape) if self.similar else None


@dataclass
class IndexedBitext:
    """words: the distinct words of each side; keys [N]: of types, target × number of sources + source, ascending;
    types: their positions in the lexicon."""

    words: tuple[list[str], list[str]]
    batches: list[Batch]
    keys: Ids
    types: Located

    @classmethod
    def index(
        cls,
        sides: Sides,
        rows: range,
        lexicon: PrefixLexicon,
        new: bool = False,
        similar: Similar | None = None,
        more: Ids | None = None,
    ) -> "IndexedBitext":
        """Index some of the pairs. new: replace the types of the lexicon by theirs; more: keys of further types."""
        batches, found = [], [np.zeros(0, np.int64) if more is None else more]
        for group in _grouped(sides, rows):
            source, target = (_padded([side[row] for row in group]) for side in sides)
            keys = target[:, :, None] * len(sides[0].words) + source[:, None, :]
            keys[(target < 0)[:, :, None] | (source < 0)[:, None, :]] = -1
            own, places = distinct(keys.ravel())
            found.append(own)
            heads, cells = (sides[0].heads_of(group), sides[1].heads_of(group)), similar.of(group) if similar else None
            batches.append(Batch(group, source, target, places.astype(np.int32).reshape(keys.shape), heads, cells))
        types = np.sort(np.concatenate(found))
        types = types[(types >= 0) & (np.diff(types, prepend=-1) > 0)]
        for batch, own in zip(batches, found[1:], strict=True):
            numbers = np.where(own < 0, len(types), np.searchsorted(types, own)).astype(np.int32)
            batch.types = numbers[batch.types]
        return cls.of(sides, batches, types, lexicon, new)

    @classmethod
    def of(
        cls, sides: Sides, batches: list[Batch], keys: Ids, lexicon: PrefixLexicon, new: bool = False
    ) -> "IndexedBitext":
        """Look types up in a lexicon."""
        words = list(sides[0].words), list(sides[1].words)
        targets, sources = np.divmod(keys, len(words[0]))
        return cls(words, batches, keys, lexicon.locate(words, sources, targets, new))


def _grouped(sides: Sides, rows: range) -> Iterator[list[int]]:
    """Yield groups of pairs of similar lengths, as indices."""
    sources, targets = (side.lengths().tolist() for side in sides)
    group: list[int] = []
    longest = 0, 0
    for row in sorted(rows, key=lambda row: (targets[row] // 4, sources[row])):
        both = max(longest[0], sources[row]), max(longest[1], targets[row])
        if group and (len(group) + 1) * max(both) ** 2 > BATCH_CELLS:
            yield group
            group, both = [], (sources[row], targets[row])
        group.append(row)
        longest = both
    if group:
        yield group


def _padded(rows: Sequence[Places]) -> Ids:
    padded = np.full((len(rows), max(map(len, rows))), -1, np.int64)
    for line, ids in zip(padded, rows, strict=True):
        line[: len(ids)] = ids
    return padded
