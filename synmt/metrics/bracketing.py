"""Labelled bracketing F1 of constituency trees, as evalb counts it under COLLINS.prm.

Sekine & Collins (1997), "Evalb", after Black et al. (1991). A bracket is (first word, word after the last,
label). Words tagged as punctuation are left out on either side, by its own tags, and so are TOP and brackets
without a word left; ADVP and PRT are one label; function tags are cut off. A sentence whose words then differ
from the gold ones is an error, counted and left out, as is one without a tree. Parts of speech are no brackets.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.metrics.config import Compared, MetricConfig
from synmt.metrics.metric import Score, Statistics
from synmt.trees.constituency import Tree, read_brackets, subtree_ends
from synmt.trees.record import read_tree

DELETED = frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."})
EQUAL = {"PRT": "ADVP"}
_FUNCTION_TAGS = re.compile(r"^([^-=]+)[-=].*$")

Bracket = tuple[int, int, str]


def read_parse(line: str) -> Tree | None:
    """Return the tree of a parse record or bracket string; several trees in a line stand under a TOP.

    Raises ValueError for a line that is neither.
    """
    if not line.strip():
        return None
    if line.startswith("{"):
        return read_tree(line)
    tree = read_brackets(f"(TOP {line})")
    if any(leaf and parent == 0 for leaf, parent in zip(tree.is_leaf(), tree.parents, strict=True)):
        raise ValueError("words outside of brackets")
    return tree


class Bracketing:
    """The metric over trees. Statistics: matched, gold and predicted brackets; right tags and words; sentences
    with all brackets right, sentences counted, and errors."""

    compares: Compared = "trees"
    higher_is_better = True

    def statistics(self, hypotheses: Sequence[Tree | None], references: Sequence[Sequence[Tree | None]]) -> Statistics:
        (gold,) = references
        return np.array([_statistics(*pair) for pair in zip(gold, hypotheses, strict=True)], dtype=np.int64)

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        matched, gold, predicted = totals.T[:3]
        f1: npt.NDArray[np.float64] = 200 * matched / np.maximum(1, gold + predicted)
        return f1

    def score(self, totals: Statistics) -> Score:
        matched, gold, predicted, right, words, complete, counted, errors = totals.tolist()
        parts = {
            "R": (matched, gold),
            "P": (matched, predicted),
            "complete": (complete, counted),
            "tags": (right, words),
        }
        details = " ".join(f"{name} = {100 * part / max(1, whole):.2f}" for name, (part, whole) in parts.items())
        signature = f"rules:COLLINS|sentences:{counted}|errors:{errors}|synmt:{__version__}"
        return Score("F1", float(self.scores(totals[None])[0]), signature, f"({details})")


def evalb(config: MetricConfig) -> Bracketing:
    return Bracketing()


def _statistics(gold: Tree | None, predicted: Tree | None) -> tuple[int, ...]:
    if gold is None or predicted is None:
        return 0, 0, 0, 0, 0, 0, 0, 1
    gold_words, gold_tags, gold_brackets = _account(gold)
    words, tags, brackets = _account(predicted)
    if words != gold_words:
        return 0, 0, 0, 0, 0, 0, 0, 1
    matched = (gold_brackets & brackets).total()
    right = sum(a == b for a, b in zip(gold_tags, tags, strict=True))
    complete = matched == gold_brackets.total() == brackets.total()
    return matched, gold_brackets.total(), brackets.total(), right, len(words), complete, 1, 0


def _account(tree: Tree) -> tuple[list[str], list[str], Counter[Bracket]]:
    """Return the words that count, their tags, and the brackets over them."""
    labels = [_FUNCTION_TAGS.sub(r"\1", node) for node in tree.nodes]
    leaf = tree.is_leaf()
    is_tag = [*leaf[1:], False]
    counts = [is_leaf and labels[parent] not in DELETED for is_leaf, parent in zip(leaf, tree.parents, strict=True)]
    words_before = list(accumulate(counts, initial=0))
    ends = subtree_ends(tree.parents)
    brackets = Counter(
        (words_before[node], words_before[ends[node]], EQUAL.get(label, label))
        for node, label in enumerate(labels)
        if not leaf[node] and not is_tag[node] and label not in DELETED
        and words_before[node] < words_before[ends[node]]
    )  # fmt: skip
    words = [word for word, counted in zip(tree.nodes, counts, strict=True) if counted]
    tags = [labels[parent] for parent, counted in zip(tree.parents, counts, strict=True) if counted]
    return words, tags, brackets
