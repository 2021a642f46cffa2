"""Constituency trees as flat preorder arrays, read from and written as Penn Treebank brackets.

A tree is two parallel lists in preorder: the label or word of each node, and the index of its parent (-1 for the root).
A node without children is a leaf, so a word that looks like a label stays a word. No function is recursive: a tree may
be ten thousand levels deep.

Brackets, slashes and asterisks in words are escaped as in the Penn Treebank: `-LRB-`, `3\\/4`, `\\*`. A backslash also
precedes a word's own `-LRB-`, and a backslash that would be read as part of an escape, so every word can be read back.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from synmt.text.bpe import Segment

Phrase = tuple[int, int, str]  # first word, word after the last, label
ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
TOP = "TOP"  # the label of a root over several trees, and of one that has no label of its own
ROOT_LABELS = frozenset({"", "ROOT", TOP})
TRACE = "-NONE-"

_UNESCAPES = {escaped: raw for raw, escaped in ESCAPES.items()}
_NAME = "[LR][RSC]B"  # of an escaped bracket, between its hyphens
_ESCAPABLE = re.compile(rf"[][(){{}}]|\\(?=[][(){{}}/*\\-])|-(?={_NAME}[][(){{}}-])")
_ESCAPABLE_IN_PTB = re.compile(rf"[/*]|{_ESCAPABLE.pattern}")
_ESCAPED = re.compile(rf"\\[/*\\-]|-{_NAME}-")
_TWO_SPELLINGS = re.compile(r"[][{}/*\\]")  # in words that treebanks spell with escapes or without
_BRACKET_TOKENS = re.compile(r"[()]|[^ \t\r\n()]+")
_FUNCTION_TAG = re.compile(r"^([^-=|]+)[-=|].*$")


class TreeError(ValueError):
    """A bracket string or a parent list that is not one tree."""


@dataclass(slots=True)
class Tree:
    """A constituency tree of n nodes in preorder.

    nodes: labels of interior nodes and words of leaves, [n]; words are raw, not bracket-escaped.
    parents: index of each node's parent, -1 for the root, [n].
    spellings: how the brackets that the tree was read from spell a word, if not as `write_brackets` would.
    """

    nodes: list[str]
    parents: list[int]
    spellings: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.nodes)

    def is_leaf(self) -> list[bool]:
        """Return whether each node is a leaf, [n]. In preorder, a first child directly follows its parent."""
        return [following != node for node, following in enumerate([*self.parents[1:], -1])]

    def leaves(self) -> list[str]:
        return [node for node, leaf in zip(self.nodes, self.is_leaf(), strict=True) if leaf]

    def depths(self) -> list[int]:
        """Return the number of edges between each node and the root, [n]."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        return depths

    def closings(self) -> list[int]:
        """Return the number of brackets that close right after each node, [n]; 0 for interior nodes."""
        depths = self.depths()
        return [max(0, depth - after) for depth, after in zip(depths, [*depths[1:], 0], strict=True)]

    def check(self) -> None:
        """Raise TreeError unless `parents` describes one tree in preorder."""
        if not self.nodes or len(self.nodes) != len(self.parents):
            raise TreeError(f"{len(self.nodes)} nodes but {len(self.parents)} parents")
        path: list[int] = []
        for node, parent in enumerate(self.parents):
            while path and path[-1] != parent:
                path.pop()
            if (parent == -1) != (node == 0) or (node > 0 and not path):
                raise TreeError(f"not one tree in preorder: node {node} has parent {parent}")
            path.append(node)


def escape(word: str, pattern: re.Pattern[str] = _ESCAPABLE) -> str:
    """Escape the brackets in a word: ( becomes -LRB-, and so on."""
    return pattern.sub(lambda found: ESCAPES.get(found.group(), "\\" + found.group()), word)


def unescape(word: str) -> str:
    """Return the word that is escaped, also if slashes and asterisks are."""
    if "-" not in word and "\\" not in word:
        return word
    return _ESCAPED.sub(lambda found: _UNESCAPES.get(found.group()) or found.group()[1:], word)


