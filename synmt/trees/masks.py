"""The mask record: one line of JSON that carries the tokens of a tree and the relations between them.

`{"tokens": ["S", "NP", …], "parents": [-1, 0, …], "relations": ["=CDD…", "P=CD…", …]}`, where `relations`
holds one row a query and one character of `synmt.trees.relations.LEGEND` a key.
"""

import orjson

from synmt.trees.constituency import Tree
from synmt.trees.relations import relation_rows


def write_mask_record(tree: Tree) -> str:
    """The tree's preorder and relations as one JSON line; its words are raw."""
    fields = {"tokens": tree.nodes, "parents": tree.parents, "relations": relation_rows(tree.parents)}
    return orjson.dumps(fields).decode()
