"""Phrases carried over links.

As Yarowsky, Ngai & Wicentowski (2001), "Inducing Multilingual Text Analysis Tools via Robust Projection across Aligned
Corpora", HLT, project noun phrases: a phrase of the source becomes one from the first to the last word that is linked
to it. Where a word between belongs to another phrase, the phrase is left out: its words are of the phrase around it. So
no phrases cross, and where links allow none, the tree is flat. A word belongs to the word that it is linked to best.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from synmt.projection.source import Source, is_mark
from synmt.text.links import Link
from synmt.trees.constituency import Tree, subtree_ends

NO_PHRASE, NO_TAG = "X", "XX"  # as treebanks label what cannot be parsed
TAGS_OF_MARKS = {",": ",", ".": ".", "!": ".", "?": "."}  # of the Penn Treebank
OTHER_MARK = ":"


def project_phrases(source: Source, target: Sequence[str]) -> Tree:
    """Return a tree over the words of a target, of which there is at least one, under the label of the source's root.

    The source has a tree.
    """
    tree = source.record.tree
    assert tree is not None
    leaf, ends = tree.is_leaf(), subtree_ends(tree.parents)
    before = list(accumulate(leaf, initial=0))  # leaves before each node
    owners = _owners(source.links)
    spans: list[tuple[int, int, str]] = []  # first word, word after the last, label
    for node, label in enumerate(tree.nodes):
        is_phrase = ends[node] > node + 1 + leaf[min(node + 1, len(leaf) - 1)]
        if node == 0:
            spans.append((0, len(target), label if is_phrase else NO_PHRASE))
        elif is_phrase:
            inside = range(before[node], before[ends[node]])
            words = [j for j in range(len(target)) if owners.get(j) in inside]
            if words and all(owners.get(j, inside[0]) in inside for j in range(words[0], words[-1] + 1)):
                spans.append((words[0], words[-1] + 1, label))
    spans.sort(key=lambda span: (span[0], -span[1]))
    tags = [tree.nodes[parent] for parent, each in zip(tree.parents, leaf, strict=True) if each]
    return _nested(spans, [_tag(word, owners.get(j), tags) for j, word in enumerate(target)], target)


def _owners(links: Mapping[Link, float]) -> dict[int, int]:
    """Return the source word of each target word that is linked: the best linked one, the first of equals."""
    best: dict[int, tuple[float, int]] = {}
    for (i, j), score in links.items():
        best[j] = max(best.get(j, (0.0, 0)), (score, -i))
    return {j: -i for j, (_, i) in best.items()}


def _tag(word: str, owner: int | None, tags: Sequence[str]) -> str:
    if is_mark(word):
        return TAGS_OF_MARKS.get(word, OTHER_MARK)
    return NO_TAG if owner is None else tags[owner]


def _nested(spans: Sequence[tuple[int, int, str]], tags: Sequence[str], words: Sequence[str]) -> Tree:
    """Return the tree of phrases, outer ones first, over words with their tags."""
    nodes: list[str] = []
    parents: list[int] = []
    path: list[tuple[int, int]] = []  # open phrases: node, and the word after the last
    waiting = list(reversed(spans))
    for j, (tag, word) in enumerate(zip(tags, words, strict=True)):
        while path and path[-1][1] <= j:
            path.pop()
        while waiting and waiting[-1][0] == j:
            _, end, label = waiting.pop()
            parents.append(path[-1][0] if path else -1)
            path.append((len(nodes), end))
            nodes.append(label)
        parents += [path[-1][0], len(nodes)]
        nodes += [tag, word]
    return Tree(nodes, parents)
