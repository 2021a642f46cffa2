"""Graphs that grow with a target. Tensors only.

Shapes: R prefixes of one length m.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from synmt.nn.rows import joined_rows

NEVER = 2**15 - 1  # the birth of an edge that there is not


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
        """Add edges [E,5] int64: row, parent, child, label and birth of each."""
        row, parent, child, label, birth = edges.to(self.births.device).unbind(1)
        self.births[row, child, parent] = birth.to(torch.int16)
        self.labels[row, child] = label

    def grown(self) -> "Graph":
        """Return the graph with one more position, which has no edges yet."""
        return Graph(F.pad(self.births, (0, 1, 0, 1), value=NEVER), F.pad(self.labels, (0, 1)))

    def joined(self, held: "Graph", rows: Tensor) -> "Graph":
        """Return the rows of these followed by those of `held`, which lack the last positions."""
        missing = self.labels.shape[1] - held.labels.shape[1]
        births = joined_rows(self.births, held.births, rows, (0, missing, 0, missing), value=NEVER)
        return Graph(births, joined_rows(self.labels, held.labels, rows, (0, missing)))

    def select(self, rows: Tensor) -> "Graph":
        return Graph(self.births[rows], self.labels[rows])

    def prefixes(self, rows: Tensor, length: int) -> "Graph":
        """Return the graph of the prefixes with `length` positions of some rows, without what is born later."""
        births = self.births[rows, :length, :length]
        return Graph(births.masked_fill(births >= length, NEVER), self.labels[rows, :length])

    def edges_of_arc_tokens(self) -> Tensor:
        """Return where an arc's token is the parent of the arc's dependent, [R,m,m] bool.

        Such an edge is born with the token's own edge from the head, as no word's edge to a dependent is.
        """
        own = self.births.amin(dim=2)  # when each position got its head: all edges into one are of one arc
        return self.edges() & (self.births == own.unsqueeze(1))

    def edges(self) -> Tensor:
        """Return where there is an edge, [R,m,m] bool."""
        return self.births < NEVER
