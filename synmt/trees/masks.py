"""The mask record: one line of JSON that carries the tokens of a tree and the relations between them.

`{"tokens": ["S", "NP", …], "parents": [-1, 0, …], "relations": ["=CDD…", "P=CD…", …]}`, where `relations`
holds one row a query and one character of `synmt.trees.relations.LEGEND` a key.
"""

from collections.abc import Callable

import orjson

from synmt.streams import BadLines
from synmt.trees.constituency import Tree
from synmt.trees.record import read_tree
from synmt.trees.relations import relation_rows
from synmt.trees.subwords import split_leaves


def write_mask_record(tree: Tree) -> str:
    """Return the tree's preorder and relations as one JSON line; its words are raw."""
    fields = {"tokens": tree.nodes, "parents": tree.parents, "relations": relation_rows(tree.parents)}
    return orjson.dumps(fields).decode()


def mask_record(line: str, segment: Callable[[str], list[str]] | None, max_nodes: int, bad: BadLines) -> str:
    """Return the mask record of a parse record, its words split by `segment`; {} for one without a sentence.

    A tree of more than `max_nodes` nodes is left empty. Raises ValueError for a line that is no record with a tree.
    """
    tree = read_tree(line)
    if tree and segment:
        tree = split_leaves(tree, segment)
    if tree and len(tree) > max_nodes:
        bad.leave_empty(f"line of more than {max_nodes} tokens")
        tree = None
    return write_mask_record(tree) if tree else "{}"
