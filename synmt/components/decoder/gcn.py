"""`gcn`: a decoder whose input passes through a graph convolution over the tree that it is writing.

Choshen & Abend (2022), "Enhancing the Transformer Decoder with Transition-based Syntax", CoNLL, section 4, after
Bastings et al. (2017). The decoder writes words and arcs, its positions see the whole prefix, and the embeddings pass
through these layers before the first decoder layer:

    h_v ← h_v + relu(Σ_u g_uv (W_dir h_u + b_lab)),   g_uv = σ(h_u · ŵ_dir + b̂_lab)

over v itself, its parents (dir: right) and its children (left) by the arcs written so far. Without `labels`, b and b̂
are absent; without `gates`, g = 1. The paper's "− Gates" has neither.

Variant `reference` follows the paper's code, which produced the published scores. There, u is replaced by v in all
products, so a neighbour counts but passes nothing on; only the head's row has the label, for the dependent; and the
token of an arc has edges only in its own row, left with the head and right with the dependent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from synmt.components.arcs import NEVER, OF_GRAPH
from synmt.components.contract import DecoderComponent, TransformerConfig, Vocabulary, setting
from synmt.components.linearization import ArcLinearization
from synmt.trees.arc_tokens import arc_labels

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun


@dataclass(frozen=True)
class Gcn(DecoderComponent):
    """Words, with arcs among them, and the graph of the arcs with their labels."""

    cites: ClassVar[tuple[str, ...]] = ("choshen2022enhancing", "bastings2017graph")

    layers: int = setting(2, "graph convolutions below the decoder's layers", 1, 100)
    labels: bool = setting(True, "biases of the arcs' labels")
    gates: bool = setting(True, "gates of the edges")
    variant: Literal["paper", "reference"] = setting("paper", "the formula of the paper, or of its code")

    prefixes = True
    writes = ArcLinearization
    state_fields = OF_GRAPH

    def layers_after(self, config: TransformerConfig) -> tuple[int, ...]:
        return (0,)

    def parameters(self, config: TransformerConfig, vocabulary: Vocabulary) -> Mapping[str, Any]:
        """Of each convolution: weights [3,out,in] of self, left and right; label_bias [labels,d] and gate_label_bias
        [labels], with one more label for no arc; gates [3,d]."""
        import torch
        from torch import nn

        labels = 1 + len(arc_labels(vocabulary.target)) if self.labels else 0
        layers = nn.ModuleList()
        for _ in range(self.layers):
            layer = nn.ParameterDict({"weights": torch.empty(3, config.width, config.width)})
            if labels:
                layer["label_bias"] = torch.zeros(labels, config.width)
            if self.gates:
                layer["gates"] = torch.empty(3, config.width)
            if self.gates and labels:
                layer["gate_label_bias"] = torch.zeros(labels)
            for weight in layer["weights"]:
                nn.init.xavier_uniform_(weight.data)
            if self.gates:
                nn.init.xavier_uniform_(layer["gates"])
            layers.append(layer)
        return {"layers": layers}

    def after(self, run: "SideRun", layer: int, states: "Tensor") -> "Tensor":
        """Return the embedded input [R,m,d] after all convolutions."""
        births = run.fields["births"]
        visible = births.masked_fill(births >= len(run.queries), NEVER)
        for own in run.own.layers:
            states = convolved(own, states, visible, run.fields["labels"], self.variant)
        return states


def convolved(own: Any, states: "Tensor", births: "Tensor", labels: "Tensor", variant: str) -> "Tensor":
    """Return h_v + relu(Σ_u g_uv (W_dir h_u + b_lab)), g_uv = σ(h_u · ŵ_dir + b̂_lab), over v and its neighbours u.

    own: the parameters of a convolution; states [R,m,d]; births, labels: as in synmt.components.arcs.graph.

    dir is self; left, from a child to its parent; or right, from a parent to its child. Both directions of an edge have
    its label, and v itself has none. Sums are not normalized. With variant `reference`, v replaces u in all products,
    so neighbours count but pass nothing on; only a head's row has the label, for its dependent; and the token of an arc
    has edges only in its own row: left with the head, right with the dependent.
    """
    import torch
    import torch.nn.functional as F

    products = F.linear(states, own["weights"].flatten(0, 1))
    open_gates = states.new_full((*states.shape[:2], 3), torch.inf)  # their sigmoid is one
    logits = F.linear(states, own["gates"]) if "gates" in own else open_gates
    zero = own["weights"].new_zeros(())
    bias = F.embedding(labels, own["label_bias"]) if "label_bias" in own else zero.expand(*labels.shape, 1)
    gate_bias = own["gate_label_bias"][labels] if "gate_label_bias" in own else zero.expand(labels.shape)
    add_up = _passing if variant == "paper" else _counting
    return states + F.relu(add_up(births, products, logits, bias, gate_bias))


def _passing(births: "Tensor", products: "Tensor", logits: "Tensor", bias: "Tensor", gate_bias: "Tensor") -> "Tensor":
    """Return the sum at each position, [R,m,d].

    products [R,m,3d]; logits of the gates [R,m,3]; b_lab [R,m,d or 1] and b̂_lab [R,m] of each position's label.
    """
    own, left, right = products.chunk(3, dim=-1)
    own_gate, left_gate, right_gate = logits.unbind(dim=-1)
    edges = (births < NEVER).to(products.dtype)
    from_child = (left_gate + gate_bias).sigmoid().unsqueeze(2) * (left + bias)
    gates = edges * (right_gate.unsqueeze(1) + gate_bias.unsqueeze(2)).sigmoid()  # [R, child, parent]
    from_parents = gates @ right + gates.sum(dim=2, keepdim=True) * bias
    return own_gate.sigmoid().unsqueeze(2) * own + edges.transpose(1, 2) @ from_child + from_parents


def _counting(births: "Tensor", products: "Tensor", logits: "Tensor", bias: "Tensor", gate_bias: "Tensor") -> "Tensor":
    """Return the sum at each position with variant `reference`."""
    import torch

    own, left, right = products.chunk(3, dim=-1)
    own_gate, left_gate, right_gate = logits.unbind(dim=-1)
    edges = births < NEVER
    # The edge from an arc's token to its dependent has the same birth as the edge from the head to the token. No edge
    # from a word to a dependent does. All edges into a position belong to one arc.
    to_dependent = edges & (births == births.amin(dim=2).unsqueeze(1))
    to_head = edges & to_dependent.any(dim=1).unsqueeze(2)  # edges from heads into tokens of arcs
    between = edges & ~to_dependent & ~to_head
    opened = (left_gate.unsqueeze(2) + gate_bias.unsqueeze(1)).sigmoid()
    gates = between.transpose(1, 2) * opened  # [R, head, dependent]
    lefts = gates.sum(dim=2) + to_head.sum(dim=2) * left_gate.sigmoid()
    rights = (between.sum(dim=2) + to_dependent.sum(dim=1)) * right_gate.sigmoid()
    factors = torch.stack([own_gate.sigmoid(), lefts, rights], dim=2).unsqueeze(3)
    return (factors * torch.stack([own, left, right], dim=2)).sum(dim=2) + gates.to(bias.dtype) @ bias
