"""`linearized`: a plain Transformer on bracketed trees, the first baseline of McDonald & Chiang (2021).

A constituent becomes `(X`, its children, `)`. With m subwords and I interior nodes, the encoder reads m + 2·I tokens.
Labels and brackets are structural tokens, distinct from words with the same spelling.
"""

from dataclasses import dataclass
from typing import ClassVar

from synmt.components.contract import (
    EncoderComponent,
    Layout,
    ParseRecord,
    Segment,
    Task,
    structural,
    words_of_subwords,
)
from synmt.trees.constituency import Tree, split_leaves


@dataclass(frozen=True)
class Linearized(EncoderComponent):
    """Tokens: the bracketed tree over subwords, in preorder."""

    cites: ClassVar[tuple[str, ...]] = ("currey2019incorporating", "mcdonald2021syntax")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"tree"})

    def layout(self, record: ParseRecord, segment: Segment, task: Task) -> Layout:
        assert record.tree
        return bracketed(record, record.tree, segment)


def bracketed(record: ParseRecord, tree: Tree, segment: Segment) -> Layout:
    """Return the bracketed tree of a record over subwords."""
    tree = split_leaves(tree, segment)
    tokens: list[str] = []
    is_subword: list[bool] = []
    for node, leaf, closing in zip(tree.nodes, tree.is_leaf(), tree.closings(), strict=True):
        tokens += [node if leaf else structural(f"({node}"), *[structural(")")] * closing]
        is_subword += [leaf, *[False] * closing]
    return Layout(tokens, words_of_subwords(record, segment, is_subword))
