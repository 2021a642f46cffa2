"""Scores of parses: those of the CoNLL 2018 shared task, and labelled bracketing F1 of constituency trees.

If all files are CoNLL-U, the shared task's own evaluator counts, as in synmt.metrics.conll18. Otherwise we compare the
tokens of records. A token is identified by the characters that it covers, so hypotheses may have other tokens than the
reference: the score is the F1 of what both sides claim about their tokens. Subtypes of relations do not count. For a
partial tree, precision counts only tokens with a head (or a tag), and recall all tokens.

Brackets are counted as evalb does under COLLINS.prm: Sekine & Collins (1997), "Evalb", after Black et al. (1991). A
bracket is (first word, word after the last, label). We do not count words that their own side tags as punctuation, TOP,
and brackets without a remaining word. ADVP and PRT are one label, and function tags are cut off. A sentence whose
remaining words differ from the gold ones is an error: we count it, but leave it out of the score, and likewise a
sentence without a tree. Parts of speech are not brackets. An outermost bracket without a label, as in the Penn
Treebank's files, stands for TOP; evalb itself would count it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.metrics.config import Compared, MetricConfig, declaring
from synmt.metrics.metric import Score, Statistics
from synmt.trees.constituency import Tree, read_brackets, subtree_ends
from synmt.trees.dependency import UNKNOWN
from synmt.trees.record import ParseRecord, read_tree

if TYPE_CHECKING:
    from synmt.metrics.conll18 import Evaluation

OF_TOKENS = "UPOS", "UAS", "LAS"  # scores that need no CoNLL-U
CONLL18 = (
    *OF_TOKENS, "CLAS", "MLAS", "BLEX", "Words", "Tokens", "Sentences", "XPOS", "UFeats", "AllTags", "Lemmas", "ELAS",
    "EULAS",
)  # fmt: skip
TOKEN_RULES = "rules:tokens"  # in signatures, in place of the rules of the shared task
DELETED = frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."})
TOPS = "", "TOP"  # labels of outermost brackets that do not count
WRAPPERS = "ROOT", "S1", "VROOT"  # labels that some parsers and treebanks add on top, and which count
EQUAL = {"PRT": "ADVP"}
_NO_WORDS = re.compile(r"\((ROOT|S1|TOP)?[\s()]*\)")
_FUNCTION_TAGS = re.compile(r"^([^-=]+)[-=].*$")
Bracket = tuple[int, int, str]


class Relations(NamedTuple):
    """The relations of all gold words and of all predicted words, without subtypes.

    aligned: for each predicted word that is also a gold word, both relations, and whether its head is right.
    """

    gold: Sequence[str]
    predicted: Sequence[str]
    aligned: Sequence[tuple[str, str, bool]]


class Attachment:
    """A score of CONLL18. Statistics: correct words, gold words, and words with a prediction.

    Items are evaluations of CoNLL-U or, for the scores OF_TOKENS, records.
    """

    compares: Compared = "records"
    higher_is_better = True

    def __init__(self, name: str) -> None:
        self.name = name

    def statistics(
        self, hypotheses: Sequence["ParseRecord | Evaluation"], references: Sequence[Sequence[Any]]
    ) -> Statistics:
        """Raises ValueError as `claims`, and for a score that needs CoNLL-U."""
        (gold_records,) = references
        rows: list[tuple[int, int, int]] = []
        for gold, predicted in zip(gold_records, hypotheses, strict=True):
            if not isinstance(predicted, ParseRecord):
                rows.append(predicted.counts[self.name])
            elif self.name not in OF_TOKENS:
                raise ValueError(f"{self.name.lower()} needs whole trees in CoNLL-U on both sides")
            else:
                claims = self.claims(predicted, gold)
                rows.append((len(self.claims(gold) & claims), len(gold.tokens), len(claims)))
        return np.array(rows, dtype=np.int64)

    def scores(self, totals: Statistics) -> npt.NDArray[np.float64]:
        right, gold, predicted = totals.T
        f1: npt.NDArray[np.float64] = 200 * right / np.maximum(1, gold + predicted)
        return f1

    def score(self, totals: Statistics) -> Score:
        right, gold, predicted = totals.tolist()
        recall, precision = 100 * right / max(1, gold), 100 * right / max(1, predicted)
        details = f"(R = {recall:.2f} P = {precision:.2f})"
        return Score(self.name, float(self.scores(totals[None])[0]), f"gold:{gold}|synmt:{__version__}", details)

    def claims(self, record: ParseRecord, gold: ParseRecord | None = None) -> set[tuple[Any, ...]]:
        """Return the claims of a record about its tokens, given as character spans. Unattached tokens have none.

        Raises ValueError for a record without the needed columns, or with another text than the gold record.
        """
        if gold and "".join(gold.tokens) != "".join(record.tokens):
            raise ValueError(f"the text differs from the reference: {' '.join(record.tokens)!r:.60}")
        spans: Sequence[object] = list(pairwise(accumulate(map(len, record.tokens), initial=0)))
        tops = ["root", *spans, UNKNOWN]  # UNATTACHED is -1, the index of the last
        heads, deprels = [tops[head] for head in record.heads], [deprel.split(":")[0] for deprel in record.deprels]
        of_metric: dict[str, list[Sequence[object]]] = {"UPOS": [record.upos], "UAS": [heads], "LAS": [heads, deprels]}
        columns = of_metric[self.name]
        if any(len(column) < len(spans) for column in columns):
            raise ValueError(f"record without {'upos' if self.name == 'UPOS' else 'heads and deprels'}")
        return {claim for claim in zip(spans, *columns, strict=True) if claim[1] != UNKNOWN}

    def relations(self, predicted: "ParseRecord | Evaluation", gold: Any) -> Relations:
        """Return the relations of a sentence; for LAS. Raises ValueError as `claims`."""
        if not isinstance(predicted, ParseRecord):
            return Relations(*predicted.relations())
        right, found = ({span: rest for span, *rest in self.claims(*each)} for each in ((gold,), (predicted, gold)))
        both = [(right[span], found[span]) for span in found if span in right]
        aligned = [(relation, other, head == other_head) for (head, relation), (other_head, other) in both]
        return Relations([each for _, each in right.values()], [each for _, each in found.values()], aligned)


upos, uas, las, clas, mlas, blex, words, tokens, sentences, xpos, ufeats, alltags, lemmas, elas, eulas = (
    declaring(cites=("zeman2018conll",))(lambda config, name=name: Attachment(name)) for name in CONLL18
)  # the MetricConfig does not matter


def read_parse(line: str) -> Tree | None:
    """Return the tree of a parse record or bracket string; several trees on a line get the root TOP.

    An empty line and brackets without words, such as `(())`, have no tree. Raises ValueError for other lines.
    """
    if not line.strip() or (_NO_WORDS.fullmatch(line.strip()) and line.count("(") == line.count(")")):
        return None
    if line.startswith("{"):
        return read_tree(line)
    tree = read_brackets(f"(TOP {line})")
    if any(leaf and parent == 0 for leaf, parent in zip(tree.is_leaf(), tree.parents, strict=True)):
        raise ValueError("words outside brackets")
    return tree


def wrapper(tree: Tree) -> str:
    """Return the label in WRAPPERS that is the outermost one to count, or ""."""
    label = next((label for label in tree.nodes if label not in TOPS), "")
    return label if label in WRAPPERS else ""


class Bracketing:
    """The F1 of brackets over trees. Statistics: matched, gold and predicted brackets; correct tags; words; sentences
    with all brackets correct; sentences counted; errors."""

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


@declaring(cites=("black1991procedure",))
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
    """Return the words to count, their tags, and the brackets over them."""
    labels = [_FUNCTION_TAGS.sub(r"\1", node) for node in tree.nodes]
    leaf = tree.is_leaf()
    is_tag = [*leaf[1:], False]
    counts = [is_leaf and labels[parent] not in DELETED for is_leaf, parent in zip(leaf, tree.parents, strict=True)]
    words_before = list(accumulate(counts, initial=0))
    ends = subtree_ends(tree.parents)
    is_top: list[bool] = []
    for label, parent in zip(labels, tree.parents, strict=True):
        is_top.append(label in TOPS and (parent < 0 or is_top[parent]))
    brackets = Counter(
        (words_before[node], words_before[ends[node]], EQUAL.get(label, label))
        for node, label in enumerate(labels)
        if not leaf[node] and not is_tag[node] and not is_top[node] and label not in DELETED
        and words_before[node] < words_before[ends[node]]
    )  # fmt: skip
    words = [word for word, counted in zip(tree.nodes, counts, strict=True) if counted]
    tags = [labels[parent] for parent, counted in zip(tree.parents, counts, strict=True) if counted]
    return words, tags, brackets