def subtree_ends(parents: Sequence[int]) -> list[int]:
    """Return the end of each node's subtree, which is the preorder interval [node, end), [n]."""
    ends = list(range(1, len(parents) + 1))
    for node in range(len(parents) - 1, 0, -1):
        parent = parents[node]
        if ends[parent] < ends[node]:
            ends[parent] = ends[node]
    return ends


def tags(tree: Tree) -> list[str]:
    """Return the label above each leaf, [leaves]."""
    return [tree.nodes[parent] for leaf, parent in zip(tree.is_leaf(), tree.parents, strict=True) if leaf]


def phrases(tree: Tree) -> list[Phrase]:
    """Return the phrases in preorder: all interior nodes but the tags, which are nodes whose only child is a word."""
    words_before = list(accumulate(tree.is_leaf(), initial=0))
    after = subtree_ends(tree.parents)
    return [
        (words_before[node], words_before[after[node]], label)
        for node, label in enumerate(tree.nodes)
        if after[node] > node + 2
    ]


def tree_of_phrases(phrases: Sequence[Phrase], tags: Sequence[str], words: Sequence[str]) -> Tree:
    """Invert `phrases`: return the tree of phrases in preorder over tagged words."""
    tree = Tree([], [])
    path: list[tuple[int, int]] = [(-1, len(words))]  # open phrases: node, and the word after their last
    waiting = list(reversed(phrases))
    for place, (tag, word) in enumerate(zip(tags, words, strict=True)):
        while path[-1][1] <= place:
            path.pop()
        while waiting and waiting[-1][0] == place:
            _, end, label = waiting.pop()
            tree.parents.append(path[-1][0])
            path.append((len(tree), end))
            tree.nodes.append(label)
        tree.parents += [path[-1][0], len(tree)]
        tree.nodes += [tag, word]
    return tree


def read_brackets(text: str) -> Tree:
    """Return the tree of one bracket string such as `(S (NP (PRP He)) (VP (VBZ is)))`.

    Drops an unlabelled outermost bracket with one child, as in `( (S …))`; with several children, its label is TOP.
    Raises TreeError unless the text is exactly one well-formed tree.
    """
    tree = read_tree_if_any(text)
    if tree is None:
        raise TreeError("no tree")
    return tree


def read_tree_if_any(text: str) -> Tree | None:
    """Do as `read_brackets`, but return None for an empty text and for the empty tree."""
    trees = list(read_all_brackets(text))
    if len(trees) > 1:
        raise TreeError("text after the tree's last bracket")
    return trees[0] if trees else None


def read_all_brackets(text: str) -> Iterator[Tree]:
    """Yield all trees of a string; the empty tree `(())`, which parsers write for a failure, is none. Raises
    TreeError."""
    tree, path = Tree([], []), list[int]()  # the open brackets, as node indices
    label_expected = False
    childless: str | None = None  # the label of a node without children
    for token in _BRACKET_TOKENS.findall(text):
        if token == "(":
            tree.parents.append(path[-1] if path else -1)
            path.append(len(tree))
            tree.nodes.append("")
            label_expected = True
        elif token == ")":
            if not path:
                raise TreeError("closing bracket without an opening one")
            if path.pop() == len(tree) - 1:
                childless = tree.nodes[-1]
            if childless is not None and any(tree.nodes):
                raise TreeError(f"label {childless!r} has no child")
            label_expected = False
            if not path:
                if childless is None:
                    yield _without_unlabelled_root(tree)
                tree, childless = Tree([], []), None
        elif label_expected:
            tree.nodes[-1] = token
            label_expected = False
        elif path:
            tree.parents.append(path[-1])
            word = unescape(token)
            if _TWO_SPELLINGS.search(token) and _escaped_in_ptb(word, tree.nodes[path[-1]]) != token:
                tree.spellings[word] = token
            tree.nodes.append(word)
        else:
            raise TreeError(f"word {token!r} outside brackets")
    if path:
        raise TreeError("a bracket is not closed")


