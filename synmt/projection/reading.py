"""What speaks for the tree of one sentence, and what does by votes alone.

Near words speak for each other a little, by NEAR / d at the distance d: AFTER times as much for a head that comes after
the word, as it does for most articles, prepositions and adjectives, and FUNCTION times for a head that is no noun or
verb, since other words have few dependents in Universal Dependencies. So words that no source tells of get a head. The
numbers are tuned on English to German, on 500 sentences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from synmt.projection.source import is_mark
from synmt.projection.votes import Arc, Votes, best, weights
from synmt.trees.dependency import DEPENDENCY, UNKNOWN
from synmt.trees.spanning import Scores

NEAR, AFTER, FUNCTION = 0.2, 3.0, 0.1
CONTENT = frozenset({"NOUN", "PROPN", "VERB"})
ROOT = 1e-4  # for any word to be the root
MARK = "PUNCT"


class Reading(Protocol):
    """tags: parts of speech of the words of a sentence, or none; arcs: what speaks for each arc between the words that
    a tree is made of, [m+1,m+1]."""

    tags: list[str]
    arcs: Scores

    def confidence(self, arc: Arc) -> float:
        """Return how sure an arc is, 0 to 1."""
        ...

    def relations(self, heads: Mapping[int, int]) -> dict[int, str]:
        """Return the relation of each word to its head."""
        ...


class Reader(Protocol):
    """Reads what sources say of a sentence."""

    def read(self, tokens: Sequence[str], sentence: range, words: Sequence[int], votes: Votes, sources: int) -> Reading:
        """tokens: of the record; sentence, words: those of one sentence of it, and of these the ones that a tree is
        made of, from 1; sources: that vote."""
        ...


@dataclass(slots=True)
class VotesReading:
    """Votes, and near words where there are none."""

    tags: list[str]
    arcs: Scores
    votes: Votes
    sources: int

    def confidence(self, arc: Arc) -> float:
        return min(1.0, self.votes.arc(arc) / self.sources)

    def relations(self, heads: Mapping[int, int]) -> dict[int, str]:
        """If no source has the arc, that which sources know of the word."""
        return {word: self._relation((head, word)) for word, head in heads.items()}

    def _relation(self, arc: Arc) -> str:
        arcs = self.votes.arcs
        found = weights()
        for other in [arc] if arc in arcs else [each for each in arcs if each[1] == arc[1]]:
            for relation, weight in arcs[other].items():
                found[relation] += weight
        found.pop("root", None)
        return best(found) if found else DEPENDENCY


class NearWords:
    """A reader of votes alone."""

    def read(
        self, tokens: Sequence[str], sentence: range, words: Sequence[int], votes: Votes, sources: int
    ) -> VotesReading:
        tags = {word: best(votes.tags[word]) if word in votes.tags else UNKNOWN for word in sentence}
        known = [MARK if is_mark(tokens[word - 1]) else tags[word] for word in sentence]
        return VotesReading(
            known if votes.tags else [], _scores([tags[word] for word in words], words, votes), votes, sources
        )


def _scores(tags: Sequence[str], words: Sequence[int], votes: Votes) -> Scores:
    n = len(words)
    distance = np.subtract.outer(np.arange(n), np.arange(n))  # head minus word
    share = np.array([1.0 if tag in CONTENT or not votes.tags else FUNCTION for tag in tags])
    scores = np.full((n + 1, n + 1), ROOT)
    scores[1:, 1:] = share[:, None] * np.where(distance > 0, AFTER * NEAR, NEAR) / np.maximum(1, np.abs(distance))
    place = {word: number for number, word in enumerate(words, 1)} | {0: 0}
    for head, word in votes.arcs:
        if head in place and word in place:
            scores[place[head], place[word]] += votes.arc((head, word))
    return scores
