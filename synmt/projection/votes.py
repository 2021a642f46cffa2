"""What sources say of the words of a target: votes for arcs and for parts of speech.

Agić, Johannsen, Plank, Martínez Alonso, Schluter & Søgaard (2016), "Multilingual Projection for Parsing Truly
Low-Resource Languages", TACL: an arc of the source votes for each arc between words that its two words are linked to,
by the product of the scores of the two links; votes of several sources add up. Of a single source that has been parsed
by one parser, each arc has the weight 1 here.

Added to that: what depends on a source word without links hangs on the first word above it that has some. The links of
a target word count as much as one link at most. Words that one source word is linked to vote for each other.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from synmt.projection.source import Source
from synmt.trees.dependency import DEPENDENCY

Arc = tuple[int, int]  # head and word of a target, from 1; the head of a root is 0
Weights = defaultdict[str, float]  # of labels
TOGETHER = 0.5  # weight of an arc between words of one source word


@dataclass(slots=True)
class Votes:
    """arcs: for each arc, the weight of each relation, at most 1 a source in all; tags: for each word, from 1, that of
    each part of speech."""

    arcs: defaultdict[Arc, Weights] = field(default_factory=lambda: defaultdict(weights))
    tags: defaultdict[int, Weights] = field(default_factory=lambda: defaultdict(weights))

    def arc(self, arc: Arc) -> float:
        """Return what speaks for an arc, whatever its relation."""
        return sum(self.arcs[arc].values()) if arc in self.arcs else 0.0


def weights() -> Weights:
    return defaultdict(float)


def best(labels: Weights) -> str:
    """Return the label of the greatest weight, of equals the one that was voted for first."""
    return max(labels, key=labels.__getitem__)


def vote(source: Source, votes: Votes) -> None:
    """Add the votes of a source, as `whole` gives it."""
    record = source.record
    shared: defaultdict[int, float] = defaultdict(float)  # by target word
    for (_, j), score in source.links.items():
        shared[j] += score
    links: list[list[tuple[int, float]]] = [[] for _ in record.tokens]
    for (i, j), score in source.links.items():
        links[i].append((j + 1, score / max(1.0, shared[j])))
    for i, found in enumerate(links):
        for word, score in found:
            if record.upos:
                votes.tags[word][record.upos[i]] += score
            for other, its_score in found:
                if other != word:
                    votes.arcs[other, word][DEPENDENCY] += TOGETHER * score * its_score
        if found and record.heads:
            _vote_for_heads(i, links, source, votes)


def _vote_for_heads(i: int, links: list[list[tuple[int, float]]], source: Source, votes: Votes) -> None:
    """Add the votes of the words that source word i is linked to, for what the words above it are linked to."""
    record = source.record
    relation = record.deprels[i] if record.deprels else DEPENDENCY
    above = record.heads[i]
    while above and not links[above - 1]:
        above = record.heads[above - 1]
    for head, its_score in links[above - 1] if above else [(0, 1.0)]:
        for word, score in links[i]:
            if head != word:
                votes.arcs[head, word][relation] += score * its_score
