"""`mask`: learned syntax masks in encoder self-attention.

McDonald & Chiang (2021), "Syntax-Based Attention Masking for Neural Machine Translation", NAACL-SRW.

The encoder reads the tree over subwords in preorder, with labels but without closing brackets. Nine relations partition
all ordered pairs of nodes (synmt.trees.linearization), and each head h learns a strength s for each relation r. In
section 2, each pair has exactly one mask:

    α_h = softmax(Q_h K_hᵀ / √c − exp(s_h[r(q,k)]))

Strengths start at zero, where every bias is −1 and attention is plain. As in the paper's code, all layers share one set
of strengths; `per_layer` gives each layer its own. That code gathered relations recursively from tree objects. Here the
device computes them from two columns, a node's parent and the end of its subtree.

If `relations` names only some of them, pairs in other relations have no mask and get −exp(0). With `hard` masks,
nothing is learned: each head sees the keys in one relation to the query, and the query itself.

Pairs in a sentence without a tree have no mask either: they all get −exp(0), so attention is plain.

With `tree` dependency, the encoder reads only the subwords, in order, and the relations hold between words in the
dependency tree. The subwords of a word are siblings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from synmt.components.contract import (
    EncoderComponent,
    Field,
    Layout,
    ParseRecord,
    Preset,
    Segment,
    Task,
    TransformerConfig,
    penalties_of,
    setting,
    shared_or_per_layer,
    structural,
    words_of_subwords,
)
from synmt.trees.constituency import split_leaves, subtree_ends
from synmt.trees.dependency import preorder
from synmt.trees.linearization import NO_TREE, RELATIONS

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun, Value

UNMASKED = 1.0  # the penalty of a pair without a mask: exp(0)

# Parents that match no node: words are nodes from 0 on, and tokens that are no words are node -1.
ROOTS_PARENT = NO_TREE - 1
NO_PARENT = NO_TREE - 2  # counting down from here, no two such tokens are siblings


@dataclass(frozen=True)
class Mask(EncoderComponent):
    """Tokens: the tree over subwords in preorder. Fields: `parents`, `ends` (subtree ends, exclusive).

    With a dependency tree: the tokens do not change, and there are two more fields, `nodes` and `orders`, as in
    `relations`.
    """

    cites: ClassVar[tuple[str, ...]] = ("mcdonald2021syntax",)
    # All configs default to the settings of the paper and its code.
    presets: ClassVar[Mapping[str, Preset]] = {"paper": Preset()}

    per_layer: bool = setting(False, "separate strengths for each layer", unless="hard")
    tree: Literal["constituency", "dependency"] = setting("constituency", "which tree the relations come from")
    relations: str = setting("", f"relations that have masks, joined by +: {', '.join(RELATIONS)}")
    hard: bool = setting(False, "learn no strengths: each head sees one relation, in turn, and the token itself")

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = sorted(set(self._relations) - set(RELATIONS))
        if unknown or len(set(self._relations)) < len(self._relations):
            raise ValueError(f"relations cannot be {self.relations!r}; choose from {', '.join(RELATIONS)}, each once")
        if self.hard and (self.per_layer or not self._others):
            raise ValueError("hard masks cannot be per layer, and need relations other than self")

    @property
    def _relations(self) -> list[str]:
        return self.relations.split("+") if self.relations else list(RELATIONS)

    @property
    def _others(self) -> list[str]:
        return [name for name in self._relations if name != RELATIONS[0]]

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"heads" if self.tree == "dependency" else "tree"})

    def lays_out(self) -> bool:
        return self.tree == "constituency"

    def layout(self, record: ParseRecord, segment: Segment, task: Task) -> Layout | None:
        if self.tree == "dependency":
            return None
        assert record.tree
        tree = split_leaves(record.tree, segment)
        leaves = tree.is_leaf()
        tokens = [node if leaf else structural(node) for node, leaf in zip(tree.nodes, leaves, strict=True)]
        return Layout(tokens, words_of_subwords(record, segment, leaves), tree.parents)

    def reads(self) -> Mapping[str, Field]:
        more = ("nodes", "orders") if self.tree == "dependency" else ()
        return {name: Field() for name in ("parents", "ends", *more)}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        if self.tree == "constituency":
            parents = layout.parents or [NO_TREE] * len(layout.tokens)
            return {"parents": parents, "ends": subtree_ends(parents)}
        orders, ends = preorder(record.heads)
        parents = [NO_TREE] * len(layout.words)
        if record.heads:  # a token that is no word is related to no other
            above = [head - 1 if head else ROOTS_PARENT for head in record.heads]
            parents = [above[word] if word >= 0 else NO_PARENT - token for token, word in enumerate(layout.words)]
        ends, orders = layout.of_words(ends, -1), layout.of_words(orders, -1)
        return {"nodes": layout.words, "parents": parents, "ends": ends, "orders": orders}

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        """strengths [1 or layers, H, R] of the R relations."""
        import torch

        layers = config.encoder_layers if self.per_layer else 1
        return {} if self.hard else {"strengths": torch.zeros(layers, config.heads, len(self._relations))}

    def names_of_strengths(self, labels: Mapping[str, Sequence[str]]) -> list[str]:
        return self._relations

    @property
    def hooks(self) -> frozenset[str]:
        return frozenset({"bias"} if self.hard else {"penalty"})

    def penalty(self, run: "SideRun") -> "Value":
        """Return exp of the strength of each pair's relation, or exp(0) if the relation has no mask."""
        import torch

        values = penalties_of(run.own.strengths)
        own = dict(zip(self._relations, values.unbind(dim=2), strict=True))
        unmasked = values.new_full(values.shape[:2], UNMASKED)
        tables = torch.stack([own.get(name, unmasked) for name in (*RELATIONS, "none")], dim=2)
        return shared_or_per_layer(tables, self._cells(run))

    def bias(self, run: "SideRun") -> "Value":
        """Return the bias of hard masks: each head sees its query and the keys in one of the relations; heads cycle
        through them. In a sentence without a tree, every head sees every key."""
        import torch

        from synmt.nn.attention import hiding

        names, cells = self._others, self._cells(run).unsqueeze(1)
        heads = range(run.own.config.heads)
        own = torch.cat([cells == RELATIONS.index(names[head % len(names)]) for head in heads], dim=1)
        seen = own | (cells == 0) | (cells == len(RELATIONS))
        return hiding(~seen)

    def _cells(self, run: "SideRun") -> "Tensor":
        fields = run.fields
        return relations(fields["parents"], fields["ends"], fields.get("nodes"), fields.get("orders"))


def relations(
    parents: "Tensor", ends: "Tensor", nodes: "Tensor | None" = None, orders: "Tensor | None" = None
) -> "Tensor":
    """Return ids of synmt.trees.linearization.RELATIONS, and one more id for no tree; row = query, column = key.

    parents [B,n] int64: the parent of each token's node, negative for a root, NO_TREE for all tokens without a tree.
    ends [B,n] int64: the end of the subtree of each token's node.
    nodes, orders [B,n]: each token's node, and its place in preorder; by default, tokens are nodes in preorder. Tokens
    of one node are siblings. Padding may have any values → [B,n,n] uint8.
    """
    import torch

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
