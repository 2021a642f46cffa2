"""The models of both directions, and how they learn (see idea.py).

Shapes: B pairs of J source and I target words, padded; N types, pairs of a source and a target word.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from synmt.alignment.hmm.bitext import Batch, IndexedBitext, Sentences
from synmt.alignment.hmm.chains import Floats, JumpCounts, Jumps, Posteriors, forward_backward, independent
from synmt.alignment.hmm.idea import Hmm
from synmt.alignment.hmm.lexicon import Lexicon, Words

DIAGONAL = 4.0  # κ
DIAGONAL_ROUNDS = 3


@dataclass
class Direction:
    """unlinked: how often each word that it predicts has come from none, the last an unseen one."""

    jumps: Jumps
    unlinked: Floats

    def rates(self, words: Words) -> Floats:
        """Return t(· | no word) of all words."""
        rates: Floats = (self.unlinked + words.counts / words.counts.sum()) / (self.unlinked.sum() + 1)
        return rates


@dataclass
class Model:
    """directions: forward, whose words are targets, and backward."""

    options: Hmm
    lexicon: Lexicon
    directions: tuple[Direction, Direction]

    @property
    def predicted(self) -> tuple[Words, Words]:
        """Return the words of either direction."""
        source, target = self.lexicon.levels[-1].words
        return target, source

    def posteriors(
        self, bitext: IndexedBitext, jumps: bool = True
    ) -> Iterator[tuple[Batch, list[Posteriors], list[JumpCounts]]]:
        """Yield γ [B,I,J] and γ′ [B,J,I] of each batch, and its jumps, if there are any yet."""
        lexical = [np.append(each, np.float32(0)) for each in self.lexicon.probabilities(bitext.types)]
        rates = [
            np.append(direction.rates(words)[words.find(own)], np.float32(0))
            for direction, words, own in zip(self.directions, self.predicted, reversed(bitext.words), strict=True)
        ]
        for batch in bitext.batches:
            likely = lexical[0][batch.types], np.ascontiguousarray(lexical[1][batch.types].transpose(0, 2, 1))
            sides = (batch.sources, batch.targets), (batch.targets, batch.sources)
            links, counts = [], []
            for direction, each, rate, (x, y) in zip(self.directions, likely, rates, sides, strict=True):
                null = np.float32(self.options.null)
                unlinked = np.where(y < 0, np.float32(1), null * rate[y])
                prior, real = _diagonal(x >= 0, y >= 0), (x >= 0).astype(np.float32)
                if jumps:
                    found, taken = forward_backward((1 - null) * each, unlinked, prior[:, 0], real, direction.jumps)
                    counts.append(taken)
                else:
                    found = independent((1 - null) * each, unlinked, prior)
                links.append(found)
            yield batch, links, counts


def _diagonal(sources: NDArray[np.bool_], targets: NDArray[np.bool_]) -> Floats:
    """Return p(j | i) ∝ exp(−κ |i/I − j/J|), [B,I,J], of words [B,J] and [B,I] that are there or not."""
    i, j = (
        np.minimum(1, (np.arange(words.shape[1]) + 0.5) / words.sum(axis=1, keepdims=True))  # 1 where padded
        for words in (targets, sources)
    )
    weights = np.exp(-DIAGONAL * np.abs(i[:, :, None] - j[:, None, :])) * sources[:, None, :]
    return (weights / weights.sum(axis=2, keepdims=True)).astype(np.float32)


def fit(options: Hmm, sources: Sentences, targets: Sentences) -> Model:
    """Fit a model to pairs, of which no side is empty."""
    lexicon = Lexicon.new(
        [Counter(word for words in side for word in words) for side in (sources, targets)], options.concentration
    )
    source, target = lexicon.levels[-1].words
    forward, backward = (
        Direction(Jumps.new(options.jump), np.zeros(len(words.counts), np.float32)) for words in (target, source)
    )
    model = Model(options, lexicon, (forward, backward))
    bitext = IndexedBitext.index(sources, targets, lexicon, new=True)
    lexicon.learn(bitext.types, _meetings(bitext))
    for number in tqdm(range(DIAGONAL_ROUNDS + options.rounds), unit="round", disable=None):
        _learn(model, bitext, jumps=number >= DIAGONAL_ROUNDS)
    return model


def _meetings(bitext: IndexedBitext) -> Floats:
    """Return how often types meet in a pair, in proportion to its longer side, [N]."""
    counts = np.zeros(len(bitext.types.places[0]) + 1, np.float32)
    for batch in bitext.batches:
        longer = np.maximum((batch.sources >= 0).sum(axis=1), (batch.targets >= 0).sum(axis=1))
        np.add.at(counts, batch.types, np.float32(1) / longer.astype(np.float32)[:, None, None])
    return counts[:-1]


def _learn(model: Model, bitext: IndexedBitext, jumps: bool) -> float:
    """Learn from all pairs once; return the log-likelihood of both directions before that."""
    counts = np.zeros(len(bitext.types.places[0]) + 1, np.float32)
    unlinked = [np.zeros(len(words) + 1, np.float32) for words in reversed(bitext.words)]
    taken = [JumpCounts(*np.zeros((2, 2 * model.options.jump + 1), np.float32)) for _ in model.directions]
    likelihood = 0.0
    for batch, links, of_batch in model.posteriors(bitext, jumps):
        np.add.at(counts, batch.types, links[0].links * links[1].links.transpose(0, 2, 1))
        for sums, found, ids in zip(unlinked, links, (batch.targets, batch.sources), strict=True):
            np.add.at(sums, ids, found.unlinked)
            likelihood += found.likelihood
        for total, some in zip(taken, of_batch, strict=False):
            total.seen += some.seen
            total.expected += some.expected
    model.lexicon.learn(bitext.types, counts[:-1])
    for direction, words, own, sums, total in zip(
        model.directions, model.predicted, reversed(bitext.words), unlinked, taken, strict=True
    ):
        direction.unlinked = np.bincount(words.find(own), sums[:-1], len(words.counts)).astype(np.float32)
        if jumps:
            direction.jumps.learn(total)
    return likelihood
