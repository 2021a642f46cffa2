"""The tensors of `gcn`: graph convolutions on the decoder's input.

Shapes: R prefixes of one length m, N positions of all prefixes of a batch, d width.
"""

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.ideas.target.arcs.graph import Graph

Variant = Literal["paper", "reference"]


class GraphConvolutions(nn.Module):
    """Layers of a gated graph convolution on the decoder's input, each with a residual connection."""

    reads, place = "graph", "input"

    def __init__(self, width: int, layers: int, labels: int, gates: bool, variant: Variant) -> None:
        """As for GraphConvolution."""
        super().__init__()
        self.layers = nn.ModuleList(GraphConvolution(width, labels, gates, variant) for _ in range(layers))

    def forward(self, states: Tensor, graphs: Sequence[Graph]) -> Tensor:
        """states [N,d]: all positions, starting with the prefixes of graphs[0] → [N,d]"""
        for layer in self.layers:
            states = layer(states, graphs)
        return states


class GraphConvolution(nn.Module):
    """h_v + relu(Σ_u g_uv (W_dir h_u + b_lab)), g_uv = σ(h_u · ŵ_dir + b̂_lab), over v itself and its neighbours u.

    dir is self; left, from a child to its parent; or right, from a parent to its child. Both directions of an edge have
    its label, and v itself has none. Sums are not normalized. With variant `reference`, v replaces u in all products,
    so neighbours count but pass nothing on; only a head's row has the label, for its dependent; and the token of an arc
    has edges only in its own row: left with the head, right with the dependent.
    """

    def __init__(self, width: int, labels: int, gates: bool, variant: Variant) -> None:
        """labels: the number of labels, including the label of no arc; 0 for a convolution without labels."""
        super().__init__()
        self.variant = variant
        self.weights = nn.Parameter(torch.empty(3, width, width))  # self, left, right; each [out,in]
        self.label_bias = nn.Parameter(torch.zeros(labels, width)) if labels else None
        self.gates = nn.Parameter(torch.empty(3, width)) if gates else None
        self.gate_label_bias = nn.Parameter(torch.zeros(labels)) if gates and labels else None
        for weight in self.weights:
            nn.init.xavier_uniform_(weight.data)
        if self.gates is not None:
            nn.init.xavier_uniform_(self.gates)

    def forward(self, states: Tensor, graphs: Sequence[Graph]) -> Tensor:
        """As in GraphConvolutions."""
        sizes = [graph.labels.numel() for graph in graphs]
        products = F.linear(states, self.weights.flatten(0, 1)).split(sizes)
        open_gates = states.new_full((len(states), 3), torch.inf)  # their sigmoid is one
        logits = (open_gates if self.gates is None else F.linear(states, self.gates)).split(sizes)
        add_up = self._passing if self.variant == "paper" else self._counting
        sums = [
            add_up(graph, product.unflatten(0, graph.labels.shape), logit.unflatten(0, graph.labels.shape))
            for graph, product, logit in zip(graphs, products, logits, strict=True)
        ]
        return states + F.relu(torch.cat([each.flatten(0, 1) for each in sums]))

    def _passing(self, graph: Graph, products: Tensor, logits: Tensor) -> Tensor:
        """Return the sum at each position; products [R,m,3d], logits of the gates [R,m,3] → [R,m,d]"""
        own, left, right = products.chunk(3, dim=-1)
        own_gate, left_gate, right_gate = logits.unbind(dim=-1)
        edges = graph.edges().to(products.dtype)
        bias, gate_bias = self._of_labels(graph.labels)
        from_child = (left_gate + gate_bias).sigmoid().unsqueeze(2) * (left + bias)
        gates = edges * (right_gate.unsqueeze(1) + gate_bias.unsqueeze(2)).sigmoid()  # [R, child, parent]
        from_parents = gates @ right + gates.sum(dim=2, keepdim=True) * bias
        return own_gate.sigmoid().unsqueeze(2) * own + edges.transpose(1, 2) @ from_child + from_parents

    def _counting(self, graph: Graph, products: Tensor, logits: Tensor) -> Tensor:
        """Return the sum at each position with variant `reference`."""
        own, left, right = products.chunk(3, dim=-1)
        own_gate, left_gate, right_gate = logits.unbind(dim=-1)
        edges = graph.edges()
        to_dependent = graph.edges_of_arc_tokens()
        to_head = edges & to_dependent.any(dim=1).unsqueeze(2)  # edges from heads into tokens of arcs
        between = edges & ~to_dependent & ~to_head
        bias, gate_bias = self._of_labels(graph.labels)
        opened = (left_gate.unsqueeze(2) + gate_bias.unsqueeze(1)).sigmoid()
        gates = between.transpose(1, 2) * opened  # [R, head, dependent]
        lefts = gates.sum(dim=2) + to_head.sum(dim=2) * left_gate.sigmoid()
        rights = (between.sum(dim=2) + to_dependent.sum(dim=1)) * right_gate.sigmoid()
        factors = torch.stack([own_gate.sigmoid(), lefts, rights], dim=2).unsqueeze(3)
        return (factors * torch.stack([own, left, right], dim=2)).sum(dim=2) + gates.to(bias.dtype) @ bias

    def _of_labels(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return b_lab and b̂_lab of labels [R,m]: [R,m,d] and [R,m], or zeros that broadcast to these shapes."""
        zero = self.weights.new_zeros(())
        bias = zero.expand(*labels.shape, 1) if self.label_bias is None else F.embedding(labels, self.label_bias)
        return bias, zero.expand(labels.shape) if self.gate_label_bias is None else self.gate_label_bias[labels]
