"""Subwords on trees: the subwords of a word become sibling leaves where the word stood.

So `(NN father)` becomes `(NN fa@@ ther)`, as in McDonald & Chiang (NAACL SRW 2021).
"""

from collections.abc import Callable

from synmt.text.bpe import JOINER
from synmt.trees.constituency import Tree, TreeError


def split_leaves(tree: Tree, segment: Callable[[str], list[str]]) -> Tree:
    """Return the tree with each leaf replaced by its subwords, in order, under the same parent.

    segment: the subwords of one raw word, at least one, as `Bpe.segment` gives them.
    Raises TreeError if the tree is a single word and that has several subwords: they would have no parent.
    """
    split = Tree([], [])
    new_index: list[int] = []
    for node, parent, leaf in zip(tree.nodes, tree.parents, tree.is_leaf(), strict=True):
        new_index.append(len(split))
        subwords = segment(node) if leaf else [node]
        split.nodes += subwords
        split.parents += [new_index[parent] if parent >= 0 else -1] * len(subwords)
    if split.parents.count(-1) > 1:
        raise TreeError(f"no label above the subwords of the word {tree.nodes[0]!r}")
    return split


def join_leaves(tree: Tree) -> Tree:
    """Invert `split_leaves`, for subwords with joiners: `fa@@ ther` under one parent is `father` again.

    A joiner on the last leaf of a parent has nothing to join and stays.
    """
    joined = Tree([], [])
    new_index: list[int] = []
    open_subword_parent = None  # the parent of the leaf just read, if that ends in a joiner
    for node, parent, leaf in zip(tree.nodes, tree.parents, tree.is_leaf(), strict=True):
        if leaf and parent == open_subword_parent:
            joined.nodes[-1] = joined.nodes[-1].removesuffix(JOINER) + node
        else:
            joined.nodes.append(node)
            joined.parents.append(new_index[parent] if parent >= 0 else -1)
        new_index.append(len(joined) - 1)
        open_subword_parent = parent if leaf and node.endswith(JOINER) else None
    return joined
