"""`mask`: learned syntax masks in encoder self-attention.

McDonald & Chiang (2021), "Syntax-Based Attention Masking for Neural Machine Translation", NAACL-SRW.

The encoder reads the preorder of the tree over word pieces, labels included, without closing brackets. Nine
relations partition all ordered pairs of nodes (synmt.trees.relations), and each head h learns a strength s for
each relation r. Section 2, with a single mask on for each pair:

    α_h = softmax(Q_h K_hᵀ / √c − exp(s_h[r(q,k)]))

Strengths start at zero, where every bias is −1 and attention is plain. As in the paper's code, all layers share
one set of strengths; `per_layer` gives each its own. Where that code gathered recursively from tree objects,
relations are compared on the device from two vectors, a node's parent and the end of its subtree.
"""

import torch
from torch import Tensor, nn

from synmt.nn.config import TransformerConfig
from synmt.systems.source import Segment, SourceBatch, SourceFeatures
from synmt.text.vocabulary import structural
from synmt.trees.record import ParseRecord
from synmt.trees.relations import RELATIONS, subtree_ends
from synmt.trees.subwords import split_leaves

STRENGTH_LIMIT = 10.0  # exp(10) hides a key in every precision; more would only risk an overflow


class Mask:
    """Tokens: the preorder of the tree over word pieces. Vectors: `parents`, `ends` (subtree ends, exclusive)."""

    needs_tree = True
    per_layer = False

    def features(self, record: ParseRecord, segment: Segment) -> SourceFeatures:
        if record.tree is None:
            raise ValueError("record has no constituency tree")
        tree = split_leaves(record.tree, segment)
        leaves = tree.is_leaf()
        tokens = [node if leaf else structural(node) for node, leaf in zip(tree.nodes, leaves, strict=True)]
        vectors = {"parents": tree.parents, "ends": subtree_ends(tree.parents)}
        return SourceFeatures(tokens, sum(leaves), vectors)

    def attention_bias(self, config: TransformerConfig) -> "TreeMasks":
        return TreeMasks(config.heads, config.encoder_layers, self.per_layer)


class MaskPerLayer(Mask):
    """The same with strengths of its own for each layer."""

    per_layer = True


class TreeMasks(nn.Module):
    """−exp of the strength of each pair's relation; strengths [1 or layers, H, 9]."""

    def __init__(self, heads: int, layers: int, per_layer: bool) -> None:
        super().__init__()
        self.layers = layers
        self.strengths = nn.Parameter(torch.zeros(layers if per_layer else 1, heads, len(RELATIONS)))

    def forward(self, batch: SourceBatch) -> list[Tensor]:
        cells = relations(batch.vectors["parents"], batch.vectors["ends"])
        one_hot = cells.unsqueeze(1) == torch.arange(len(RELATIONS), device=cells.device).view(1, -1, 1, 1)
        with torch.autocast(cells.device.type, enabled=False):
            values = -self.strengths.float().clamp(max=STRENGTH_LIMIT).exp()
            flat = one_hot.flatten(2).to(values.dtype)
            biases = [(layer @ flat).unflatten(2, cells.shape[1:]) for layer in values]
        return biases * self.layers if len(biases) == 1 else biases


def relations(parents: Tensor, ends: Tensor) -> Tensor:
    """Ids of synmt.trees.relations.RELATIONS for a batch, row = query, column = key.

    parents and ends [B,n] int64 (a root's parent is −1), padded with anything → [B,n,n] uint8.
    """
    length = parents.shape[1]
    index = torch.arange(length, device=parents.device)
    query, key = index.view(1, length, 1), index.view(1, 1, length)
    parent_of_query, parent_of_key = parents.unsqueeze(2), parents.unsqueeze(1)
    after = key > query
    cells = 7 + after.to(torch.uint8).expand(len(parents), -1, -1)
    below = after & (key < ends.unsqueeze(2))
    cells = cells.masked_fill(below, 6).masked_fill_(below.transpose(1, 2), 5)
    siblings = parent_of_query == parent_of_key
    cells.masked_fill_(siblings & after, 4).masked_fill_(siblings & (key < query), 3)
    cells.masked_fill_(parent_of_key == query, 2).masked_fill_(parent_of_query == key, 1)
    return cells.masked_fill_(query == key, 0)
