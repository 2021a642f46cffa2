"""Evidence for the tree of a target: votes for arcs and parts of speech from parsed sentences that are linked to it.

`vote`: Agić, Johannsen, Plank, Martínez Alonso, Schluter & Søgaard (2016), "Multilingual Projection for Parsing Truly
Low-Resource Languages", TACL. An arc of the source votes for each arc between words that its two words are linked to,
by the product of the scores of the two links; the votes of several sources add up. With a single source and a single
parser, each source arc has weight 1. We add three rules: the dependents of a source word without links attach to the
first linked word above it; the links of a target word count as much as one link at most; and words linked to the same
source word vote for each other.

`project`: Hwa, Resnik, Weinberg, Cabezas & Kolak (2005), "Bootstrapping Parsers via Syntactic Projection across
Parallel Texts", Natural Language Engineering. Words from source to target:

- 1:1: project arc and relation.
- n:1: use the source word nearest to the root, and of equals the one with the best link.
- 1:n: the target word with the best link represents the source word, and the others depend on it. (In the paper, all
  depend on a new word without a form, which no treebank has.)
- a source word without links: its dependents attach to the first linked word above it, as they would in the paper if
  the new word were removed.
- a target word without links gets no head.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from synmt.text.links import Link, check_inside, check_words, read_scores
from synmt.text.tokenization import is_punctuation
from synmt.trees.dependency import DEPENDENCY, UNKNOWN, depths
from synmt.trees.record import ParseRecord

SYMBOLS = frozenset("%&@#*/§‰")  # punctuation to Unicode, but not to Universal Dependencies
Arc = tuple[int, int]  # head and word of a target, from 1; the head of a root is 0
Weights = defaultdict[str, float]  # of labels
TOGETHER = 0.5  # weight of an arc between words linked to the same source word


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed sentence, and the links from its words to the target's words, with scores from 0 to 1."""

    record: ParseRecord
    links: Mapping[Link, float]


def is_mark(word: str) -> bool:
    """Return whether a word is a punctuation mark."""
    return is_punctuation(word) and word not in SYMBOLS


def read_scored_links(text: str, source: Sequence[str], target: Sequence[str]) -> dict[Link, float]:
    """Return the links of one line between these words.

    Raises LinkError for malformed links, and for links between other words.
    """
    fields, links = read_scores(text)
    check_words(fields, source, target)
    check_inside(links.keys(), len(source), len(target))
    return links


def whole(source: Source, target: ParseRecord) -> Source:
    """Prepare a source for projection: remove links of punctuation marks, and join its sentences if need be.

    If the target is a single sentence, the roots of further source sentences attach to the first root as `parataxis`.
    """
    record = source.record
    roots = [word for word, head in enumerate(record.heads) if head == 0]
    if len(roots) > 1 and not target.sentences:
        first, *others = roots
        heads, deprels = list(record.heads), list(record.deprels)
        for word in others:
            heads[word] = first + 1
            deprels[word : word + 1] = ["parataxis"] * bool(deprels)
        record = replace(record, heads=heads, deprels=deprels, sentences=[])
    source_marks, target_marks = (list(map(is_mark, words)) for words in (record.tokens, target.tokens))
    links = {
        (i, j): score
        for (i, j), score in source.links.items()
        if score > 0 and not source_marks[i] and not target_marks[j]
    }
    return Source(record, links)


def sentences(record: ParseRecord) -> list[range]:
    """Return the range of words of each sentence of a record, from 1."""
    ends = list(accumulate(record.sentences or [len(record.tokens)]))
    return [range(start + 1, end + 1) for start, end in zip([0, *ends], ends, strict=False)]


@dataclass(slots=True)
class Votes:
    """Weights of relations and parts of speech.

    sources: how many sources vote.
    arcs: for each arc, the weights of its relations, which sum to at most 1 per source.
    tags: for each word, from 1, the weights of its parts of speech.
    """

    sources: int = 1
    arcs: defaultdict[Arc, Weights] = field(default_factory=lambda: defaultdict(weights))
    tags: defaultdict[int, Weights] = field(default_factory=lambda: defaultdict(weights))

    def arc(self, arc: Arc) -> float:
        """Return the total weight of an arc over all relations."""
        return sum(self.arcs[arc].values()) if arc in self.arcs else 0.0


def weights() -> Weights:
    return defaultdict(float)


def best(labels: Weights) -> str:
    """Return the label with the largest weight, the first of equals."""
    return max(labels, key=labels.__getitem__)


def vote(source: Source, votes: Votes) -> None:
    """Add the votes of a source as prepared by `whole`."""
    record = source.record
    shared: defaultdict[int, float] = defaultdict(float)  # by target word
    for (_, j), score in source.links.items():
        shared[j] += score
    links: list[list[tuple[int, float]]] = [[] for _ in record.tokens]
    for (i, j), score in source.links.items():
        links[i].append((j + 1, score / max(1.0, shared[j])))
    for i, found in enumerate(links):
        for word, score in found:
            if record.upos and record.upos[i] != UNKNOWN:
                votes.tags[word][record.upos[i]] += score
            for other, its_score in found:
                if other != word:
                    votes.arcs[other, word][DEPENDENCY] += TOGETHER * score * its_score
        if found and record.heads:
            _vote_for_heads(i, links, source, votes)


def _vote_for_heads(i: int, links: list[list[tuple[int, float]]], source: Source, votes: Votes) -> None:
    """Add votes for arcs between words linked to source word i and words linked to a word above it."""
    record = source.record
    relation = record.deprels[i] if record.deprels else DEPENDENCY
    above = record.heads[i]
    while above and not links[above - 1]:
        above = record.heads[above - 1]
    for head, its_score in links[above - 1] if above else [(0, 1.0)]:
        for word, score in links[i]:
            if head != word:
                votes.arcs[head, word][relation] += score * its_score


def project(source: Source, votes: Votes) -> None:
    """Add one vote per projected arc, the product of the scores of its links."""
    record = source.record
    depth = depths(record.heads) if record.heads else [1] * len(record.tokens)
    linked: dict[int, tuple[int, float]] = {}  # from target word to source word and score
    for (i, j), score in source.links.items():
        known = linked.get(j)
        if known is None or (-depth[i], score) > (-depth[known[0]], known[1]):
            linked[j] = i, score
    best: dict[int, tuple[int, float]] = {}  # from source word to the target word that represents it
    for j, (i, score) in sorted(linked.items()):
        if i not in best or score > best[i][1]:
            best[i] = j, score
    for j, (i, score) in linked.items():
        if record.upos and record.upos[i] != UNKNOWN:
            votes.tags[j + 1][record.upos[i]] += score
        word, its_score = best[i]
        if j != word:
            votes.arcs[word + 1, j + 1][DEPENDENCY] += score * its_score
        elif record.heads:
            above = record.heads[i]
            while above and above - 1 not in best:
                above = record.heads[above - 1]
            head, its_score = best[above - 1] if above else (-1, 1.0)
            relation = record.deprels[i] if record.deprels else DEPENDENCY
            votes.arcs[head + 1, j + 1][relation] += score * its_score
