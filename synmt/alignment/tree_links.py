"""Links that dependency trees suggest; an idea of our own.

Aligners leave out words that are rare or far away. Where such words of both sides are of one part of speech and
stand at the same place in both trees, that is, beside words that are linked, they are most likely each other's.
"""

from collections.abc import Set
from itertools import product

from synmt.text.links import Link
from synmt.trees.record import ParseRecord

NEEDS = frozenset({"heads", "upos"})


def tree_links(links: Set[Link], source: ParseRecord, target: ParseRecord) -> set[Link]:
    """Pairs of words without links, of one universal part of speech, whose heads are linked, or some two of their
    dependents. The records have what NEEDS names."""
    of_source, of_target = dependents(source), dependents(target)
    near = {(source.heads[i] - 1, target.heads[j] - 1) for i, j in links if source.heads[i] and target.heads[j]}
    near.update(pair for i, j in links for pair in product(of_source[i], of_target[j]))
    linked_sources, linked_targets = {i for i, _ in links}, {j for _, j in links}
    return {
        (i, j)
        for i, j in near
        if i not in linked_sources and j not in linked_targets and source.upos[i] == target.upos[j]
    }


def dependents(record: ParseRecord) -> list[list[int]]:
    """Of each word, counted from 0, the words whose head it is."""
    below: list[list[int]] = [[] for _ in record.heads]
    for word, head in enumerate(record.heads):
        if head:
            below[head - 1].append(word)
    return below
