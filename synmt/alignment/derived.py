"""What follows from links: chunks and phrases, links that trees suggest, how far trees agree, and a table of words.

Chunks and phrases: Och & Ney (2004), "The Alignment Template Approach to Statistical Machine Translation",
Computational Linguistics, and Koehn, Och & Marcu (2003), "Statistical Phrase-Based Translation", NAACL: two spans are
consistent with the links if there is a link between them, and none from a word of one of them to a word outside the
other. Where two consistent pairs of spans share a link, their intersections are consistent too. So each link has one
smallest pair around it, and of these the smallest, which hold no other, share no word that has a link.

Tree links, our own: aligners leave out words that are rare or far away. Where such words of both sides have one part of
speech and the same place in both trees, next to words that are linked, they most likely belong together.

Agreement, our own: where two sentences mean the same, most arcs of one tree are arcs of the other, too: links join the
dependents as well as the heads. In pairs of unrelated sentences, chance may link single words, but hardly two pairs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain, product
from pathlib import Path

from synmt.model.files import naming, write_aside
from synmt.streams import BadInput
from synmt.text.links import Link
from synmt.trees.dependency import dependents
from synmt.trees.record import ParseRecord

Chunk = tuple[list[int], list[int]]  # source words, target words
Phrase = tuple[int, int, int, int]  # first and last source word, first and last target word
Ends = dict[int, tuple[int, int]]
TREES = frozenset({"heads", "upos"})  # what the records need for tree links
HEADER = "source\ttarget\tcount\tp(target|source)\tp(source|target)"


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


def tree_links(links: Set[Link], source: ParseRecord, target: ParseRecord) -> set[Link]:
    """Return pairs of words without links, of one universal part of speech, whose heads or some two of whose dependents
    are linked. The records have what TREES names."""
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
    """Return the mean over all words of both sides of how well the arc above each is linked, 0 to 1.

    An arc is linked as well as its best counterpart: by the product of the scores that join the dependents and the
    heads, 1 for two roots. Both records have heads; neither is without words.
    """
    best: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for (i, j), score in links.items():
        above = source.heads[i], target.heads[j]
        of_heads = 1.0 if above == (0, 0) else links.get((above[0] - 1, above[1] - 1), 0.0)
        for words, word in zip(best, (i, j), strict=True):
            words[word] = max(words.get(word, 0.0), score * of_heads)
    linked = sum(sum(words.values()) for words in best)
    return min(1.0, linked / (len(source.tokens) + len(target.tokens)))


class Lexicon:
    """Counts links between words; probabilities are shares of the links of a word."""

    def __init__(self, path: Path) -> None:
        """Raise BadInput where no file can be written."""
        if not path.parent.is_dir() or path.is_dir():
            raise BadInput("no file can be written there", str(path))
        self.path = path
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._sources: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()

    def add(self, source: list[str], target: list[str], links: Iterable[Link]) -> None:
        """Count the links of a pair of sentences."""
        for i, j in links:
            self._pairs[source[i], target[j]] += 1
            self._sources[source[i]] += 1
            self._targets[target[j]] += 1

    def rows(self) -> Iterator[str]:
        """Yield a header, and a row for each pair of words, the most frequent first."""
        yield HEADER
        for (source, target), count in sorted(self._pairs.items(), key=lambda each: (-each[1], each[0])):
            yield (
                f"{source}\t{target}\t{count}\t{count / self._sources[source]:.6f}\t{count / self._targets[target]:.6f}"
            )

    def write(self) -> None:
        """Write the table to its file. Raises BadInput."""
        with naming(self.path):
            write_aside(self.path, "".join(f"{row}\n" for row in self.rows()).encode())
