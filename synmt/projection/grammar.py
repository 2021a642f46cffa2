"""A grammar: log-linear models of a language's dependencies, trained on the votes for the sentences of a corpus.

Sources are wrong where links are wrong, and have no evidence for words without links, but each sentence has these
problems at different words. Three log-linear models (McCallum, Freitag & Pereira 2000; Hall 2007, "K-best Spanning Tree
Parsing", ACL) predict

- the part of speech of each word, from its letters and its neighbours,
- the head of each word, among all words of the sentence and the root,
- the relation of each arc.

The loss of a prediction is the mean of −log p over everything that was voted for, weighted by votes. Words without
votes do not count, as in training on partial trees (Lacroix, Aufrant, Wisniewski & Yvon 2016, "Frustratingly Easy
Cross-Lingual Transfer for Transition-Based Dependency Parsing", NAACL). The score of an arc in the tree is then log p +
TRUST times its share of the votes; tags and relations work the same way. We tuned the constants on 500 English–German
sentences.

The models learn online over hashed features. Each pair of feature and label has a weight, a label's score is the sum of
its weights, and each step descends the gradient of the loss at the rate of AdaGrad (Duchi, Hazan & Singer 2011,
"Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", JMLR), which falls as a weight
accumulates steps.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synmt.projection.features import (
    Codes,
    TaggedSentence,
    WordFeatures,
    arc_features,
    relation_features,
    sentence,
    tag_features,
    words_of,
)
from synmt.projection.tree import MARK
from synmt.projection.votes import Arc, Votes
from synmt.streams import bar
from synmt.trees.dependency import DEPENDENCY
from synmt.trees.spanning import Scores

Floats = NDArray[np.float32]
RATE = 0.1  # learning rate of the first step; the last step has a twentieth of it
START = 0.01  # initial sum of squared gradients
LEAST_GRADIENT = 1e-4  # smaller ones are not worth a step
Labels = dict[str, int]  # labels and their numbers
TRUST, TRUST_IN_TAGS = 0.4, 0.1
LEAST = 1e-6  # added to probabilities, so that nothing is impossible
BITS_OF_ARCS, BITS_OF_LABELS = 20, 17
PASSES = 2  # passes over the tags of a corpus; one pass is enough for arcs, which are far more numerous
LONGEST = 60  # words; we do not train on longer sentences, which are projected badly and cost quadratic time
SEED = 1  # determines the order of sentences


class LogLinear:
    """A log-linear model. weights: [2^bits × labels], of all features and labels."""

    def __init__(self, bits: int, labels: int) -> None:
        self.weights = np.zeros(labels << bits, np.float32)
        self._squares = np.full(labels << bits, START, np.float32)
        self._bits, self._labels = bits, labels

    def scores(self, features: Codes) -> Floats:
        """Return the score of each label. features: [...,k]; returns [...,labels]."""
        found: Floats = self.weights.reshape(-1, self._labels)[self._rows(features)].sum(-2)
        return found

    def step(self, features: Codes, gradient: Floats, done: float) -> None:
        """Take a step.

        features: [...,k]; gradient: of the loss with respect to the scores, [...,labels]; done: finished share of the
        training.
        """
        steep = np.abs(gradient) > LEAST_GRADIENT
        labels = steep.nonzero()[-1]
        rows = self._rows(features[steep.nonzero()[:-1]])  # [s,k]
        places = (rows * self._labels + labels[:, None]).ravel()
        slopes = np.repeat(gradient[steep], features.shape[-1])
        np.add.at(self._squares, places, slopes * slopes)
        rate = np.float32(RATE * (1 - 0.95 * done))
        np.subtract.at(self.weights, places, rate * slopes / np.sqrt(self._squares[places]))

    def _rows(self, features: Codes) -> NDArray[np.int64]:
        return (features >> np.uint64(64 - self._bits)).astype(np.int64)


def softmax(scores: Floats, axis: int) -> Floats:
    """Return the probabilities of these scores."""
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    found: Floats = powers / powers.sum(axis=axis, keepdims=True)
    return found


@dataclass(frozen=True, slots=True)
class Told:
    """The votes for a sentence as arrays with one row per vote. Words count from 1; head 0 is the root."""

    words: WordFeatures
    tagged: NDArray[np.int64]  # words
    tags: NDArray[np.int64]
    of_tags: Floats  # weights of the votes for tags
    arcs: NDArray[np.int64]  # [2,rows], head and word
    relations: NDArray[np.int64]
    of_arcs: Floats  # weights of the votes for arcs

    def tag_votes(self, tags: int) -> Floats:
        """Return the share of each tag among a word's votes, [n,tags]; shares sum to at most 1."""
        found = np.zeros((len(self.words), tags), np.float32)
        np.add.at(found, (self.tagged - 1, self.tags), self.of_tags)
        return found / np.maximum(1, found.sum(axis=1, keepdims=True))

    def arc_votes(self) -> Floats:
        """Return the share of each head among a word's votes, [n+1,n]; shares sum to at most 1."""
        n = len(self.words)
        found = np.zeros((n + 1, n), np.float32)
        np.add.at(found, (self.arcs[0], self.arcs[1] - 1), self.of_arcs)
        return found / np.maximum(1, found.sum(axis=0))

    def relation_votes(self) -> Floats:
        """Return the share of each vote for an arc among all votes for this arc, [rows]; shares sum to at most 1."""
        places = np.ravel_multi_index(tuple(self.arcs), (len(self.words) + 1,) * 2)
        totals = np.bincount(places, self.of_arcs).astype(np.float32)
        return self.of_arcs / np.maximum(np.float32(1), totals[places])


