"""Compute γ of pairs with a trained model: by compiled code or, on a GPU or without a compiler, by torch.

With compiled code, γ of a pair depend only on that pair and the model: chains.c always adds up in the same order. In
torch and numpy, the rounding of a matrix product depends on its size, and so on the other pairs in the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Self

import numpy as np
from torch import Tensor

from synmt.alignment import compiled
from synmt.alignment.corpus import Opened
from synmt.alignment.extraction import SoftLinks
from synmt.data.batches import Ids, in_batches, pad
from synmt.data.records import SentencePair
from synmt.text.bpe import REMEMBERED, Bpe
from synmt.text.vocabulary import Vocabulary
from synmt.trees.record import ParseRecord

BATCH_TOKENS = 8192  # number of sentences × longest side
ON_GPU = 8  # factor for BATCH_TOKENS
Subwords = tuple[Ids, Sequence[int]]  # ids, and the index of each one's word


class Segmenter:
    """Splits the lowercased words of one side into subwords."""

    def __init__(self, bpe: Bpe, vocabulary: Vocabulary) -> None:
        self._ids = lru_cache(REMEMBERED)(lambda word: tuple(vocabulary.encode(bpe.segment(word.lower()))))

    def cut(self, words: Sequence[str]) -> Subwords:
        parts = list(map(self._ids, words))
        ids = np.fromiter(chain.from_iterable(parts), np.int32)
        whole = len(ids) == len(words)
        return ids, range(len(words)) if whole else [number for number, each in enumerate(parts) for _ in each]


@dataclass(frozen=True)
class CompiledReader:
    """words: splits the words of each side; the other fields are arguments of `compiled.e_step`."""

    words: tuple[Segmenter, Segmenter]
    vectors: compiled.Vectors
    directions: Sequence[compiled.ByVectors]
    agreement: int

    @classmethod
    def of(cls, opened: Opened[Any]) -> Self | None:
        """Return None for a model that compiled code cannot read."""
        if opened.device.type != "cpu" or not compiled.library():
            return None
        source, target = (Segmenter(opened.folder.bpe, each) for each in opened.folder.vocabularies)
        vectors, directions = opened.model.by_vectors()
        return cls((source, target), vectors, directions, opened.model.config.agreement)

    def links(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return γ of both directions, between subwords."""
        sources = [self.words[0].cut(pair.source.tokens) for pair in pairs]
        targets = [self.words[1].cut(pair.target.tokens) for pair in pairs]
        lengths = [max(len(x), len(y)) for (x, _), (y, _) in zip(sources, targets, strict=True)]

        def of_batch(batch: list[int]) -> list[SoftLinks]:
            x, y = ([side[number] for number in batch] for side in (sources, targets))
            source, target = (pad([ids for ids, _ in side], -1)[0].numpy() for side in (x, y))
            padded = source, target
            _, (there, back) = compiled.e_step(self.directions, padded, self.agreement, None, vectors=self.vectors)
            return [
                SoftLinks(forward[: len(v), : len(u)].T, backward[: len(u), : len(v)], own, other)
                for forward, backward, (u, own), (v, other) in zip(there, back, x, y, strict=True)
            ]

        return in_batches(lengths, BATCH_TOKENS, of_batch)


@dataclass(frozen=True)
class TorchReader:
    """totals: the normalizers of the model's emissions."""

    opened: Opened[Any]
    totals: Sequence[Tensor]

    @classmethod
    def of(cls, opened: Opened[Any]) -> Self:
        return cls(opened, opened.model.totals())

    def links(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return γ of both directions, between subwords."""
        read = partial(self.opened.model.posteriors, totals=self.totals)
        tokens = BATCH_TOKENS * (1 if self.opened.device.type == "cpu" else ON_GPU)
        return self.opened.links([in_lower_case(pair) for pair in pairs], read, batch_tokens=tokens)


def in_lower_case(pair: SentencePair) -> SentencePair:
    """Return the lowercased words of a pair, without its other fields."""
    source, target = (ParseRecord(tokens=[word.lower() for word in each.tokens]) for each in (pair.source, pair.target))
    return SentencePair(source, target, pair.lines)
