"""`gcn-encoder`: graph convolutions over the dependency tree on top of the encoder.

Bastings, Titov, Aziz, Marcheggiani & Sima'an (2017), "Graph Convolutional Encoders for Syntax-aware Neural Machine
Translation", EMNLP, with their directions, labels and gates, here on a Transformer:

    h_v ← h_v + relu(Σ_u g_uv (W_dir h_u + b_dir,lab)),   g_uv = σ(h_u · ŵ_dir + b̂_dir)

over v itself, the parent (dir: down) and the dependents (up) of its word. The tokens of a word are all linked with the
first token of its parent, under the word's relation. Tokens without a parent keep only the term of themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.components.contract import (
    SOME_HEADS,
    EncoderComponent,
    Field,
    Layout,
    ParseRecord,
    TransformerConfig,
    parents_of_words,
    setting,
    spans_of_words,
)

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun


@dataclass(frozen=True)
class GcnEncoder(EncoderComponent):
    """Fields: `gcn_parents`, the first token of each token's parent, -1 for none; `gcn_relations`, its relation."""

    cites: ClassVar[tuple[str, ...]] = ("bastings2017graph",)

    layers: int = setting(1, "graph convolutions", 1, 16)

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({SOME_HEADS, "deprels"})

    def reads(self) -> Mapping[str, Field]:
        return {"gcn_parents": Field(pad=-1), "gcn_relations": Field("label")}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        first, _ = spans_of_words(layout, len(record.tokens))
        pairs = enumerate(parents_of_words(record))
        parents = [first[parent] if parent not in (-1, word) else -1 for word, parent in pairs]
        relations = layout.of_words(record.deprels or [""] * len(record.tokens), "")
        return {"gcn_parents": layout.of_words(parents, -1), "gcn_relations": relations}

    def layers_after(self, config: TransformerConfig) -> Sequence[int]:
        return (config.encoder_layers,)

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        from torch import nn

        count, width, convolutions = 1 + len(labels.get("gcn_relations", ())), config.width, nn.ModuleList()
        for _ in range(self.layers):
            products, gates, biases = nn.Linear(width, 3 * width), nn.Linear(width, 3), nn.Embedding(count, 2 * width)
            nn.init.zeros_(biases.weight)
            convolutions.append(nn.ModuleDict({"products": products, "gates": gates, "biases": biases}))
        return {"convolutions": convolutions}

    def after(self, run: "SideRun", layer: int, states: "Tensor") -> "Tensor":
        parents = run.fields["gcn_parents"]
        edges = (parents.unsqueeze(2) == run.queries).to(states.dtype)  # [B, child, parent]
        for each in run.own.convolutions:
            own, down, up = each["products"](states).chunk(3, dim=-1)
            own_gate, down_gate, up_gate = each["gates"](states).sigmoid().split(1, dim=-1)
            label_down, label_up = each["biases"](run.fields["gcn_relations"]).chunk(2, dim=-1)
            from_parent = edges @ (down_gate * down) + (edges @ down_gate) * label_down
            states = states + (own_gate * own + from_parent + edges.mT @ (up_gate * (up + label_up))).relu()
        return states
