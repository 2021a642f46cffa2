"""Constituency trees as lines that models read: token sequences, and the relations between nodes.

Bracket sequences follow Vinyals et al., "Grammar as a foreign language" (NeurIPS 2015), with bare closing brackets.
Preorder and relations are the inputs of McDonald & Chiang, "Syntax-based attention masking for neural machine
translation" (NAACL SRW 2021). Words are escaped as in the Penn Treebank, so none of them opens or closes a bracket.

The nine relations partition all ordered pairs of nodes. Row q, column k gives the relation of the KEY k to the QUERY q:
`P` in a row marks the parent of that row's node. Transposition swaps parent and child, left and right, ancestor and
descendant. A mask record is one line of JSON with the nodes of a tree and their relations, one row per query and one
character of LEGEND per key: `{"tokens": ["S", "NP", …], "parents": [-1, 0, …], "relations": ["=CDD…", "P=CD…", …]}`.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from synmt.streams import BadLines
from synmt.text.bpe import Segment
from synmt.trees.constituency import Tree, TreeError, escape, phrases, split_leaves, subtree_ends
from synmt.trees.record import read_tree

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RELATIONS = ("self", "parent", "child", "left-sib", "right-sib", "anc", "desc", "left-other", "right-other")
LEGEND = "=PClrAD<>"
NO_TREE = -2  # the parent of every token of a sentence without a tree, in which no relation holds
_TO_LEGEND = bytes.maketrans(bytes(range(len(LEGEND))), LEGEND.encode())


def bracket_tokens(tree: Tree, with_words: bool = True) -> list[str]:
    """Return `(S (NP (PRP He ) ) …`: one token per opening bracket with its label, word and closing bracket."""
    tokens: list[str] = []
    for node, leaf, closing in zip(tree.nodes, tree.is_leaf(), tree.closings(), strict=True):
        if not leaf:
            tokens.append(f"({node}")
        elif with_words:
            tokens.append(escape(node))
        tokens += [")"] * closing
    return tokens


def label_tokens(tree: Tree) -> list[str]:
    """Return `(S (NP (PRP ) ) …`: the bracket tokens without the words."""
    return bracket_tokens(tree, with_words=False)


def preorder_tokens(tree: Tree) -> list[str]:
    """Return `S NP PRP He …`: every node before its children, [n]. Without brackets, the tree cannot be read back.

    Raises TreeError for a node without a label.
    """
    if "" in tree.nodes:
        raise TreeError(f"node {tree.nodes.index('')} has no label")
    return [escape(node) if leaf else node for node, leaf in zip(tree.nodes, tree.is_leaf(), strict=True)]


def phrase_tokens(tree: Tree) -> list[str]:
    """Return `(S (NP ) (VP (NP ) ) )`: the bracket tokens without words and parts of speech."""
    tokens: list[str] = []
    ends: list[int] = []  # of the open phrases
    for first, end, label in phrases(tree):
        while ends and ends[-1] <= first:
            ends.pop()
            tokens.append(")")
        ends.append(end)
        tokens.append(f"({label}")
    return tokens + [")"] * len(ends)


LINEARIZATIONS: dict[str, Callable[[Tree], list[str]]] = {
    "brackets": bracket_tokens,
    "preorder": preorder_tokens,
    "labels": label_tokens,
}


def linearized(line: str, form: str, segment: Segment | None = None) -> str:
    """Return the token line of a parse record, with words split by `segment`; "" for an empty record.

    Raises ValueError if the line is not a record with a tree.
    """
    tree = _split_tree(line, segment)
    return " ".join(LINEARIZATIONS[form](tree)) if tree else ""


def _split_tree(line: str, segment: Segment | None) -> Tree | None:
    """Return the tree of a parse record, with words split by `segment`; None for an empty record."""
    tree = read_tree(line)
    return split_leaves(tree, segment) if tree and segment else tree


def relation_matrix(parents: Sequence[int]) -> "npt.NDArray[np.uint8]":
    """Return the relation of each key (column) to each query (row) as an index of RELATIONS, uint8 [n, n].

    parents: index of each node's parent in preorder, -1 for the root, [n]; at least one node.

    A key after its query is a child (2), a right sibling (4), a descendant (6) or to the right (8). The relation of a
    key before its query is the mirrored one, whose index is one less, so we copy this half from the other.
    """
    import numpy as np  # imported here, since many modules need only the names of the relations

    n = len(parents)
    index = np.dtype("int16" if n < 2**15 else "int32")  # comparisons process more cells of a narrow type at once
    parent, end = np.array((parents, subtree_ends(parents)), dtype=index)
    node = np.arange(n, dtype=index)
    query = node[:, None]
    # In place and in bytes: with 40 nodes, temporaries would cost as much as the arithmetic.
    near = parent == query  # the key is a child,
    near |= parent == parent[:, None]  # or, after its query, a sibling; never both
    relations = near.view(np.uint8)
    relations += relations
    relations += (node < end[:, None]).view(np.uint8)  # the key, after its query, is below it
    relations *= 2
    np.subtract(8, relations, out=relations)
    np.copyto(relations, relations.T - np.uint8(1), where=node < query)
    relations.reshape(-1)[:: n + 1] = 0
    return relations


def relation_rows(parents: Sequence[int]) -> list[str]:
    """Return the relation matrix as n strings of n characters of LEGEND, one string per query."""
    n = len(parents)
    cells = relation_matrix(parents).tobytes().translate(_TO_LEGEND).decode("ascii")
    return [cells[start : start + n] for start in range(0, n * n, n)]


def write_mask_record(tree: Tree) -> str:
    """Return the preorder and relations of a tree as one JSON line, with raw words."""
    fields = {"tokens": tree.nodes, "parents": tree.parents, "relations": relation_rows(tree.parents)}
    return msgspec.json.encode(fields).decode()


def mask_record(line: str, segment: Segment | None, max_nodes: int, bad: BadLines) -> str:
    """Return the mask record of a parse record, with words split by `segment`; {} for an empty record.

    A tree of more than `max_nodes` nodes also gives {}. Raises ValueError if the line is not a record with a tree.
    """
    tree = _split_tree(line, segment)
    if tree and len(tree) > max_nodes:
        bad.leave_empty(f"line of more than {max_nodes} tokens")
        tree = None
    return write_mask_record(tree) if tree else "{}"
