"""Labelled bracketing F1 between trees over the same words.

After Collins (1997) and evalb: brackets are (label, first word, last word) without parts of speech and a TOP
over everything; punctuation, by the gold tags, counts neither as a word nor as a bracket of its own.
Unlike evalb's usual settings, ADVP and PRT stay distinct, and no sentence is skipped.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from synmt.parsers.chart import Span
from synmt.parsers.training.treebank import phrases, tags
from synmt.trees.constituency import ROOT_LABELS, Tree

PUNCTUATION_TAGS = frozenset({",", ":", "``", "''", "."})


def brackets(tree: Tree, is_word: list[bool]) -> Counter[Span]:
    """The brackets of a tree; `is_word` says which of its leaves are no punctuation, [leaves]."""
    words_before = list(accumulate(is_word, initial=0))
    spans = ((words_before[first], words_before[end], label) for first, end, label in phrases(tree))
    return Counter((first, end, label) for first, end, label in spans if first < end and label not in ROOT_LABELS)


def bracketing_f1(pairs: Iterable[tuple[Tree, Tree]]) -> float:
    """F1 in percent over all (gold, predicted) pairs."""
    matched = gold_total = predicted_total = 0
    for gold, predicted in pairs:
        is_word = [tag not in PUNCTUATION_TAGS for tag in tags(gold)]
        gold_brackets, predicted_brackets = brackets(gold, is_word), brackets(predicted, is_word)
        matched += (gold_brackets & predicted_brackets).total()
        gold_total += gold_brackets.total()
        predicted_total += predicted_brackets.total()
    return 200 * matched / max(1, gold_total + predicted_total)
