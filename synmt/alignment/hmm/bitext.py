"""Sentence pairs in batches of similar lengths, as the types of their words (see idea.py).

Shapes: B pairs of J source and I target words, padded; N types, pairs of a source and a target word.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synmt.alignment.hmm.lexicon import Ids, Lexicon, Located, Places, distinct

BATCH_CELLS = 1 << 17  # B × J × I
Sentences = Sequence[Sequence[str]]


@dataclass
class Batch:
    """rows [B]: which pairs; sources [B,J] and targets [B,I]: their words, −1 where padded; types [B,I,J]: those of
    their words with each other, N where padded."""

    rows: list[int]
    sources: Ids
    targets: Ids
    types: Places


@dataclass
class IndexedBitext:
    """words: those of either side, each once; types: where they are in the lexicon."""

    words: tuple[list[str], list[str]]
    batches: list[Batch]
    types: Located

    @classmethod
    def index(cls, sources: Sentences, targets: Sentences, lexicon: Lexicon, new: bool = False) -> "IndexedBitext":
        """new: the types of these pairs become those of the lexicon."""
        known: tuple[dict[str, int], dict[str, int]] = {}, {}
        ids = [
            [np.array([numbers.setdefault(word, len(numbers)) for word in words]) for words in side]
            for numbers, side in zip(known, (sources, targets), strict=True)
        ]
        words = list(known[0]), list(known[1])
        batches, found = [], [np.zeros(0, np.int64)]
        for rows in _grouped(*ids):
            source, target = (_padded([side[row] for row in rows]) for side in ids)
            keys = target[:, :, None] * len(words[0]) + source[:, None, :]
            keys[(target < 0)[:, :, None] | (source < 0)[:, None, :]] = -1
            own, places = distinct(keys.ravel())
            found.append(own)
            batches.append(Batch(rows, source, target, places.astype(np.int32).reshape(keys.shape)))
        types = np.sort(np.concatenate(found))
        types = types[(types >= 0) & (np.diff(types, prepend=-1) > 0)]
        for batch, own in zip(batches, found[1:], strict=True):
            numbers = np.where(own < 0, len(types), np.searchsorted(types, own)).astype(np.int32)
            batch.types = numbers[batch.types]
        located = lexicon.locate(words, types % len(words[0]), types // len(words[0]), new)
        return cls(words, batches, located)


def _grouped(sources: Sequence[Ids], targets: Sequence[Ids]) -> Iterator[list[int]]:
    """Yield the numbers of pairs of similar lengths."""
    rows: list[int] = []
    longest = 0, 0
    for row in sorted(range(len(sources)), key=lambda row: (len(targets[row]) // 4, len(sources[row]))):
        both = max(longest[0], len(sources[row])), max(longest[1], len(targets[row]))
        if rows and (len(rows) + 1) * both[0] * both[1] > BATCH_CELLS:
            yield rows
            rows, both = [], (len(sources[row]), len(targets[row]))
        rows.append(row)
        longest = both
    if rows:
        yield rows


def _padded(rows: Sequence[Ids]) -> Ids:
    padded = np.full((len(rows), max(map(len, rows))), -1, np.int64)
    for line, ids in zip(padded, rows, strict=True):
        line[: len(ids)] = ids
    return padded
