"""The nine relations between the nodes of a tree, as a matrix over its preorder.

McDonald & Chiang, "Syntax-based attention masking for neural machine translation" (NAACL SRW 2021). The
relations partition all ordered pairs of nodes. Row q, column k says what the KEY k is to the QUERY q: `P` in
a row marks the parent of that row's node. Transposition swaps parent and child, left and right, ancestor and
descendant.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from synmt.trees.constituency import subtree_ends

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RELATIONS = ("self", "parent", "child", "left-sib", "right-sib", "anc", "desc", "left-other", "right-other")
LEGEND = "=PClrAD<>"
NO_TREE = -2  # the parent of every token of a sentence without a tree, where no relation holds

_TO_LEGEND = bytes.maketrans(bytes(range(len(LEGEND))), LEGEND.encode())


def relation_matrix(parents: Sequence[int]) -> "npt.NDArray[np.uint8]":
    """Return the index in RELATIONS of what each key (column) is to each query (row), uint8 [n, n].

    parents: index of each node's parent in preorder, -1 for the root, [n]; at least one node.

    Keys after their query are a child (2), a right sibling (4), a descendant (6) or to the right (8). A key
    before its query stands in the mirrored relation, one less, so that half is read from the other.
    """
    import numpy as np  # not above: the relations have names where nothing is computed

    n = len(parents)
    index = np.dtype("int16" if n < 2**15 else "int32")  # the narrower, the more cells a comparison takes at once
    parent, end = np.array((parents, subtree_ends(parents)), dtype=index)
    node = np.arange(n, dtype=index)
    query = node[:, None]
    # In place, in bytes: for sentences of 40 nodes the temporaries would cost as much as the sums.
    near = parent == query  # key is a child,
    near |= parent == parent[:, None]  # or, after its query, a sibling; it is never both
    relations = near.view(np.uint8)
    relations += relations
    relations += (node < end[:, None]).view(np.uint8)  # key, after its query, lies below it
    relations *= 2
    np.subtract(8, relations, out=relations)
    np.copyto(relations, relations.T - np.uint8(1), where=node < query)
    relations.reshape(-1)[:: n + 1] = 0
    return relations


def relation_rows(parents: Sequence[int]) -> list[str]:
    """Return the relation matrix as n strings of n characters of LEGEND, one string a query."""
    n = len(parents)
    cells = relation_matrix(parents).tobytes().translate(_TO_LEGEND).decode("ascii")
    return [cells[start : start + n] for start in range(0, n * n, n)]
