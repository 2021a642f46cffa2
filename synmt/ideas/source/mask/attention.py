"""The tensors of `mask`: learned strengths of the nine relations between nodes of a tree, as biases of attention."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from synmt.nn.attention import AttentionEdit, hiding
from synmt.nn.encoding import EncoderPass, SourceBatch
from synmt.nn.lookup import lookup
from synmt.trees.linearization import NO_TREE, RELATIONS

UNMASKED = -1.0  # the bias of a pair without a mask: −exp(0)
STRENGTH_LIMIT = 10.0  # exp(10) hides a key in every precision; larger values would risk overflow


class Masks(Protocol):
    """A module that masks attention, as inspection sees it: strengths [..,H,M] of the masks with these names."""

    names: Sequence[str]
    strengths: nn.Parameter

    def __call__(self, batch: SourceBatch) -> EncoderPass:
        """Return the penalties of the masks; layers that share them share the edit."""


class TreeMasks(nn.Module):
    """−exp of the strength of each pair's relation, or −exp(0) if the relation is not in `names`.

    names: R of the nine relations. strengths [1 or layers, H, R].
    """

    ids: Tensor

    def __init__(self, heads: int, layers: int, per_layer: bool, names: Sequence[str] = RELATIONS) -> None:
        super().__init__()
        self.layers, self.names = layers, names
        self.register_buffer("ids", _ids(names), persistent=False)
        self.strengths = nn.Parameter(torch.zeros(layers if per_layer else 1, heads, len(names)))

    def forward(self, batch: SourceBatch) -> EncoderPass:
        return pass_of(self.biases(batch), self.layers)

    def biases(self, batch: SourceBatch) -> list[Tensor]:
        """Return one bias [B,H,n,n] per set of strengths."""
        cells = relations_of(batch)
        values = biases_of(self.strengths)
        tables = values.new_full((*values.shape[:2], len(RELATIONS) + 1), UNMASKED)
        tables = tables.index_copy(2, self.ids, values)
        with torch.autocast(cells.device.type, enabled=False):
            return [lookup(table, cells) for table in tables]


class HardMasks(nn.Module):
    """Each head sees its query and the keys in one of the named relations; heads cycle through the names. No
    parameters. In a sentence without a tree, every head sees every key."""

    ids: Tensor

    def __init__(self, heads: int, layers: int, names: Sequence[str]) -> None:
        super().__init__()
        self.layers = layers
        self.register_buffer("ids", _ids([names[head % len(names)] for head in range(heads)]), persistent=False)

    def forward(self, batch: SourceBatch) -> EncoderPass:
        cells = relations_of(batch).unsqueeze(1)
        seen = (cells == self.ids.view(1, -1, 1, 1)) | (cells == 0) | (cells == len(RELATIONS))
        if batch.padding is not None:  # padded queries must see something
            seen |= batch.padding[:, None, :, None]
        return EncoderPass([AttentionEdit(hiding(~seen))] * self.layers)


def pass_of(biases: Sequence[Tensor], layers: int) -> EncoderPass:
    """Return the pass of masks with one bias [B,H,n,n], −exp of a strength, for all layers, or one per layer."""
    edits = [AttentionEdit(penalty=-bias) for bias in biases]
    return EncoderPass(edits * layers if len(edits) == 1 else edits)


def _ids(names: Sequence[str]) -> Tensor:
    return torch.tensor([RELATIONS.index(name) for name in names])


def relations_of(batch: SourceBatch) -> Tensor:
    """Return the ids of `relations` for the columns of a batch, [B,n,n]."""
    columns = batch.columns
    return relations(columns["parents"], columns["ends"], columns.get("nodes"), columns.get("orders"))


def biases_of(strengths: Tensor) -> Tensor:
    """Return the bias of a mask of each strength, −exp(strength), in fp32 or better."""
    wide = strengths if strengths.dtype == torch.float64 else strengths.float()
    return -wide.clamp(max=STRENGTH_LIMIT).exp()


def relations(parents: Tensor, ends: Tensor, nodes: Tensor | None = None, orders: Tensor | None = None) -> Tensor:
    """Return ids of synmt.trees.linearization.RELATIONS, and one more id for no tree; row = query, column = key.

    parents [B,n] int64: the parent of each token's node, negative for a root, NO_TREE for all tokens without a tree.
    ends [B,n] int64: the end of the subtree of each token's node.
    nodes, orders [B,n]: each token's node, and its place in preorder; by default, tokens are nodes in preorder. Tokens
    of one node are siblings. Padding may have any values → [B,n,n] uint8.
    """
    length = parents.shape[1]
    index = torch.arange(length, device=parents.device)
    query, key = index.view(1, length, 1), index.view(1, 1, length)
    node_of_query, node_of_key = (query, key) if nodes is None else (nodes.unsqueeze(2), nodes.unsqueeze(1))
    parent_of_query, parent_of_key = parents.unsqueeze(2), parents.unsqueeze(1)
    after = key > query
    cells = 7 + after.to(torch.uint8).expand(len(parents), -1, -1)
    below = after if orders is None else orders.unsqueeze(1) > orders.unsqueeze(2)
    below = below & ((key if orders is None else orders.unsqueeze(1)) < ends.unsqueeze(2))
    cells = cells.masked_fill(below, 6).masked_fill_(below.transpose(1, 2), 5)
    siblings = parent_of_query == parent_of_key
    cells.masked_fill_(siblings & after, 4).masked_fill_(siblings & (key < query), 3)
    cells.masked_fill_(parent_of_key == node_of_query, 2).masked_fill_(parent_of_query == node_of_key, 1)
    return cells.masked_fill_(query == key, 0).masked_fill_(parent_of_query == NO_TREE, len(RELATIONS))
