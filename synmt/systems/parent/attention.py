"""The tensors of `parent`: what its head sees of a graph.

Shapes: R prefixes of one length m.
"""

import torch
from torch import nn

from synmt.nn.attention import HeadEdit
from synmt.systems.arcs.graph import Graph


class TreeParents(nn.Module):
    """Some heads see the position itself and its parents only. No parameters."""

    reads, place = "graph", "heads"

    def __init__(self, heads: tuple[int, ...]) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, graph: Graph) -> HeadEdit:
        """Return a bias [R,1,m,m] that is −inf on what the heads do not see."""
        itself = torch.eye(graph.births.shape[1], dtype=torch.bool, device=graph.births.device)
        hidden = ~(graph.edges() | itself)
        bias = torch.zeros(hidden.shape, device=hidden.device).masked_fill(hidden, float("-inf"))
        return HeadEdit(self.heads, bias=bias.unsqueeze(1))
