"""Training examples from treebank files. Treebanks with different conventions get the same set of labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benepar.ptb_unescape import ptb_unescape

from synmt.parsers.benepar_parser import Span
from synmt.streams import BadInput, Line, read_lines
from synmt.trees.constituency import (
    Tree,
    phrases,
    read_brackets,
    tags,
    without_function_tags,
    without_root,
    without_traces,
)
from synmt.trees.dependency import UNKNOWN
from synmt.trees.formats import conllu_blocks, read_conllu
from synmt.trees.record import ParseRecord, RecordError

SPLICED = frozenset({"NML"})  # CRAFT brackets nominal modifiers in a noun phrase; GUM leaves them flat
WRAPPERS = frozenset({"TITLE", "HEADING", "CAPTION", "CIT", "ROOT", "TOP", ""})  # CRAFT's document structure
UNARY = "::"  # joins the labels of a unary chain, as benepar does


@dataclass(slots=True)
class TreebankSentence:
    """A sentence of n words from which benepar learns.

    words: in the spelling of the Penn Treebank, [n].
    tags: parts of speech, [n].
    spans: (first word, word after the last, label) of each constituent, with unary chains joined by `::`, or of each
        subtree of a dependency tree.
    """

    words: list[str]
    tags: list[str]
    spans: list[Span]


def read_trees(path: Path) -> Iterator[Tree]:
    """Yield the trees of a PTB file, one per line, without traces and function tags; skip empty lines."""
    for line in read_lines([str(path)]):
        if not line.text.strip():
            continue
        with line.naming():
            tree = without_traces(without_function_tags(read_brackets(line.text)))
        if tree is not None:
            yield without_root(_spliced(without_root(tree, WRAPPERS)))


def _spliced(tree: Tree) -> Tree:
    """Replace SPLICED nodes by their children, and rename a remaining wrapper to FRAG."""
    leaf = tree.is_leaf()
    new_index: list[int] = []
    nodes: list[str] = []
    parents: list[int] = []
    for node, (label, parent) in enumerate(zip(tree.nodes, tree.parents, strict=True)):
        if label in SPLICED and not leaf[node] and parent >= 0:
            new_index.append(new_index[parent])
            continue
        new_index.append(len(nodes))
        nodes.append("FRAG" if label in WRAPPERS and not leaf[node] else label)
        parents.append(new_index[parent] if parent >= 0 else -1)
    return Tree(nodes, parents)


def example(tree: Tree) -> TreebankSentence:
    """Return the training example of a tree."""
    spans: list[Span] = []
    for first, end, label in phrases(tree):
        if spans and spans[-1][:2] == (first, end):
            label = spans.pop()[2] + UNARY + label
        spans.append((first, end, label))
    return TreebankSentence(ptb_unescape(tree.leaves()), tags(tree), spans)


def read_examples(path: Path, longest: int) -> list[TreebankSentence]:
    """Return the sentences of a PTB file that have a phrase as their root and at most `longest` words.

    Raises BadInput, also if there are none.
    """
    examples = [
        each
        for each in map(example, read_trees(path))
        if len(each.words) <= longest and each.spans and each.spans[0][:2] == (0, len(each.words))
    ]
    if not examples:
        raise BadInput(f"no trees of 1 to {longest} words", str(path))
    return examples


def read_dependencies(path: Path) -> Iterator[tuple[Line, ParseRecord]]:
    """Yield the sentences of a CoNLL-U file, each with its block. Raises BadInput, also for one without a tree."""
    for block in conllu_blocks(read_lines([str(path)])):
        with block.naming():
            record = read_conllu(block.text)
            if record.tokens and not (record.heads and record.deprels):
                raise RecordError("the sentence has no dependency tree")
        if record.tokens:
            yield block, record


def read_dependency_examples(path: Path, longest: int) -> list[TreebankSentence]:
    """Return the sentences of a CoNLL-U file with at most `longest` words; their spans are subtrees, labelled by
    deprel.

    Leaves out subtrees with gaps. Tags come from the XPOS column, which for English has the Penn Treebank's.
    """
    examples = (_dependency_example(record) for _, record in read_dependencies(path))
    return [each for each in examples if len(each.words) <= longest]


def _dependency_example(record: ParseRecord) -> TreebankSentence:
    heads = [head - 1 for head in record.heads]
    below = [{word} for word in range(len(heads))]  # each word and its descendants
    for word in range(len(heads)):
        ancestor = heads[word]
        while ancestor >= 0:
            below[ancestor].add(word)
            ancestor = heads[ancestor]
    spans = [
        (min(words), max(words) + 1, deprel.split(":")[0])
        for deprel, words in zip(record.deprels, below, strict=True)
        if max(words) - min(words) == len(words) - 1
    ]
    tags = ["UNK" if tag == UNKNOWN else tag for tag in record.xpos] or ["UNK"] * len(heads)
    return TreebankSentence(ptb_unescape(record.tokens), tags, spans)
