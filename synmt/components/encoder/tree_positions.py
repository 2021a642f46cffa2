"""`tree-positions`: the place of each word in the dependency tree, added to its embedding.

After Shiv & Quirk (2019), "Novel Positional Encodings to Enable Tree-Based Transformers", NeurIPS. They encode the path
from the root as a stack of choices among children. Here, two learned vectors per token stand for the end of that path:
the depth of its word, and the word's place among its siblings. Both are zero for tokens that are no words, and in a
sentence without a tree. They start small, so that training starts near `sequence`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.components.contract import EncoderComponent, Field, Layout, ParseRecord, TransformerConfig, setting
from synmt.trees.dependency import dependents, depths

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun


@dataclass(frozen=True)
class TreePositions(EncoderComponent):
    """Fields: `tree_depths`, from 1; `tree_siblings`, from 1; both 0 for a token that is no word."""

    cites: ClassVar[tuple[str, ...]] = ("shiv2019novel",)

    most: int = setting(16, "depths and places that are told apart; later ones share a vector", 1, 2**15 - 1)

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"heads"})

    def reads(self) -> Mapping[str, Field]:
        return {"tree_depths": Field(dtype="int16"), "tree_siblings": Field(dtype="int16")}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        place = {word: number for siblings in dependents(record.heads) for number, word in enumerate(siblings, 1)}
        siblings = [min(self.most, place[word]) for word in range(1, len(record.heads) + 1)]
        levels = [min(self.most, depth) for depth in depths(record.heads)]
        return {"tree_depths": layout.of_words(levels, 0), "tree_siblings": layout.of_words(siblings, 0)}

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        from torch import nn

        tables = {name: nn.Embedding(1 + self.most, config.width, padding_idx=0) for name in self.reads()}
        for table in tables.values():
            nn.init.normal_(table.weight.data[1:], std=0.02)
        return tables

    def embed(self, run: "SideRun", vectors: "Tensor") -> "Tensor":
        own, fields = run.own, run.fields
        return vectors + own.tree_depths(fields["tree_depths"]) + own.tree_siblings(fields["tree_siblings"])
