"""Links that dependency trees suggest; an idea of our own.

Aligners leave out words that are rare or far away. Where such words of both sides are of one part of speech and
stand at the same place in both trees, that is, beside words that are linked, they are most likely each other's.
"""

from collections.abc import Set
from itertools import chain, product

from synmt.text.links import Link
from synmt.trees.dependency import dependents
from synmt.trees.record import ParseRecord

NEEDS = frozenset({"heads", "upos"})


def tree_links(links: Set[Link], source: ParseRecord, target: ParseRecord) -> set[Link]:
    """Return pairs of words without links, of one universal part of speech, whose heads or some two of whose dependents
    are linked. The records have what NEEDS names."""
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
