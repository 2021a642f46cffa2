"""What links make of more than two words: chunks, and spans of both sides that are each other's translation.

Och & Ney (2004), "The Alignment Template Approach to Statistical Machine Translation", Computational Linguistics, and
Koehn, Och & Marcu (2003), "Statistical Phrase-Based Translation", NAACL: two spans are consistent with the links if
there is a link between them, and none from a word of one of them to a word outside the other. Where two consistent
pairs of spans share a link, their intersections are consistent too. So each link has one smallest pair around it, and
of these the smallest, which hold no other, share no word that has a link.
"""

from collections.abc import Iterable

from synmt.text.links import Link

Chunk = tuple[list[int], list[int]]  # source words, target words
Phrase = tuple[int, int, int, int]  # first and last source word, first and last target word
Ends = dict[int, tuple[int, int]]


def chunks(links: Iterable[Link]) -> list[Chunk]:
    """Return the words that links join, directly or through others, in order; they need not stand together."""
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
    """Return the smallest consistent pairs of spans, in order. Words without links at their ends are in none."""
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
    """Return those of the source and of the target words that have a link."""
    of_sources: dict[int, list[int]] = {}
    of_targets: dict[int, list[int]] = {}
    for i, j in links:
        of_sources.setdefault(i, []).append(j)
        of_targets.setdefault(j, []).append(i)
    return of_sources, of_targets


def _smallest_around(word: int, ends: tuple[Ends, Ends]) -> Phrase:
    """Return the smallest consistent pair of spans around a source word; ends: the first and the last counterpart of
    each word that has a link."""
    target = ends[0][word][0]
    spans = [word, word], [target, target]
    waiting = [(0, word), (1, target)]  # inside the spans; what they are linked with may not be
    while waiting:
        side, each = waiting.pop()
        span = spans[1 - side]
        for other in ends[side].get(each, ()):
            waiting += [(1 - side, new) for new in (*range(other, span[0]), *range(span[1] + 1, other + 1))]
            span[:] = min(span[0], other), max(span[1], other)
    return (*spans[0], *spans[1])  # type: ignore[return-value]
