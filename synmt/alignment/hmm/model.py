"""The models of both directions, and their training (see aligner.py).

Shapes: B pairs of J source and I target words, padded; N types, that is, distinct pairs of a source and a target word.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from synmt.alignment import compiled
from synmt.alignment.chains import Chains, Found, Tables, agreed, independent
from synmt.alignment.hmm.bitext import Batch, IndexedBitext, Sides, chunks, similar_types
from synmt.alignment.hmm.lexicon import Lexicon, Tally, Words
from synmt.alignment.hmm.moves import FIRST_WEIGHTS, Floats, JumpCounts, Jumps, Moves, Numbers, Trees, relations
from synmt.alignment.hmm.similar import Similar

if TYPE_CHECKING:
    from synmt.alignment.hmm.aligner import Hmm

DIAGONAL = 4.0  # κ
DIAGONAL_ROUNDS = 3
LEAST_COUNT = 1e-4  # types that are linked less often in a part are ignored


@dataclass
class Direction:
    """The parameters of one direction. classes: the class of each given word; unlinked: how often each predicted word
    came from none; the last entry of both is for unseen words. jumps: in sentences and, with trees, in trees."""

    classes: NDArray[np.intp]
    jumps: list[Jumps]
    unlinked: Floats

    @classmethod
    def new(cls, options: "Hmm", given: Words, predicted: Words) -> "Direction":
        """Return an untrained direction. Each of the most frequent words has a class of its own; the others have 0."""
        counts = given.counts[:-1]
        frequent = np.argsort(-counts, kind="stable")[: options.frequent]
        classes = np.zeros(len(counts) + 1, np.intp)
        classes[frequent] = np.arange(1, len(frequent) + 1)
        jumps = [Jumps.new(len(frequent) + 1, options.jump)]
        if options.trees:
            jumps.append(Jumps(np.array([FIRST_WEIGHTS], np.float32) / np.float32(sum(FIRST_WEIGHTS))))
        return cls(classes, jumps, np.zeros(len(predicted.counts), np.float32))

    def rates(self, words: Words) -> Floats:
        """Return t(· | no word) of all words."""
        rates: Floats = (self.unlinked + words.counts / words.counts.sum()) / (self.unlinked.sum() + 1)
        return rates


@dataclass
class Counted:
    """Counts of one direction. unlinked: how often each word of a bitext comes from none; jumps: as in `Direction`."""

    unlinked: Floats
    jumps: list[JumpCounts]


@dataclass(frozen=True)
class Chances:
    """Probabilities of the words of a bitext in one direction. lexical [N+1]: (1 − p₀) t of each type, and 0 for
    padding; unlinked: p₀ t(y | no word) of each word y, and 1 for padding; classes: the class of each word x."""

    lexical: Floats
    unlinked: Floats
    classes: NDArray[np.intp]


@dataclass(frozen=True)
class Read:
    """Posteriors of one direction in a batch: found by its model of sentences and, with trees, its model of trees, each
    with weight ½. moves: the moves of each model."""

    found: list[Found]
    moves: list[Moves]

    @property
    def links(self) -> Floats:
        """Return γ [B,I,J]."""
        return self._mean([each.links for each in self.found])

    def count(self, into: Counted, ids: Numbers) -> None:
        """Add unlinked words, by their ids, and moves to the counts."""
        np.add.at(into.unlinked, ids, self._mean([each.unlinked for each in self.found]))
        for total, moves, found in zip(into.jumps, self.moves, self.found, strict=False):
            total.add(moves.counts(found.taken()))

    @staticmethod
    def _mean(parts: list[Floats]) -> Floats:
        return parts[0] if len(parts) == 1 else (parts[0] + parts[1]) / np.float32(2)


@dataclass
class Model:
    """directions: forward, which predicts target words, and backward."""

    options: "Hmm"
    lexicon: Lexicon
    directions: tuple[Direction, Direction]

    @classmethod
    def new(cls, options: "Hmm", lexicon: Lexicon) -> "Model":
        """Return an untrained model with a lexicon."""
        source, target = lexicon.levels[-1].words
        return cls(options, lexicon, (Direction.new(options, source, target), Direction.new(options, target, source)))

    def links(self, bitext: IndexedBitext) -> Iterator[tuple[Batch, list[Floats]]]:
        """Yield each batch with γ of both directions, [B,I,J] and [B,J,I]."""
        chances = self._chances(bitext)
        if self._is_compiled:
            directions = self._compiled(chances, self.counted())
            for batch in bitext.batches:
                yield batch, _compiled_read(directions, batch, self.options.agreement, None)[1]
            return
        for batch in bitext.batches:
            yield batch, [each.links for each in self._read(batch, chances, jumps=True)]

    def count(self, bitext: IndexedBitext, counted: Sequence[Counted], jumps: bool) -> Floats:
        """Add the counts of both directions to `counted`, and return how often each type is linked, [N]. Without
        `jumps`, no word depends on the previous one."""
        chances = self._chances(bitext)
        counts = np.zeros(len(bitext.keys) + 1, np.float32)
        if self._is_compiled:
            directions = self._compiled(chances, counted)
            steps = self.options.agreement if jumps else -1
            for batch in bitext.batches:
                _compiled_read(directions, batch, steps, counts)
            return counts[:-1]
        for batch in bitext.batches:
            both = self._read(batch, chances, jumps)
            np.add.at(counts, batch.types, both[0].links * both[1].links.transpose(0, 2, 1))
            for each, into, ids in zip(both, counted, (batch.targets, batch.sources), strict=True):
                each.count(into, ids)
        return counts[:-1]

    def likelihood(self, bitext: IndexedBitext) -> float:
        """Return the mean log-probability of a word of either side given the other side."""
        chances = self._chances(bitext)
        total = words = 0.0
        directions = self._compiled(chances, self.counted()) if self._is_compiled else []
        for batch in bitext.batches:
            words += sum(int((side >= 0).sum()) for side in (batch.sources, batch.targets))
            if directions:
                total += _compiled_read(directions, batch, 0, None)[0]
            else:
                both = self._read(batch, chances, jumps=True)
                total += sum(float(found.likelihood.sum()) for each in both for found in each.found) / len(
                    both[0].found
                )
        return total / words

    @property
    def _is_compiled(self) -> bool:
        return bool(compiled.library()) and not self.options.trees

    def counted(self) -> list[Counted]:
        """Return counts that are all 0."""
        return [
            Counted(
                np.zeros_like(direction.unlinked),  # the last entry counts padding
                [JumpCounts(*np.zeros((2, *each.weights.shape))) for each in direction.jumps],
            )
            for direction in self.directions
        ]

    def _chances(self, bitext: IndexedBitext) -> list[Chances]:
        """Return the chances of both directions, forward first."""
        null, (source, target) = np.float32(self.options.null), self.lexicon.levels[-1].words
        sources, targets = source.find(bitext.words[0]), target.find(bitext.words[1])
        sides = (sources, target, targets), (targets, source, sources)
        return [
            Chances(
                np.append((1 - null) * rates, np.float32(0)),
                np.append(null * direction.rates(words)[predicted], np.float32(1)),
                direction.classes[given],
            )
            for direction, rates, (given, words, predicted) in zip(
                self.directions, self.lexicon.probabilities(bitext.types), sides, strict=True
            )
        ]

    def _compiled(self, chances: Sequence[Chances], counted: Sequence[Counted]) -> list[compiled.ByTables]:
        """Return both directions for compiled code, which adds to `counted`."""
        both = []
        for own, direction, into in zip(chances, self.directions, counted, strict=True):
            weights, jumps = direction.jumps[0].weights, into.jumps[0]
            tables = own.lexical, own.unlinked, own.classes, weights
            both.append(compiled.ByTables(*tables, into.unlinked, jumps.seen, jumps.possible))
        return both

    def _read(self, batch: Batch, chances: Sequence[Chances], jumps: bool) -> list[Read]:
        """Return the posteriors of both directions in a batch."""
        sides = (batch.sources, batch.targets), (batch.targets, batch.sources)
        types = batch.types, batch.types.transpose(0, 2, 1)
        likely = [own.lexical[each] for own, each in zip(chances, types, strict=True)]
        if (evidence := batch.evidence()) is not None:
            likely = [likely[0] * evidence, likely[1] * evidence.transpose(0, 2, 1)]
        tables = [
            Tables(np.ascontiguousarray(each), own.unlinked[y])
            for each, own, (_, y) in zip(likely, chances, sides, strict=True)
        ]
        priors = [_diagonal(x >= 0, y >= 0) for x, y in sides]
        if not jumps:
            return [Read([found], []) for found in map(independent, tables, priors)]
        real = [(x >= 0).astype(np.float32) for x, _ in sides]
        moves = [
            direction.jumps[0].between(own.classes[x], there)
            for direction, own, (x, _), there in zip(self.directions, chances, sides, real, strict=True)
        ]
        chains = [
            Chains(words, move.likely, prior[:, 0]) for words, move, prior in zip(tables, moves, priors, strict=True)
        ]
        if self.options.trees:
            return [
                Read([row.posteriors(), tree.posteriors()], [move, tree.moves])
                for row, move, tree in zip(chains, moves, self._trees(batch, real, tables), strict=True)
            ]
        both = agreed((chains[0], chains[1]), self.options.agreement)
        return [Read([found], [move]) for found, move in zip(both, moves, strict=True)]

    def _trees(self, batch: Batch, real: Sequence[Floats], tables: Sequence[Tables]) -> Iterator[Trees]:
        """Yield the tree model of each direction, forward first."""
        sides = zip(self.directions, real, tables, batch.heads, reversed(batch.heads), strict=True)
        for direction, there, words, given, predicted in sides:
            if given is None or predicted is None:
                raise ValueError("trees of both sides are missing")
            moves = Moves(direction.jumps[1].weights, relations(given), there)
            start = there / there.sum(axis=1, keepdims=True)
            yield Trees(moves, words.likely, words.unlinked, start, predicted)


def _compiled_read(
    directions: Sequence[compiled.ByTables], batch: Batch, steps: int, counts: Floats | None
) -> compiled.Read:
    sides = batch.sources, batch.targets
    return compiled.read(directions, sides, steps, counts, batch.types, evidence=batch.evidence())


def _diagonal(sources: NDArray[np.bool_], targets: NDArray[np.bool_]) -> Floats:
    """Return p(j | i) ∝ exp(−κ |i/I − j/J|), [B,I,J]. sources [B,J] and targets [B,I]: True for words."""
    i, j = (
        np.minimum(1, (np.arange(words.shape[1]) + 0.5) / words.sum(axis=1, keepdims=True))  # 1 where padded
        for words in (targets, sources)
    )
    weights = np.exp(-DIAGONAL * np.abs(i[:, :, None] - j[:, None, :])) * sources[:, None, :]
    return (weights / weights.sum(axis=2, keepdims=True)).astype(np.float32)


class Parts:
    """Pairs that are indexed part by part. A single part stays in memory. Several parts are saved in temporary files,
    so that memory does not grow with their number; the types of a part are looked up again whenever it is read."""

    def __init__(
        self, sides: Sides, lexicon: Lexicon, similar: Similar | None = None, prior: Tally | None = None
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
                part = IndexedBitext.index(self.sides, rows, self.lexicon, similar=self.similar)
                self.files.append(TemporaryFile())  # noqa: SIM115 (removed with the parts)
                pickle.dump((part.batches, part.keys), self.files[number], protocol=5)
                yield part
            else:
                self.files[number].seek(0)
                batches, keys = pickle.load(self.files[number])
                yield IndexedBitext.of(self.sides, batches, keys, self.lexicon)

    def learn(self, found: Iterable[tuple[IndexedBitext, Floats]]) -> None:
        """Set the counts of the lexicon to how often the types [N] of each part are linked."""
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
    options: "Hmm", sides: Sides, similar: Similar | None = None, prior: Tally | None = None, quiet: bool = False
) -> Model:
    """Fit a model to pairs without empty sentences.

    similar: the words that an encoder finds similar, if there is one; prior: counts that links start from, if there are
    any; quiet: show no progress.
    """
    lexicon = Lexicon.new([side.counts() for side in sides], options.concentration)
    model, parts = Model.new(options, lexicon), Parts(sides, lexicon, similar, prior)
    parts.learn((bitext, _meetings(bitext)) for bitext in parts)
    rounds = DIAGONAL_ROUNDS + options.rounds
    with tqdm(total=rounds * len(sides[0]), unit=" pairs", desc="hmm", disable=quiet or None) as bar:
        for number in range(rounds):
            _learn(model, parts, number >= DIAGONAL_ROUNDS, bar)
    return model


def _meetings(bitext: IndexedBitext) -> Floats:
    """Return how often each type occurs, [N]: in each sentence pair, an occurrence counts 1 / length of longer side."""
    counts = np.zeros(len(bitext.keys) + 1, np.float32)
    for batch in bitext.batches:
        longer = np.maximum((batch.sources >= 0).sum(axis=1), (batch.targets >= 0).sum(axis=1))
        np.add.at(counts, batch.types, np.float32(1) / longer.astype(np.float32)[:, None, None])
    return counts[:-1]


def _learn(model: Model, parts: Parts, jumps: bool, bar: "tqdm[None]") -> None:
    """Train on all pairs once."""
    counted = model.counted()

    def linked() -> Iterator[tuple[IndexedBitext, Floats]]:
        for bitext in parts:
            yield bitext, model.count(bitext, counted, jumps)
            bar.update(sum(len(batch.rows) for batch in bitext.batches))

    parts.learn(linked())
    for direction, found in zip(model.directions, counted, strict=True):
        found.unlinked[-1] = 0
        direction.unlinked = found.unlinked
        for each, total in zip(direction.jumps if jumps else [], found.jumps, strict=False):
            each.learn(total)