def _escaped_in_ptb(word: str, tag: str) -> str:
    """Escape the brackets, slashes and asterisks in a word, 3\\/4 for 3/4, but only the brackets in a trace, *T*-1."""
    return escape(word, _ESCAPABLE if tag == TRACE else _ESCAPABLE_IN_PTB)


def _without_unlabelled_root(tree: Tree) -> Tree:
    tree = without_root(tree, frozenset({""}))
    tree.nodes[0] = tree.nodes[0] or TOP
    return tree


def write_brackets(tree: Tree) -> str:
    """Return the tree on one line, `(S (NP (PRP He)) …)`, with words spelled as they were read, or else escaped."""
    words: list[str] = []
    for node, parent, leaf, closing in zip(tree.nodes, tree.parents, tree.is_leaf(), tree.closings(), strict=True):
        if leaf:
            spelling = tree.spellings.get(node) or _escaped_in_ptb(node, tree.nodes[parent])
            words.append(spelling + ")" * closing)
        else:
            words.append(f"({node}")
    return " ".join(words)


def without_root(tree: Tree, labels: frozenset[str] = ROOT_LABELS) -> Tree:
    """Remove roots that only wrap one phrase, as in `(ROOT (S …))` or `( (ROOT (S …)))`."""
    if tree.nodes[0] not in labels:
        return tree
    children = Counter(tree.parents)
    root = 0
    while tree.nodes[root] in labels and children[root] == 1 and children[root + 1]:
        root += 1
    parents = [max(-1, parent - root) for parent in tree.parents[root:]]
    return replace(tree, nodes=tree.nodes[root:], parents=parents) if root else tree


def without_function_tags(tree: Tree) -> Tree:
    """Cut interior labels at their first `-`, `=` or `|`: NP-SBJ=2 becomes NP; -LRB- and -NONE- stay."""
    labels = [
        node if leaf else _FUNCTION_TAG.sub(r"\1", node) for node, leaf in zip(tree.nodes, tree.is_leaf(), strict=True)
    ]
    return replace(tree, nodes=labels)


def without_traces(tree: Tree) -> Tree | None:
    """Remove empty elements (`-NONE-`) and phrases without words; return None if nothing is left."""
    overt = [leaf and tree.nodes[parent] != TRACE for leaf, parent in zip(tree.is_leaf(), tree.parents, strict=True)]
    for node in range(len(tree) - 1, 0, -1):
        if overt[node]:
            overt[tree.parents[node]] = True
    if not overt[0]:
        return None
    kept = [node for node, keep in enumerate(overt) if keep]
    new_index = {-1: -1} | {node: place for place, node in enumerate(kept)}
    nodes, parents = [tree.nodes[node] for node in kept], [new_index[tree.parents[node]] for node in kept]
    return replace(tree, nodes=nodes, parents=parents)


def under_one_root(trees: Sequence[Tree], label: str = TOP) -> Tree:
    """Join several trees under one new root; return a single tree unchanged."""
    if len(trees) == 1:
        return trees[0]
    nodes, parents = [label], [-1]
    for tree in trees:
        offset = len(nodes)
        nodes += tree.nodes
        parents += [parent + offset if parent >= 0 else 0 for parent in tree.parents]
    return Tree(nodes, parents)


def with_leaves(tree: Tree, tokens: Sequence[str]) -> Tree:
    """Return the tree with other words as its leaves."""
    rest = iter(tokens)
    nodes = [next(rest) if leaf else node for node, leaf in zip(tree.nodes, tree.is_leaf(), strict=True)]
    return Tree(nodes, tree.parents)


def split_leaves(tree: Tree, segment: Segment) -> Tree:
    """Replace each leaf by its subwords, as siblings under the same parent: `(NN father)` becomes `(NN fa@@ ther)`.

    This is what McDonald & Chiang (NAACL SRW 2021) do.

    Raises TreeError if the tree is a single word with several subwords, which would have no parent.
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
