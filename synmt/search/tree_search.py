"""A beam search over trees: compares hypotheses with the same number of words, not of tokens.

In a beam of tokens, a hypothesis that writes an arc competes with others that write a word instead, and the same words
under other arcs fill the beam. Here hypotheses wait for each other at each subword, as in the word-level search of
Stern, Fried & Klein (2017), "Effective Inference for Generative Neural Parsing" (EMNLP). Hypotheses that have the same
words at that point are merged: their probabilities add up, and the search continues with the most likely tree.

Shapes: B unfinished sentences, K hypotheses per sentence, T target vocabulary, t positions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from synmt.components.output import ArcOutput, Hypotheses, Hypothesis, Left
from synmt.model.translation import TranslationModel
from synmt.nn.decoders import Steps
from synmt.nn.encoding import SourceBatch
from synmt.search.beam import largest
from synmt.search.config import SearchConfig
from synmt.text.vocabulary import END, UNKNOWN
from synmt.trees.arc_tokens import Kind
from synmt.trees.transitions import SUBWORDS, State

Key = tuple[tuple[int, ...], bool]
Continuations = list[list[tuple[float, int]]]  # per hypothesis: log-probabilities and tokens, best first


@dataclass(slots=True)
class Partial:
    """A hypothesis. words: its subwords and, if it has ended, the end; hypotheses with the same words are merged.

    log_probability: of its tokens; total: the logarithm of the summed probabilities of all merged hypotheses; state,
    left: as in Hypotheses; row: its index among the decoder's rows of the sentence.
    """

    ids: list[int]
    words: tuple[int, ...]
    log_probability: float
    total: float
    state: State
    left: Left
    row: int = 0

    @property
    def has_ended(self) -> bool:
        return self.words[-1:] == (END,) or not self.left[1]


@torch.inference_mode()
def tree_search(
    model: TranslationModel, source: SourceBatch, config: SearchConfig, arcs: ArcOutput
) -> list[list[Hypothesis]]:
    """Return the finished hypotheses of each sentence as `beam_search` does, all with different words.

    The score rates the words: it is the logarithm of the summed probabilities of all target strings found for them,
    divided by a length penalty on words. Several strings may spell one tree, with its arcs in different orders.
    """
    search = _TreeSearch(model, source, config, arcs)
    search.run()
    return [sorted(found, key=lambda hypothesis: -hypothesis.score) for found in search.finished]


@torch.inference_mode()
def sums_over_strings(
    model: TranslationModel, source: SourceBatch, targets: Sequence[Sequence[int]], beam: int, arcs: ArcOutput
) -> list[float]:
    """Return log P(words) of given translations, summed over the target strings with arcs that a beam finds. This is a
    lower bound of the sum over all strings. targets: subwords and the end.

    A tree counts once per string that spells it. A word with dependents on both sides can take them in either order, so
    three words have seven trees and eight strings.

    Raises FloatingPointError if no string has a finite probability.
    """
    search = _TreeSearch(model, source, SearchConfig(beam, search="words"), arcs, targets)
    search.run()
    if not all(search.finished):
        raise FloatingPointError("no string of these words has a probability")
    return [reduce(_log_sum, (each.log_probability for each in found)) for found in search.finished]


class _TreeSearch:
    """The state of a search. Everything with a first dimension B shrinks as sentences finish.

    moving [B][at most K]: hypotheses that may still write arcs before their next word.
    waiting [B]: the best hypotheses that have written their next word, by their key for merging: at most K open ones,
    which are in the decoder `held`, and K that have ended.
    targets [B]: to score given words, the subwords and the end of each sentence; then only their trees compete.
    """

    def __init__(
        self,
        model: TranslationModel,
        source: SourceBatch,
        config: SearchConfig,
        arcs: ArcOutput,
        targets: Sequence[Sequence[int]] = (),
    ) -> None:
        encoded = model.encode(source)
        self.config, self.arcs, self.begin, self.targets = config, arcs, model.begin, targets
        self.device, self.beam = source.ids.device, config.beam
        self.decoder = model.decoder.start(model.network, encoded, self.beam)
        self.held: Steps | None = None
        if targets:
            limits = [len(target) - 1 for target in targets]
        else:
            limits = [config.longest(words) for words in source.words.tolist()]
        self.hypotheses = Hypotheses(arcs, config.constraints, limits, self.device)
        assert arcs.automaton
        self.start, self.kinds = arcs.automaton.start, [token.kind for token in arcs.automaton.tokens]
        kinds = self.hypotheses.kinds
        self.is_word = (kinds & (SUBWORDS | Kind.END)) != 0
        self.finished: list[list[Hypothesis]] = [[] for _ in limits]
        self.alive = list(range(len(limits)))  # the sentence of each row
        start = zip(self.hypotheses.states, self.hypotheses.left, strict=True)
        self.moving = [[Partial([], (), 0.0, 0.0, state, left)] for state, left in start]
        self.waiting: list[dict[Key, Partial]] = [{} for _ in limits]

    def run(self) -> None:
        while self.alive:
            self.step()

    def key(self, partial: Partial) -> Key:
        """Return the key by which hypotheses are merged."""
        return tuple(partial.ids) if self.targets else partial.words, partial.has_ended

    def next_words(self, rows: Sequence[Partial], values: Tensor) -> Tensor:
        """Return the log-probabilities [B,K,T] of the words that the hypotheses `rows` [B·K] may write next; −∞ for
        arcs and other tokens."""
        if self.targets:
            return self._given_words(rows, values)
        values = values.masked_fill(~self.is_word, float("-inf"))
        values[:, :, UNKNOWN] = float("-inf")
        begins = torch.tensor([not partial.ids for partial in rows], device=self.device)
        values[:, :, END].masked_fill_(begins.view(-1, self.beam), float("-inf"))
        return values

    def _given_words(self, rows: Sequence[Partial], values: Tensor) -> Tensor:
        sentences = [sentence for sentence in self.alive for _ in range(self.beam)]
        pairs = zip(sentences, rows, strict=True)
        gold = [self.targets[sentence][len(partial.words)] for sentence, partial in pairs]
        places = torch.tensor(gold, device=self.device).view(len(self.alive), self.beam, 1)
        return torch.full_like(values, float("-inf")).scatter(2, places, values.gather(2, places))

    def step(self) -> None:
        words, arcs = self._continuations()
        for row, moving in enumerate(self.moving):
            for child in self._children(moving, words[row]):
                self._wait(row, child)
            self._move(row, self._children(moving, arcs[row]))
        self._go_on()

    def _continuations(self) -> tuple[list[Continuations], list[Continuations]]:
        """Return the best next words and the best next arcs of all moving hypotheses, [B][K][..]."""
        rows = [partial for moving in self.moving for partial in self._filled(moving)]
        longest = max(len(partial.ids) for partial in rows)
        ids = [[self.begin, *partial.ids, *[self.begin] * (longest - len(partial.ids))] for partial in rows]
        prefixes = torch.tensor(ids, device=self.device).view(len(self.moving), self.beam, -1)
        lengths = torch.tensor([1 + len(partial.ids) for partial in rows], device=self.device).view(-1, self.beam)
        self.hypotheses.states = [partial.state for partial in rows]
        self.hypotheses.left = [partial.left for partial in rows]
        self.decoder.grow(self.hypotheses)
        logits = self.decoder.logits(prefixes, lengths).float()
        values = logits - logits.logsumexp(dim=2, keepdim=True)
        self.hypotheses.forbid(values)
        words, arcs = self.next_words(rows, values), values.masked_fill(self.is_word, float("-inf"))
        return _best(words, 2 * self.beam), _best(arcs, self.beam)

    def _filled(self, moving: Sequence[Partial]) -> list[Partial]:
        """Return K hypotheses in the order of their rows, padded with unused ones."""
        none = Partial([], (), 0.0, 0.0, self.start, (1, 1))
        return [*moving, *[none] * (self.beam - len(moving))]

    def _children(self, moving: Sequence[Partial], found: Continuations) -> list[Partial]:
        return [
            self._child(partial, token, value)
            for partial, pairs in zip(moving, found, strict=False)
            for value, token in pairs
        ]

    def _child(self, partial: Partial, token: int, value: float) -> Partial:
        state, left = self.arcs.after(token, partial.state, partial.left)
        words = (*partial.words, token) if self.kinds[token] & (SUBWORDS | Kind.END) else partial.words
        ids = [*partial.ids, token]
        return Partial(ids, words, partial.log_probability + value, partial.total + value, state, left, partial.row)

    def _wait(self, row: int, child: Partial) -> None:
        """Add a hypothesis to the waiting ones; merge it with the one that has the same key, if any."""
        key = self.key(child)
        other = self.waiting[row].get(key)
        if other is not None:
            total = _log_sum(child.total, other.total)
            child = max(child, other, key=lambda each: each.log_probability)
            child.total = total
        self.waiting[row][key] = child

    def _move(self, row: int, children: Sequence[Partial]) -> None:
        """Keep the best waiting hypotheses, and the moving children that can still beat the worst open one."""
        ranked = sorted(self.waiting[row].values(), key=_by_total)
        still_open, ended = ([each for each in ranked if each.has_ended == has][: self.beam] for has in (False, True))
        self.waiting[row] = {self.key(each): each for each in (*still_open, *ended)}
        least = still_open[-1].total if len(still_open) == self.beam else float("-inf")
        self.moving[row] = []
        for child in sorted(children, key=_by_total):
            if child.has_ended:  # at its length limit
                self._wait(row, child)
            elif child.total > least and len(self.moving[row]) < self.beam:
                self.moving[row].append(child)

    def _go_on(self) -> None:
        """Start the next word of sentences without moving hypotheses, and drop finished sentences."""
        for row, moving in enumerate(self.moving):
            if not moving:
                self.moving[row] = self._next_word(row)
        kept = [row for row, moving in enumerate(self.moving) if moving]
        held = [[each for each in waiting.values() if not each.has_ended] for waiting in self.waiting]
        if kept:
            self._rearrange(kept, held)
        self.alive = [self.alive[row] for row in kept]
        self.moving, self.waiting = [self.moving[row] for row in kept], [self.waiting[row] for row in kept]

    def _next_word(self, row: int) -> list[Partial]:
        """Move ended hypotheses among the K best to the finished ones, and return the K best open ones."""
        ranked, finished = sorted(self.waiting[row].values(), key=_by_total), self.finished[self.alive[row]]
        self.waiting[row] = {}
        for each in ranked[: self.beam]:
            if each.has_ended:
                ids = each.ids[:-1] if each.ids[-1] == END else each.ids
                score = each.total / self.config.penalty(max(1, len(each.words)))  # a string may have arcs alone
                finished.append(Hypothesis(ids, each.log_probability, score))
        if len(finished) >= self.beam:
            return []
        return [each for each in ranked if not each.has_ended][: self.beam]

    def _rearrange(self, kept: Sequence[int], held: Sequence[Sequence[Partial]]) -> None:
        """Reorder the decoder by the moving hypotheses, and `held` by the waiting ones."""
        rows = [self._rows(partials, kept) for partials in (self.moving, held)]
        self.decoder, self.held = (self.decoder.joined(self.held, each) for each in rows)
        if len(kept) < len(self.alive):
            self.decoder.select(torch.tensor(kept, device=self.device), None)
        for first, partials in ((0, self.moving), (self.beam, held)):
            for of_sentence in partials:
                for place, partial in enumerate(of_sentence, first):
                    partial.row = place

    def _rows(self, partials: Sequence[Sequence[Partial]], kept: Sequence[int]) -> Tensor:
        """Return the indices of the hypotheses of some sentences, K each, among the rows of the decoder followed by the
        rows of `held`."""
        rows = []
        for sentence in kept:
            places = [partial.row for partial in partials[sentence]]
            places += [0] * (self.beam - len(places))
            for place in places:
                waits, own = divmod(place, self.beam)
                rows.append((waits * len(self.alive) + sentence) * self.beam + own)
        return torch.tensor(rows, device=self.device)


def _by_total(partial: Partial) -> float:
    return -partial.total


def _log_sum(one: float, other: float) -> float:
    """Return log(exp(one) + exp(other))."""
    return max(one, other) + math.log1p(math.exp(-abs(one - other)))


def _best(values: Tensor, count: int) -> list[Continuations]:
    """Return the best finite values [B,K,T] and their tokens, at most `count` per hypothesis, best first."""
    found, tokens = (each.tolist() for each in largest(values, min(count, values.shape[2])))
    return [
        [
            [pair for pair in zip(*both, strict=True) if math.isfinite(pair[0])]
            for both in zip(of_values, of_tokens, strict=True)
        ]
        for of_values, of_tokens in zip(found, tokens, strict=True)
    ]
