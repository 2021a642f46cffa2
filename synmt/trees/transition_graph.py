"""The graph that a whole target string has in the end, as arrays: what prefix decoders train on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.transition_state import Arc, State


@dataclass(frozen=True, slots=True)
class Edges:
    """E edges from parent to child, each [E] int32, the oldest first.

    parents, children, births: positions in the decoder's input, where 0 is the begin of sentence. A prefix whose
    last input stands at position t has the edges with birth ≤ t, which come first.
    """

    parents: NDArray[np.int32]
    children: NDArray[np.int32]
    labels: NDArray[np.int32]
    births: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.births)


def edges_of_string(entries: Sequence[str], style: ArcStyle, numbers: Mapping[str, int]) -> Edges:
    """Return the edges of a target string's vocabulary entries; numbers: of each relation."""
    state = State(style)
    arcs = []
    for entry in entries:
        state = state.after(style.token(entry))
        if state.arc:
            arcs.append(state.arc)
    return edges_of_arcs(arcs, numbers)


def edges_of_arcs(arcs: Sequence[Arc], numbers: Mapping[str, int]) -> Edges:
    """Return the edges of arcs, in the order of the arcs."""
    rows = [(*edge, numbers[arc.label], arc.birth) for arc in arcs for edge in arc.edges()]
    return Edges(*np.array(rows, np.int32).reshape(-1, 4).T.copy())
