"""`label-masks`: learned masks in encoder self-attention by the label of the lowest node above two words.

Ours, after `mask` (McDonald & Chiang 2021): there, labels are tokens that the encoder reads beside the words, which
makes sources about twice as long. Here it reads the subwords alone, and labels stand on the edges between them. Two
tokens q and k of different places have one lowest node above both; its label, and the side on which k is, choose the
strength that each head h learns:

    α_h = softmax(Q_h K_hᵀ / √c − exp(s_h[label(q,k), side(q,k)]))

A token itself has a strength of its own; subwords of a word have the word's own label above them. No mask holds of
tokens that are no words, and of a sentence without a tree. The lowest node above words i and j is the highest of those
above two neighbours between them, so that O(n) numbers a sentence say it all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.systems.idea import Layout, SourceIdea
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.systems.label_masks.attention import LabelStrengths


@dataclass(frozen=True)
class LabelMasks(SourceIdea):
    """Of each token that is of a word, the lowest node above it and the next such token. Columns: `lowest_depths`,
    depths of these nodes, 0 where there is no next one, -1 of a token of no word. Labels: `lowest`, "" of both."""

    per_layer: bool = setting(False, "strengths of their own for each layer")

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
        from synmt.systems.label_masks.attention import LabelStrengths

        return LabelStrengths(config.heads, config.encoder_layers, labels.get("lowest", ()), self.per_layer)


def _lowest(record: ParseRecord, layout: Layout) -> list[int]:
    """Return the lowest node above each token of a word and the next, -1 where there is none: one less than tokens."""
    words = [word for word in layout.words if word >= 0]
    if not record.tree or not words:
        return []
    leaves = [node for node, leaf in enumerate(record.tree.is_leaf()) if leaf]
    # In preorder, what follows a leaf is a child of the lowest node above that leaf and the next one.
    return [
        record.tree.parents[leaves[word] if word == following else leaves[word] + 1]
        for word, following in pairwise(words)
    ]
