"""`label-masks`: learned masks in encoder self-attention, chosen by the label of the lowest node above two words.

Our own idea, after `mask` (McDonald & Chiang 2021). With `mask`, the encoder reads labels as tokens among the words,
which makes sources about twice as long. Here it reads only subwords, and labels describe pairs. Two different tokens q
and k have one lowest node above both. Its label, and the side of q on which k lies, select a strength that each head h
learns:

    α_h = softmax(Q_h K_hᵀ / √c − exp(s_h[label(q,k), side(q,k)]))

The pair of a token with itself has its own strength. For two subwords of a word, the lowest node is the node right
above the word. Tokens that are no words, and sentences without a tree, are not masked. The lowest node above words i
and j is the highest of the lowest nodes above neighbouring words between them, so O(n) numbers per sentence suffice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from synmt.ideas.source import Layout, SourceIdea
from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.ideas.source.label_masks.attention import LabelStrengths


@dataclass(frozen=True)
class LabelMasks(SourceIdea):
    """For each token of a word, the lowest node above it and the next such token.

    Columns: `lowest_depths`, the depths of these nodes; 0 if there is no next token, -1 for a token of no word.
    Labels: `lowest`, the labels of these nodes; "" in both cases.
    """

    cites: ClassVar[tuple[str, ...]] = ("mcdonald2021syntax",)

    per_layer: bool = setting(False, "separate strengths for each layer")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"tree"})

    def columns(self, record: ParseRecord, layout: Layout) -> dict[str, list[int]]:
        depths = record.tree.depths() if record.tree else []
        places = _lowest(record, layout)
        of_words = iter([*(depths[node] if node >= 0 else 0 for node in places), 0])
        return {"lowest_depths": [next(of_words) if word >= 0 else -1 for word in layout.words]}

    def labels(self, record: ParseRecord, layout: Layout) -> dict[str, list[str]]:
        nodes = record.tree.nodes if record.tree else []
        of_words = iter([*(nodes[node] if node >= 0 else "" for node in _lowest(record, layout)), ""])
        return {"lowest": [next(of_words) if word >= 0 else "" for word in layout.words]}

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "LabelStrengths":
        from synmt.ideas.source.label_masks.attention import LabelStrengths

        return LabelStrengths(config.heads, config.encoder_layers, labels.get("lowest", ()), self.per_layer)


def _lowest(record: ParseRecord, layout: Layout) -> list[int]:
    """Return the lowest node above each token of a word and the next one, -1 if there is none, [tokens − 1]."""
    words = [word for word in layout.words if word >= 0]
    if not record.tree or not words:
        return []
    leaves = [node for node, leaf in enumerate(record.tree.is_leaf()) if leaf]
    # In preorder, the node after a leaf is a child of the lowest node above that leaf and the next leaf.
    return [
        record.tree.parents[leaves[word] if word == following else leaves[word] + 1]
        for word, following in pairwise(words)
    ]
