"""`linearized`: a plain Transformer on bracketed trees, the first baseline of McDonald & Chiang (2021).

A constituent becomes `(X`, its children, `)`. With m word pieces and I interior nodes the encoder reads
m + 2·I tokens. Labels and brackets are structural tokens, apart from words that are spelled like them.
"""

from synmt.nn.config import TransformerConfig
from synmt.systems.source import Segment, SourceFeatures
from synmt.text.vocabulary import structural
from synmt.trees.record import ParseRecord
from synmt.trees.subwords import split_leaves


class Linearized:
    """Tokens: the bracketed preorder of the tree over word pieces."""

    needs_tree = True

    def features(self, record: ParseRecord, segment: Segment) -> SourceFeatures:
        if record.tree is None:
            raise ValueError("record has no constituency tree")
        tree = split_leaves(record.tree, segment)
        tokens: list[str] = []
        words = 0
        for node, leaf, closing in zip(tree.nodes, tree.is_leaf(), tree.closings(), strict=True):
            tokens.append(node if leaf else structural(f"({node}"))
            tokens += [structural(")")] * closing
            words += leaf
        return SourceFeatures(tokens, words)

    def attention_bias(self, config: TransformerConfig) -> None:
        return None
