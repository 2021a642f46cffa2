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
from typing import TYPE_CHECKING, ClassVar, Literal

from synmt.ideas.source import Layout, Segment, SourceIdea, Task, words_of_subwords
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, setting
from synmt.text.vocabulary import structural
from synmt.trees.constituency import split_leaves, subtree_ends
from synmt.trees.dependency import preorder
from synmt.trees.linearization import NO_TREE, RELATIONS
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.ideas.source.mask.attention import HardMasks, TreeMasks

# Parents that match no node: words are nodes from 0 on, and tokens that are no words are node -1.
ROOTS_PARENT = NO_TREE - 1
NO_PARENT = NO_TREE - 2  # counting down from here, no two such tokens are siblings


@dataclass(frozen=True)
class Mask(SourceIdea):
    """Tokens: the tree over subwords in preorder. Columns: `parents`, `ends` (subtree ends, exclusive).

    With a dependency tree: the tokens do not change, and there are two more columns, `nodes` and `orders`, as in
    mask/attention.py.
    """

    cites: ClassVar[tuple[str, ...]] = ("mcdonald2021syntax",)

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

    def columns(self, record: ParseRecord, layout: Layout) -> dict[str, list[int]]:
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

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "TreeMasks | HardMasks":
        from synmt.ideas.source.mask.attention import HardMasks, TreeMasks

        if self.hard:
            return HardMasks(config.heads, config.encoder_layers, self._others)
        return TreeMasks(config.heads, config.encoder_layers, self.per_layer, self._relations)


PRESETS = {"paper": Preset()}  # all configs default to the settings of the paper and its code
