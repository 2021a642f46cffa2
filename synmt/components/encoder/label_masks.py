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
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.components.contract import (
    EncoderComponent,
    Field,
    Layout,
    ParseRecord,
    TransformerConfig,
    penalties_of,
    setting,
    shared_or_per_layer,
)

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun, Value

UNMASKED = 1.0  # the penalty of a pair without a mask: exp(0)
FARTHEST = 2**62  # above every node


@dataclass(frozen=True)
class LabelMasks(EncoderComponent):
    """For each token of a word, the lowest node above it and the next such token.

    Fields: `lowest_depths`, the depths of these nodes; 0 if there is no next token, -1 for a token of no word; and
    `lowest`, the labels of these nodes; "" in both cases.
    """

    cites: ClassVar[tuple[str, ...]] = ("mcdonald2021syntax",)

    per_layer: bool = setting(False, "separate strengths for each layer")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"tree"})

    def reads(self) -> Mapping[str, Field]:
        return {"lowest_depths": Field(), "lowest": Field("label")}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        depths, nodes = (record.tree.depths(), record.tree.nodes) if record.tree else ([], [])
        places = _lowest(record, layout)
        of_words = iter([*((depths[node], nodes[node]) if node >= 0 else (0, "") for node in places), (0, "")])
        pairs = [next(of_words) if word >= 0 else (-1, "") for word in layout.words]
        return {"lowest_depths": [depth for depth, _ in pairs], "lowest": [label for _, label in pairs]}

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        """strengths [1 or layers, H, 3+2L]: first the strength of a token with itself; then, for unknown labels and
        each of L labels, the strength of keys on the right and of keys on the left."""
        import torch

        count = len(self.names_of_strengths(labels))
        return {"strengths": torch.zeros(config.encoder_layers if self.per_layer else 1, config.heads, count)}

    def names_of_strengths(self, labels: Mapping[str, Sequence[str]]) -> list[str]:
        sides = (f"{label} {side}" for label in ("unknown", *labels.get("lowest", ())) for side in ("right", "left"))
        return ["self", *sides]

    def penalty(self, run: "SideRun") -> "Value":
        import torch.nn.functional as F

        values = penalties_of(run.own.strengths)
        cells = kinds(run.fields["lowest_depths"], run.fields["lowest"], (values.shape[2] - 1) // 2)
        return shared_or_per_layer(F.pad(values, (0, 1), value=UNMASKED), cells)


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


def kinds(depths: "Tensor", labels: "Tensor", count: int) -> "Tensor":
    """Return the index of each pair's strength, row = query, column = key. Pairs without a mask get the number of
    strengths.

    depths, labels [B,n] int64: of the lowest node above each token and the next one, as in LabelMasks; labels are below
    `count` → [B,n,n] uint8, or int16 for many labels.
    """
    import torch
    import torch.nn.functional as F

    length = depths.shape[1]
    index = torch.arange(length, device=depths.device)
    query, key = index.view(1, -1, 1), index.view(1, 1, -1)
    is_none = depths < 0
    nodes = (depths * count + labels).masked_fill(is_none, FARTHEST).unsqueeze(1)
    nodes = nodes.expand(-1, length, -1).masked_fill(key < query, FARTHEST)
    highest = F.pad(nodes.cummin(dim=2).values[:, :, :-1], (1, 0))  # from the query up to just before the key
    most = 2 * count + 1
    cells = (1 + 2 * (highest % count)).to(torch.uint8 if most < 2**8 else torch.int16)
    cells = torch.where(key > query, cells, cells.transpose(1, 2) + 1).masked_fill_(key == query, 0)
    return cells.masked_fill_(is_none.unsqueeze(1) | is_none.unsqueeze(2), most)
