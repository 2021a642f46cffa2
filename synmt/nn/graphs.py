"""Graphs that grow with a target, and what decoders do with them. Tensors only.

Shapes: R prefixes of one length m, N positions of all prefixes of a batch, H heads, d width, L labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NEVER = 2**15 - 1  # the birth of an edge that there is not

Variant = Literal["paper", "reference"]


@dataclass(slots=True)
class Graph:
    """The edges from parents to children among the positions of R targets, and when each can first be seen.

    births [R,m,m] int16, row = child, column = parent: the position of the token that makes the edge, which is
    visible from there on; NEVER where there is no edge.
    labels [R,m] int64: of the edges into each child, the same for all of them; 0 where there are none.
    """

    births: Tensor
    labels: Tensor

    @classmethod
    def empty(cls, rows: int, length: int, device: torch.device) -> "Graph":
        births = torch.full((rows, length, length), NEVER, dtype=torch.int16, device=device)
        return cls(births, torch.zeros(rows, length, dtype=torch.int64, device=device))

    def add(self, edges: Tensor) -> None:
        """edges [E,5] int64: row, parent, child, label and birth of each."""
        row, parent, child, label, birth = edges.to(self.births.device).unbind(1)
        self.births[row, child, parent] = birth.to(torch.int16)
        self.labels[row, child] = label

    def grown(self) -> "Graph":
        """With one more position, which has no edges yet."""
        return Graph(F.pad(self.births, (0, 1, 0, 1), value=NEVER), F.pad(self.labels, (0, 1)))

    def select(self, rows: Tensor) -> "Graph":
        return Graph(self.births[rows], self.labels[rows])

    def prefixes(self, rows: Tensor, length: int) -> "Graph":
        """That of the prefixes with `length` positions of some rows, without what is born later."""
        births = self.births[rows, :length, :length]
        return Graph(births.masked_fill(births >= length, NEVER), self.labels[rows, :length])

    def edges(self) -> Tensor:
        """Where there is one, [R,m,m] bool."""
        return self.births < NEVER


class ParentHead(nn.Module):
    """The first head of each decoder layer sees the position itself and its parents only. No parameters."""

    def forward(self, graph: Graph) -> Tensor:
        """The bias of that head, −inf on what it does not see: [R,1,m,m]."""
        itself = torch.eye(graph.births.shape[1], dtype=torch.bool, device=graph.births.device)
        hidden = ~(graph.edges() | itself)
        return torch.zeros(hidden.shape, device=hidden.device).masked_fill(hidden, float("-inf")).unsqueeze(1)


class GraphConvolutions(nn.Module):
    """Layers of a gated graph convolution on the decoder's input, each with a residual."""

    def __init__(self, width: int, layers: int, labels: int, gates: bool, variant: Variant) -> None:
        """As for GraphConvolution."""
        super().__init__()
        self.layers = nn.ModuleList(GraphConvolution(width, labels, gates, variant) for _ in range(layers))

    def forward(self, states: Tensor, graphs: Sequence[Graph]) -> Tensor:
        """states [N,d] of all positions, the prefixes of graphs[0] first → [N,d]"""
        for layer in self.layers:
            states = layer(states, graphs)
        return states


class GraphConvolution(nn.Module):
    """h_v + relu(Σ_u g_uv (W_dir h_u + b_lab)), g_uv = σ(h_u · ŵ_dir + b̂_lab), over v itself and its neighbours u.

    dir is one of: self; left, from a child to its parent; right, from a parent to its child. Both directions of an
    edge have its label, and v itself has none. Sums are not divided by anything. With variant `reference`, u is v
    in all products, so that neighbours count but pass nothing on; only the parent's row knows the label; and an
    edge with the token that makes it is in that token's row alone.
    """

    def __init__(self, width: int, labels: int, gates: bool, variant: Variant) -> None:
        """labels: how many there are, that of no arc included; 0 is a convolution that knows none."""
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
        open_gates = states.new_full((len(states), 3), torch.inf)  # whose sigmoid is one
        logits = (open_gates if self.gates is None else F.linear(states, self.gates)).split(sizes)
        add_up = self._passing if self.variant == "paper" else self._counting
        sums = [
            add_up(graph, product.unflatten(0, graph.labels.shape), logit.unflatten(0, graph.labels.shape))
            for graph, product, logit in zip(graphs, products, logits, strict=True)
        ]
        return states + F.relu(torch.cat([each.flatten(0, 1) for each in sums]))

    def _passing(self, graph: Graph, products: Tensor, logits: Tensor) -> Tensor:
        """What each position receives; products [R,m,3d], logits of the gates [R,m,3] → [R,m,d]"""
        own, left, right = products.chunk(3, dim=-1)
        own_gate, left_gate, right_gate = logits.unbind(dim=-1)
        edges = graph.edges().to(products.dtype)
        bias, gate_bias = self._of_labels(graph.labels)
        from_child = (left_gate + gate_bias).sigmoid().unsqueeze(2) * (left + bias)
        gates = edges * (right_gate.unsqueeze(1) + gate_bias.unsqueeze(2)).sigmoid()  # [R, child, parent]
        from_parents = gates @ right + gates.sum(dim=2, keepdim=True) * bias
        return own_gate.sigmoid().unsqueeze(2) * own + edges.transpose(1, 2) @ from_child + from_parents

    def _counting(self, graph: Graph, products: Tensor, logits: Tensor) -> Tensor:
        """The same for variant `reference`."""
        own, left, right = products.chunk(3, dim=-1)
        own_gate, left_gate, right_gate = logits.unbind(dim=-1)
        position = torch.arange(products.shape[1], device=products.device)
        by_parent, by_child = graph.births == position, graph.births == position.unsqueeze(1)
        bias, gate_bias = self._of_labels(graph.labels)
        parents = (graph.edges() & ~by_parent).sum(dim=2)
        children = (graph.edges() & ~by_child).transpose(1, 2).to(products.dtype)
        gates = children * (left_gate.unsqueeze(2) + gate_bias.unsqueeze(1)).sigmoid()  # [R, parent, child]
        from_children = gates.sum(dim=2, keepdim=True) * left + gates @ bias
        from_parents = (parents * right_gate.sigmoid()).unsqueeze(2) * right
        return own_gate.sigmoid().unsqueeze(2) * own + from_children + from_parents

    def _of_labels(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """b_lab and b̂_lab of labels [R,m]: [R,m,d] and [R,m], or zeros that broadcast to them."""
        zero = self.weights.new_zeros(())
        bias = zero.expand(*labels.shape, 1) if self.label_bias is None else F.embedding(labels, self.label_bias)
        return bias, zero.expand(labels.shape) if self.gate_label_bias is None else self.gate_label_bias[labels]
