"""Subwords on trees: the subwords of a word become sibling leaves where the word stood.

So `(NN father)` becomes `(NN fa@@ ther)`, as in McDonald & Chiang (NAACL SRW 2021).
"""

from collections.abc import Callable

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
