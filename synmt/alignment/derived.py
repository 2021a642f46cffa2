"""Data derived from links: chunks and phrases, links that trees suggest, agreement between trees.

Chunks and phrases: Och & Ney (2004), "The Alignment Template Approach to Statistical Machine Translation",
Computational Linguistics, and Koehn, Och & Marcu (2003), "Statistical Phrase-Based Translation", NAACL: two spans are
consistent with the links if some link joins them, and no link joins a word inside one to a word outside the other. If
two consistent pairs of spans share a link, their intersection is consistent too. Each link therefore has one smallest
consistent pair around it. The minimal ones among these, which contain no other, share no linked word.

Tree links (our own): aligners tend to miss rare words and distant ones. If an unlinked word on each side has the same
part of speech and the same place in its tree, next to words that are linked, the two probably belong together.

Agreement (our own): if two sentences have the same meaning, most arcs of one tree are also arcs of the other: links
join the dependents as well as the heads. In unrelated sentences, chance may link single words, but rarely both.
"""

from collections.abc import Iterable, Mapping, Set
from itertools import chain, product

from synmt.text.links import Link
from synmt.trees.dependency import dependents
from synmt.trees.record import ParseRecord

Chunk = tuple[list[int], list[int]]  # source words, target words
Phrase = tuple[int, int, int, int]  # first and last source word, first and last target word
Ends = dict[int, tuple[int, int]]
TREES = frozenset({"heads", "upos"})  # fields of records that tree links need


def chunks(links: Iterable[Link]) -> list[Chunk]:
    """Return the groups of words that links connect, directly or not, in order; they may be discontinuous."""
    counterparts = _counterparts(links)
    found: list[Chunk] = []
    seen: set[int] = set()
    for word in sorted(counterparts[0]):
        if word not in seen:
            joined: tuple[set[int], set[int]] = {word}, set()
            waiting = [(0, word)]
            while waiting:
                side, each = waiting.pop()
                new = set(counterparts[side][each]) - joined[1 - side]
                joined[1 - side].update(new)
                waiting += [(1 - side, other) for other in new]
            seen |= joined[0]
            found.append((sorted(joined[0]), sorted(joined[1])))
    return found


def phrases(links: Iterable[Link]) -> list[Phrase]:
    """Return the minimal consistent pairs of spans, in order. They neither start nor end with an unlinked word."""
    counterparts = _counterparts(links)
    of_sources, of_targets = ({word: (min(each), max(each)) for word, each in side.items()} for side in counterparts)
    spans = {_smallest_around(word, (of_sources, of_targets)) for word in of_sources}
    found: list[Phrase] = []
    taken: set[int] = set()  # source words with links
    for span in sorted(spans, key=lambda span: (span[1] - span[0], span[3] - span[2])):
        inside = of_sources.keys() & range(span[0], span[1] + 1)
        if not inside & taken:
            taken |= inside
            found.append(span)
    return sorted(found)


def _counterparts(links: Iterable[Link]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the counterparts of each linked source word, and of each linked target word."""
    of_sources: dict[int, list[int]] = {}
    of_targets: dict[int, list[int]] = {}
    for i, j in links:
        of_sources.setdefault(i, []).append(j)
        of_targets.setdefault(j, []).append(i)
    return of_sources, of_targets


def _smallest_around(word: int, ends: tuple[Ends, Ends]) -> Phrase:
    """Return the smallest consistent pair of spans around a source word; ends: the first and last counterpart of each
    linked word."""
    target = ends[0][word][0]
    spans = [word, word], [target, target]
    waiting = [(0, word), (1, target)]  # words in the spans whose counterparts may still be outside
    while waiting:
        side, each = waiting.pop()
        span = spans[1 - side]
        for other in ends[side].get(each, ()):
            waiting += [(1 - side, new) for new in (*range(other, span[0]), *range(span[1] + 1, other + 1))]
            span[:] = min(span[0], other), max(span[1], other)
    return (*spans[0], *spans[1])  # type: ignore[return-value]


def tree_links(links: Set[Link], source: ParseRecord, target: ParseRecord) -> set[Link]:
    """Return pairs of unlinked words with the same universal part of speech, whose heads are linked or some of whose
    dependents are. The records must have the fields in TREES."""
    of_source, of_target = dependents(source.heads), dependents(target.heads)  # words from 1, the root 0
    above = ((source.heads[i], target.heads[j]) for i, j in links if source.heads[i] and target.heads[j])
    below = (pair for i, j in links for pair in product(of_source[i + 1], of_target[j + 1]))
    near = ((u - 1, v - 1) for u, v in chain(above, below))
    linked_sources, linked_targets = {i for i, _ in links}, {j for _, j in links}
    return {
        (i, j)
        for i, j in near
        if i not in linked_sources and j not in linked_targets and source.upos[i] == target.upos[j]
    }


def agreement(links: Mapping[Link, float], source: ParseRecord, target: ParseRecord) -> float:
    """Return how well the arc above each word is linked, from 0 to 1, averaged over all words of both sides.

    An arc scores as much as its best counterpart: the product of the scores of the links that join the dependents and
    the heads, where two roots count as linked with score 1. Both records must have heads and at least one word.
    """
    best: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for (i, j), score in links.items():
        above = source.heads[i], target.heads[j]
        of_heads = 1.0 if above == (0, 0) else links.get((above[0] - 1, above[1] - 1), 0.0)
        for words, word in zip(best, (i, j), strict=True):
            words[word] = max(words.get(word, 0.0), score * of_heads)
    linked = sum(sum(words.values()) for words in best)
    return min(1.0, linked / (len(source.tokens) + len(target.tokens)))
