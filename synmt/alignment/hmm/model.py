"""The models of both directions, and their training (see aligner.py).

Shapes: B pairs of J source and I target words, padded; N types, that is, distinct pairs of a source and a target word.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from synmt.alignment import compiled
from synmt.alignment.chains import Chains, Emissions, Posteriors, agreed, independent
from synmt.alignment.hmm.bitext import Batch, IndexedBitext, Sides, chunks, similar_types
from synmt.alignment.hmm.config import HmmConfig
from synmt.alignment.hmm.lexicon import PrefixLexicon, Tally, WordCounts
from synmt.alignment.hmm.similar import Similar
from synmt.alignment.hmm.transitions import (
    FIRST_WEIGHTS,
    Floats,
    Numbers,
    TransitionCounts,
    TransitionProbabilities,
    TransitionWeights,
    TreeChains,
    relations,
)
from synmt.streams import bar

DIAGONAL = 4.0  # κ
DIAGONAL_ROUNDS = 3
LEAST_COUNT = 1e-4  # types that are linked less often in a chunk are ignored


@dataclass
class HmmDirection:
    """The parameters of one direction. classes: the class of each given word; unlinked: how often each predicted word
    came from none; the last entry of both is for unseen words. transitions: in sentences and, with trees, in trees."""

    classes: NDArray[np.intp]
    transitions: list[TransitionWeights]
    unlinked: Floats

    @classmethod
    def new(cls, config: HmmConfig, given: WordCounts, predicted: WordCounts) -> "HmmDirection":
        """Return an untrained direction. Each of the most frequent words has a class of its own; the others have 0."""
        counts = given.counts[:-1]
        frequent = np.argsort(-counts, kind="stable")[: config.frequent]
        classes = np.zeros(len(counts) + 1, np.intp)
        classes[frequent] = np.arange(1, len(frequent) + 1)
        transitions = [TransitionWeights.new(len(frequent) + 1, config.jump)]
        if config.trees:
            transitions.append(
                TransitionWeights(np.array([FIRST_WEIGHTS], np.float32) / np.float32(sum(FIRST_WEIGHTS)))
            )
        return cls(classes, transitions, np.zeros(len(predicted.counts), np.float32))

    def rates(self, words: WordCounts) -> Floats:
        """Return t(· | no word) of all words."""
        rates: Floats = (self.unlinked + words.counts / words.counts.sum()) / (self.unlinked.sum() + 1)
        return rates


@dataclass
class ExpectedCounts:
    """Expected counts of one direction. unlinked: how often each word of a bitext comes from none; transitions: as in
    `HmmDirection`."""

    unlinked: Floats
    transitions: list[TransitionCounts]


@dataclass(frozen=True)
class TypeEmissions:
    """Emission probabilities of a bitext in one direction. lexical [N+1]: (1 − p₀) t of each type, and 0 for
    padding; unlinked: p₀ t(y | no word) of each word y, and 1 for padding; classes: the class of each word x."""

    lexical: Floats
    unlinked: Floats
    classes: NDArray[np.intp]


@dataclass(frozen=True)
class MeanPosteriors:
    """Posteriors of one direction in a batch. models: those of its model of sentences and, with trees, of its model of
    trees, each with weight ½. transitions: of each model."""

    models: list[Posteriors]
    transitions: list[TransitionProbabilities]

    @property
    def links(self) -> Floats:
        """Return γ [B,I,J]."""
        return self._mean([each.links for each in self.models])

    def count(self, into: ExpectedCounts, ids: Numbers) -> None:
        """Add unlinked words, by their ids, and transitions to the counts."""
        np.add.at(into.unlinked, ids, self._mean([each.unlinked for each in self.models]))
        for total, transitions, found in zip(into.transitions, self.transitions, self.models, strict=False):
            total.add(transitions.counts(found.expected_transitions()))

    @staticmethod
    def _mean(parts: list[Floats]) -> Floats:
        return parts[0] if len(parts) == 1 else (parts[0] + parts[1]) / np.float32(2)


@dataclass
class HmmModel:
    """directions: forward, which predicts target words, and backward."""

    config: HmmConfig
    lexicon: PrefixLexicon
    directions: tuple[HmmDirection, HmmDirection]

    @classmethod
    def new(cls, config: HmmConfig, lexicon: PrefixLexicon) -> "HmmModel":
        """Return an untrained model with a lexicon."""
        source, target = lexicon.levels[-1].words
        return cls(
            config, lexicon, (HmmDirection.new(config, source, target), HmmDirection.new(config, target, source))
        )

    def links(self, bitext: IndexedBitext) -> Iterator[tuple[Batch, list[Floats]]]:
        """Yield each batch with γ of both directions, [B,I,J] and [B,J,I]."""
        emissions = self._emissions(bitext)
        if self._is_compiled:
            directions = self._compiled(emissions, self.expected())
            for batch in bitext.batches:
                yield batch, _compiled_e_step(directions, batch, self.config.agreement, None)[1]
            return
        for batch in bitext.batches:
            yield batch, [each.links for each in self._posteriors(batch, emissions, transitions=True)]

    def e_step(self, bitext: IndexedBitext, expected: Sequence[ExpectedCounts], transitions: bool) -> Floats:
        """Add the counts of both directions to `expected`, and return how often each type is linked, [N]. Without
        transitions, no word depends on the previous one."""
        emissions = self._emissions(bitext)
        counts = np.zeros(len(bitext.keys) + 1, np.float32)
        if self._is_compiled:
            directions = self._compiled(emissions, expected)
            steps = self.config.agreement if transitions else -1
            for batch in bitext.batches:
                _compiled_e_step(directions, batch, steps, counts)
            return counts[:-1]
        for batch in bitext.batches:
            both = self._posteriors(batch, emissions, transitions)
            np.add.at(counts, batch.types, both[0].links * both[1].links.transpose(0, 2, 1))
            for each, into, ids in zip(both, expected, (batch.targets, batch.sources), strict=True):
                each.count(into, ids)
        return counts[:-1]

    def likelihood(self, bitext: IndexedBitext) -> float:
        """Return the mean log-probability of a word of either side given the other side."""
        emissions = self._emissions(bitext)
        total = words = 0.0
        directions = self._compiled(emissions, self.expected()) if self._is_compiled else []
        for batch in bitext.batches:
            words += sum(int((side >= 0).sum()) for side in (batch.sources, batch.targets))
            if directions:
                total += _compiled_e_step(directions, batch, 0, None)[0]
            else:
                both = self._posteriors(batch, emissions, transitions=True)
                total += sum(float(found.likelihood.sum()) for each in both for found in each.models) / len(
                    both[0].models
                )
        return total / words

    @property
    def _is_compiled(self) -> bool:
        return bool(compiled.library()) and not self.config.trees

    def expected(self) -> list[ExpectedCounts]:
        """Return counts that are all 0."""
        return [
            ExpectedCounts(
                np.zeros_like(direction.unlinked),  # the last entry counts padding
                [TransitionCounts(*np.zeros((2, *each.weights.shape))) for each in direction.transitions],
            )
            for direction in self.directions
        ]

    def _emissions(self, bitext: IndexedBitext) -> list[TypeEmissions]:
        """Return the emissions of both directions, forward first."""
        null, (source, target) = np.float32(self.config.null), self.lexicon.levels[-1].words
        sources, targets = source.find(bitext.words[0]), target.find(bitext.words[1])
        sides = (sources, target, targets), (targets, source, sources)
        return [
            TypeEmissions(
                np.append((1 - null) * rates, np.float32(0)),
                np.append(null * direction.rates(words)[predicted], np.float32(1)),
                direction.classes[given],
            )
            for direction, rates, (given, words, predicted) in zip(
                self.directions, self.lexicon.probabilities(bitext.types), sides, strict=True
            )
        ]

    def _compiled(
        self, emissions: Sequence[TypeEmissions], expected: Sequence[ExpectedCounts]
    ) -> list[compiled.ByTables]:
        """Return both directions for compiled code, which adds to `expected`."""
        both = []
        for own, direction, into in zip(emissions, self.directions, expected, strict=True):
            weights, counts = direction.transitions[0].weights, into.transitions[0]
            tables = own.lexical, own.unlinked, own.classes, weights
            both.append(compiled.ByTables(*tables, into.unlinked, counts.seen, counts.possible))
        return both

    def _posteriors(self, batch: Batch, emissions: Sequence[TypeEmissions], transitions: bool) -> list[MeanPosteriors]:
        """Return the posteriors of both directions in a batch."""
        sides = (batch.sources, batch.targets), (batch.targets, batch.sources)
        types = batch.types, batch.types.transpose(0, 2, 1)
        linked = [own.lexical[each] for own, each in zip(emissions, types, strict=True)]
        if (evidence := batch.evidence()) is not None:
            linked = [linked[0] * evidence, linked[1] * evidence.transpose(0, 2, 1)]
        words = [
            Emissions(np.ascontiguousarray(each), own.unlinked[y])
            for each, own, (_, y) in zip(linked, emissions, sides, strict=True)
        ]
        priors = [_diagonal(x >= 0, y >= 0) for x, y in sides]
        if not transitions:
            return [MeanPosteriors([found], []) for found in map(independent, words, priors)]
        real = [(x >= 0).astype(np.float32) for x, _ in sides]
        jumps = [
            direction.transitions[0].between(own.classes[x], there)
            for direction, own, (x, _), there in zip(self.directions, emissions, sides, real, strict=True)
        ]
        chains = [
            Chains(each, jump.probabilities, prior[:, 0])
            for each, jump, prior in zip(words, jumps, priors, strict=True)
        ]
        if self.config.trees:
            return [
                MeanPosteriors([row.posteriors(), tree.posteriors()], [jump, tree.transitions])
                for row, jump, tree in zip(chains, jumps, self._trees(batch, real, words), strict=True)
            ]
        both = agreed((chains[0], chains[1]), self.config.agreement)
        return [MeanPosteriors([found], [jump]) for found, jump in zip(both, jumps, strict=True)]

    def _trees(self, batch: Batch, real: Sequence[Floats], words: Sequence[Emissions]) -> Iterator[TreeChains]:
        """Yield the tree model of each direction, forward first."""
        sides = zip(self.directions, real, words, batch.heads, reversed(batch.heads), strict=True)
        for direction, there, own, given, predicted in sides:
            if given is None or predicted is None:
                raise ValueError("trees of both sides are missing")
            transitions = TransitionProbabilities(direction.transitions[1].weights, relations(given), there)
            start = there / there.sum(axis=1, keepdims=True)
            yield TreeChains(transitions, own.linked, own.unlinked, start, predicted)


def _compiled_e_step(
    directions: Sequence[compiled.ByTables], batch: Batch, steps: int, counts: Floats | None
) -> compiled.Result:
    sides = batch.sources, batch.targets
    return compiled.e_step(directions, sides, steps, counts, batch.types, evidence=batch.evidence())


def _diagonal(sources: NDArray[np.bool_], targets: NDArray[np.bool_]) -> Floats:
    """Return p(j | i) ∝ exp(−κ |i/I − j/J|), [B,I,J]. sources [B,J] and targets [B,I]: True for words."""
    i, j = (
        np.minimum(1, (np.arange(words.shape[1]) + 0.5) / words.sum(axis=1, keepdims=True))  # 1 where padded
        for words in (targets, sources)
    )
    weights = np.exp(-DIAGONAL * np.abs(i[:, :, None] - j[:, None, :])) * sources[:, None, :]
    return (weights / weights.sum(axis=2, keepdims=True)).astype(np.float32)


class Chunks:
    """Pairs that are indexed chunk by chunk. A single chunk stays in memory. Several are saved in temporary files, so
    that memory does not grow with their number; the types of a chunk are looked up again whenever it is read."""

    def __init__(
        self, sides: Sides, lexicon: PrefixLexicon, similar: Similar | None = None, prior: Tally | None = None
    ) -> None:
        self.sides, self.lexicon, self.rows, self.similar = sides, lexicon, chunks(sides), similar
        self.prior = similar_types(sides, similar) if similar else Tally()
        if prior:
            self.prior.add(prior.keys, prior.counts, least=0)
        self.files: list[IO[bytes]] = []
        alone = len(self.rows) == 1
        self.only = IndexedBitext.index(sides, self.rows[0], lexicon, True, similar, self.prior.keys) if alone else None

    def __iter__(self) -> Iterator[IndexedBitext]:
        if self.only:
            yield self.only
        for number, rows in enumerate([] if self.only else self.rows):
            if number == len(self.files):
                chunk = IndexedBitext.index(self.sides, rows, self.lexicon, similar=self.similar)
                self.files.append(TemporaryFile())  # noqa: SIM115 (removed with the chunks)
                pickle.dump((chunk.batches, chunk.keys), self.files[number], protocol=5)
                yield chunk
            else:
                self.files[number].seek(0)
                batches, keys = pickle.load(self.files[number])
                yield IndexedBitext.of(self.sides, batches, keys, self.lexicon)

    def learn(self, found: Iterable[tuple[IndexedBitext, Floats]]) -> None:
        """Set the counts of the lexicon to how often the types [N] of each chunk are linked."""
        if self.only:
            for bitext, counts in found:
                counts[np.searchsorted(bitext.keys, self.prior.keys)] += self.prior.counts
                self.lexicon.learn(bitext.types, counts)
            return
        tally = Tally(self.prior.keys, self.prior.counts.copy())
        for bitext, counts in found:
            tally.add(bitext.keys, counts, LEAST_COUNT)
        self.lexicon.relearn(tally)


def fit(
    config: HmmConfig, sides: Sides, similar: Similar | None = None, prior: Tally | None = None, quiet: bool = False
) -> HmmModel:
    """Fit a model to pairs without empty sentences.

    similar: the words that an encoder finds similar, if there is one; prior: counts that links start from, if there are
    any; quiet: show no progress.
    """
    lexicon = PrefixLexicon.new([side.counts() for side in sides], config.concentration)
    model, chunked = HmmModel.new(config, lexicon), Chunks(sides, lexicon, similar, prior)
    chunked.learn((bitext, _cooccurrences(bitext)) for bitext in chunked)
    rounds = DIAGONAL_ROUNDS + config.rounds
    with bar("pairs", quiet=quiet, total=rounds * len(sides[0]), desc="hmm") as line:
        for number in range(rounds):
            _em_round(model, chunked, number >= DIAGONAL_ROUNDS, line.update)
    return model


def _cooccurrences(bitext: IndexedBitext) -> Floats:
    """Return how often each type occurs, [N]: in each sentence pair, an occurrence counts 1 / length of longer side."""
    counts = np.zeros(len(bitext.keys) + 1, np.float32)
    for batch in bitext.batches:
        longer = np.maximum((batch.sources >= 0).sum(axis=1), (batch.targets >= 0).sum(axis=1))
        np.add.at(counts, batch.types, np.float32(1) / longer.astype(np.float32)[:, None, None])
    return counts[:-1]


def _em_round(model: HmmModel, chunked: Chunks, transitions: bool, done: Callable[[int], object]) -> None:
    """Train on all pairs once: an E-step over all of them, and an M-step. done: is told how many more pairs
    have been read."""
    expected = model.expected()

    def linked() -> Iterator[tuple[IndexedBitext, Floats]]:
        for bitext in chunked:
            yield bitext, model.e_step(bitext, expected, transitions)
            done(sum(len(batch.rows) for batch in bitext.batches))

    chunked.learn(linked())
    for direction, found in zip(model.directions, expected, strict=True):
        found.unlinked[-1] = 0
        direction.unlinked = found.unlinked
        for each, total in zip(direction.transitions if transitions else [], found.transitions, strict=False):
            each.estimate(total)
