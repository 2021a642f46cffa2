"""Constituency trees as token sequences: what a sequence model reads in place of a tree.

Brackets follow Vinyals et al., "Grammar as a foreign language" (NeurIPS 2015), with bare closing brackets;
preorder is the input of McDonald & Chiang, "Syntax-based attention masking for neural machine translation"
(NAACL SRW 2021). Words are escaped as in the Penn Treebank, so that none opens or closes a bracket.
"""

from collections import Counter
from collections.abc import Callable

from synmt.trees.constituency import Tree, TreeError, escape
from synmt.trees.record import read_tree
from synmt.trees.subwords import split_leaves


def bracket_tokens(tree: Tree) -> list[str]:
    """Return `(S (NP (PRP He ) ) …`: a token for each opening bracket with its label, word, and closing bracket."""
    return _brackets(tree, with_words=True)


def label_tokens(tree: Tree) -> list[str]:
    """Return `(S (NP (PRP ) ) …`: the bracket tokens without the words, so that the shape of the tree is kept."""
    return _brackets(tree, with_words=False)


def preorder_tokens(tree: Tree) -> list[str]:
    """Return `S NP PRP He …`: every node before its children, [n], without brackets; the tree cannot be read back.

    Raises TreeError for a node without a label, which no token can stand for.
    """
    if "" in tree.nodes:
        raise TreeError(f"node {tree.nodes.index('')} has no label")
    return [escape(node) if leaf else node for node, leaf in zip(tree.nodes, tree.is_leaf(), strict=True)]


def phrase_tokens(tree: Tree) -> list[str]:
    """Return `(S (NP ) (VP (NP ) ) )`: the bracket tokens without words and their parts of speech.

    A part of speech is a node above one word alone; all others are phrases, also where a word is among their children.
    """
    leaf, children = [*tree.is_leaf(), False], Counter(tree.parents)
    phrases = [
        (node, depth)
        for place, (node, depth) in enumerate(zip(tree.nodes, tree.depths(), strict=True))
        if not leaf[place] and not (leaf[place + 1] and children[place] == 1)
    ]
    following = [depth for _, depth in [*phrases, ("", 0)][1:]]
    tokens: list[str] = []
    for (node, depth), after in zip(phrases, following, strict=True):
        tokens += [f"({node}", *[")"] * (depth - after + 1)]
    return tokens


LINEARIZATIONS: dict[str, Callable[[Tree], list[str]]] = {
    "brackets": bracket_tokens,
    "preorder": preorder_tokens,
    "labels": label_tokens,
}


def linearized(line: str, form: str, segment: Callable[[str], list[str]] | None = None) -> str:
    """Return the token line of a parse record, its words split by `segment`; "" for one without a sentence.

    Raises ValueError for a line that is no record with a tree.
    """
    tree = read_tree(line)
    if tree and segment:
        tree = split_leaves(tree, segment)
    return " ".join(LINEARIZATIONS[form](tree)) if tree else ""


def _brackets(tree: Tree, with_words: bool) -> list[str]:
    tokens: list[str] = []
    for node, leaf, closing in zip(tree.nodes, tree.is_leaf(), tree.closings(), strict=True):
        if not leaf:
            tokens.append(f"({node}")
        elif with_words:
            tokens.append(escape(node))
        tokens += [")"] * closing
    return tokens