@dataclass(slots=True)
class GrammarReading:
    """The reading of a sentence by a grammar and votes.

    start: number of words before the sentence in its record; chances: probabilities of heads, [n+1,n].
    """

    grammar: "Grammar"
    told: Told
    seen: TaggedSentence
    start: int
    tags: list[str]
    arcs: Scores
    chances: Floats

    def confidence(self, arc: Arc) -> float:
        head, word = (self._place(each) for each in arc)
        return float(self.chances[head, word - 1])

    def relations(self, heads: Mapping[int, int]) -> dict[int, str]:
        words = [word for word, head in heads.items() if head]
        arcs = np.array([[self._place(heads[word]), self._place(word)] for word in words], np.int64).reshape(-1, 2).T
        return dict(zip(words, self.grammar.relations_of(self.seen, arcs, self.told), strict=True))

    def _place(self, word: int) -> int:
        return word - self.start if word else 0


class Grammar:
    """The models of a language. `learn` trains them on a corpus."""

    def __init__(self) -> None:
        self._tags: Labels = {MARK: 0}
        self._relations: Labels = {DEPENDENCY: 0}
        self._of_tags, self._of_arcs, self._of_relations = LogLinear(0, 1), LogLinear(0, 1), LogLinear(0, 1)

    def learn(self, corpus: Iterable[tuple[Sequence[str], range, Votes]]) -> None:
        """Train on the votes for sentences, each given as the tokens of its record, its range of words and the
        votes."""
        told = [each for each in (self._told(*each) for each in corpus) if len(each.words) <= LONGEST]
        self._of_tags = LogLinear(BITS_OF_LABELS, len(self._tags))
        self._of_arcs = LogLinear(BITS_OF_ARCS, 1)
        self._of_relations = LogLinear(BITS_OF_LABELS, len(self._relations))
        order = np.random.default_rng(SEED)
        places = np.concatenate([order.permutation(len(told)) for _ in range(PASSES)])
        for number, place in enumerate(bar("sentences", places, desc="tags")):
            self._learn_tags(told[place], number / len(places))
        places = order.permutation(len(told))
        for number, place in enumerate(bar("sentences", places, desc="trees")):
            self._learn_arcs(told[place], number / len(places))

    def read(self, tokens: Sequence[str], sentence: range, words: Sequence[int], votes: Votes) -> GrammarReading:
        """Read a sentence of the corpus on which the grammar was trained; arguments as for `read_votes`."""
        told = self._told(tokens, sentence, votes)
        seen, tags = self._seen(told)
        logs = np.log(softmax(self._heads(told.words, self._of_arcs.scores(arc_features(seen))), axis=0) + LEAST)
        found = logs + TRUST * told.arc_votes()
        start = sentence.start - 1
        places = [0, *(word - start for word in words)]
        arcs = np.zeros((len(places), len(places)))
        arcs[:, 1:] = found[np.ix_(places, [place - 1 for place in places[1:]])]
        has_tags = len(self._tags) > 1
        return GrammarReading(self, told, seen, start, tags if has_tags else [], arcs, softmax(found, axis=0))

    def relations_of(self, seen: TaggedSentence, arcs: NDArray[np.int64], told: Told) -> list[str]:
        """Return the relations of arcs, [2,m], none of them the root's."""
        logs = np.log(softmax(self._of_relations.scores(relation_features(seen, *arcs)), axis=1) + LEAST)
        row = {(head, word): number for number, (head, word) in enumerate(arcs.T.tolist())}
        votes = zip(told.arcs.T.tolist(), told.relations, told.relation_votes(), strict=True)
        for (head, word), relation, share in votes:
            if (head, word) in row:
                logs[row[head, word], relation] += TRUST * share
        names = list(self._relations)
        return [names[best] for best in logs.argmax(axis=1)]

    def _told(self, tokens: Sequence[str], sentence: range, votes: Votes) -> Told:
        start, end = sentence.start - 1, sentence.stop - 1
        tagged = [
            (word - start, self._tags.setdefault(tag, len(self._tags)), weight)
            for word in sentence
            for tag, weight in votes.tags.get(word, {}).items()
        ]
        arcs = [
            (head and head - start, word - start, self._relations.setdefault(relation, len(self._relations)), weight)
            for (head, word), relations in votes.arcs.items()
            if word in sentence and (head == 0 or head in sentence)
            for relation, weight in relations.items()
        ]
        of_tags, of_arcs = np.array(tagged).reshape(-1, 3).T, np.array(arcs).reshape(-1, 4).T
        return Told(
            words=words_of(tokens[start:end]),
            tagged=of_tags[0].astype(np.int64),
            tags=of_tags[1].astype(np.int64),
            of_tags=of_tags[2].astype(np.float32),
            arcs=of_arcs[:2].astype(np.int64),
            relations=of_arcs[2].astype(np.int64),
            of_arcs=of_arcs[3].astype(np.float32),
        )

    def _seen(self, told: Told) -> tuple[TaggedSentence, list[str]]:
        """Tag a sentence."""
        logs = np.log(softmax(self._of_tags.scores(tag_features(told.words)), axis=1) + LEAST)
        logs += TRUST_IN_TAGS * told.tag_votes(len(self._tags))
        names = list(self._tags)
        likeliest = np.where(told.words.marks, self._tags[MARK], logs.argmax(axis=1))
        tags = [names[tag] for tag in likeliest]
        return sentence(told.words, tags), tags

    def _learn_tags(self, told: Told, done: float) -> None:
        features, votes = tag_features(told.words), told.tag_votes(len(self._tags))
        votes[told.words.marks] = np.eye(len(self._tags), dtype=np.float32)[self._tags[MARK]]
        chances = softmax(self._of_tags.scores(features), axis=1)
        self._of_tags.step(features, chances * votes.sum(axis=1, keepdims=True) - votes, done)

    def _learn_arcs(self, told: Told, done: float) -> None:
        seen, _ = self._seen(told)
        features, votes = arc_features(seen), told.arc_votes()
        chances = softmax(self._heads(told.words, self._of_arcs.scores(features)), axis=0)
        self._of_arcs.step(features, (chances * votes.sum(axis=0) - votes)[..., None], done)
        below = told.arcs[0] > 0
        features = relation_features(seen, *told.arcs[:, below])
        gradient = softmax(self._of_relations.scores(features), axis=1)
        gradient[np.arange(len(gradient)), told.relations[below]] -= 1
        self._of_relations.step(features, gradient * told.relation_votes()[below, None], done)

    def _heads(self, words: WordFeatures, scores: Floats) -> Floats:
        """Return the scores of heads, [n+1,n], excluding the word itself and punctuation marks. scores: [n+1,n,1]."""
        found = scores[..., 0]
        found[1:][np.eye(len(words), dtype=np.bool_) | words.marks[:, None]] = -np.inf
        return found
