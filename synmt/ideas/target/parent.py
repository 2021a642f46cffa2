"""`parent`: a decoder with a head that sees the parents in the tree that it is writing.

Choshen & Abend (2022), "Enhancing the Transformer Decoder with Transition-based Syntax", CoNLL, section 4. The decoder
writes words and arcs, and its positions see the whole prefix. One head (the first of every layer, as in the paper's
code) sees only the position itself and its parents by the arcs written so far. A word of several subwords counts as
several parents, and the arc's own token is one more. No new parameters; labels are not used.

In the paper's code, the token of an arc also attends to its dependent. Here it sees its parents.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.ideas.source import Heads
from synmt.ideas.target import PREFIXES, TargetIdea
from synmt.ideas.target.arcs import GRAPH, ArcSpelling
from synmt.nn.config import TransformerConfig
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle

if TYPE_CHECKING:
    from synmt.ideas.target.arcs.graph import TreeParents

HEADS = (0,)


@dataclass(frozen=True)
class Parent(TargetIdea):
    """Words, with arcs among them, and the graph of the arcs."""

    cites: ClassVar[tuple[str, ...]] = ("choshen2022enhancing",)

    runs = PREFIXES
    reads = GRAPH

    def spelling(self, style: ArcStyle) -> ArcSpelling:
        return ArcSpelling(style)

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return dict.fromkeys(range(1, config.decoder_layers + 1), HEADS)

    def decoder_part(self, config: TransformerConfig, vocabulary: Vocabulary) -> "TreeParents":
        from synmt.ideas.target.arcs.graph import TreeParents

        return TreeParents(HEADS)
