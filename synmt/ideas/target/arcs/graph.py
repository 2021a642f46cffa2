"""The graph of a target's arcs, which grows with the target: its columns, its tensors, and heads that see it.

Shapes: R targets or prefixes of one length m, E edges.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from synmt.ideas.target import Reading
from synmt.ideas.target.arcs.search import TreeHypotheses
from synmt.nn.attention import HeadEdit, hiding
from synmt.nn.decoders import joined_rows
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle, arc_labels
from synmt.trees.transitions import Arc, State

NEVER = 2**15 - 1  # the birth of an edge that does not exist
COLUMNS = "edge parents", "edge children", "edge labels", "edge births"


class GraphReading(Reading):
    """The edges of the arcs, in COLUMNS of E edges each, the oldest first.

    Parents, children and births are positions of the decoder's input, where 0 is the begin of sentence. A prefix whose
    last input is at position t contains the edges with birth ≤ t, which come first.
    """

    name = "graph"

    def __init__(self, style: ArcStyle, vocabulary: Vocabulary) -> None:
        super().__init__(style, vocabulary)
        numbers = {label: number for number, label in enumerate(arc_labels(vocabulary.target), 1)}
        self.labels = defaultdict(int, numbers)  # unknown labels become 0

    def columns(self, entries: Sequence[str]) -> dict[str, NDArray[np.int32]]:
        state = State(self.style)
        edges: list[tuple[int, int, int, int]] = []
        for entry in entries:
            state = state.after(self.style.token(entry))
            edges += self.edges_of(state.arc)
        return dict(zip(COLUMNS, np.array(edges, np.int32).reshape(-1, 4).T.copy(), strict=True))

    def tensors(self, columns: Mapping[str, Tensor], length: int) -> "Graph":
        parents, children, labels, births = (columns[name] for name in COLUMNS)
        graph = Graph.empty(len(parents), length, parents.device)
        # Padding has birth 0, which no arc has. Setting it to NEVER removes these edges without waiting for the device
        # to count the real ones.
        births = births.masked_fill(births == 0, NEVER)
        rows = torch.arange(len(parents), device=parents.device).unsqueeze(1).expand_as(parents)
        graph.add(torch.stack([rows, parents, children, labels, births], dim=2).flatten(0, 1))
        return graph

    def start(self, rows: int, device: torch.device) -> "Graph":
        return Graph.empty(rows, 0, device)

    def grown(self, tensors: "Graph", hypotheses: TreeHypotheses) -> "Graph":
        edges = [(row, *edge) for row, state in enumerate(hypotheses.states) for edge in self.edges_of(state.arc)]
        graph = tensors.grown()
        if edges:
            graph.add(torch.tensor(edges, dtype=torch.int64))
        return graph

    def edges_of(self, arc: Arc | None) -> list[tuple[int, int, int, int]]:
        """Return parent, child, label and birth of each edge that an arc creates."""
        return [(*edge, self.labels[arc.label], arc.birth) for edge in arc.edges()] if arc else []


@dataclass(slots=True)
class Graph:
    """The edges from parents to children among the positions of R targets, and the position from which each is visible.

    births [R,m,m] int16, row = child, column = parent: the position of the token that creates the edge, which is
    visible from there on; NEVER where there is no edge.
    labels [R,m] int64: the label shared by all edges into each child; 0 if there are none.
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
        """Return the graph with one more position, without edges."""
        return Graph(F.pad(self.births, (0, 1, 0, 1), value=NEVER), F.pad(self.labels, (0, 1)))

    def joined(self, held: "Graph", rows: Tensor) -> "Graph":
        """Return rows [R] of this graph and of `held`, as `joined_rows`; `held` lacks the last positions."""
        missing = self.labels.shape[1] - held.labels.shape[1]
        births = joined_rows(self.births, held.births, rows, (0, missing, 0, missing), value=NEVER)
        return Graph(births, joined_rows(self.labels, held.labels, rows, (0, missing)))

    def select(self, rows: Tensor) -> "Graph":
        return Graph(self.births[rows], self.labels[rows])

    def prefixes(self, rows: Tensor, length: int) -> "Graph":
        """Return the graph of the prefixes of some rows with `length` positions, without edges that are born later."""
        births = self.births[rows, :length, :length]
        return Graph(births.masked_fill(births >= length, NEVER), self.labels[rows, :length])

    def edges_of_arc_tokens(self) -> Tensor:
        """Return where the token of an arc is the parent of the arc's dependent, [R,m,m] bool.

        Such an edge has the same birth as the edge from the head to the token itself. No edge from a word to a
        dependent does.
        """
        own = self.births.amin(dim=2)  # when each position got its head: all edges into it belong to one arc
        return self.edges() & (self.births == own.unsqueeze(1))

    def edges(self) -> Tensor:
        """Return where there is an edge, [R,m,m] bool."""
        return self.births < NEVER


class TreeParents(nn.Module):
    """Heads that see only the position itself and its parents. No parameters."""

    reads, place = "graph", "heads"

    def __init__(self, heads: tuple[int, ...]) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, graph: Graph) -> HeadEdit:
        """Return a bias [R,1,m,m] that is −inf where the heads see nothing."""
        itself = torch.eye(graph.births.shape[1], dtype=torch.bool, device=graph.births.device)
        return HeadEdit(self.heads, bias=hiding(~(graph.edges() | itself)).unsqueeze(1))
