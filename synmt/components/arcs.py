"""What decoders read from the arcs among the words of a target: the role of each token, and the graph of the arcs.

Shapes: R targets or prefixes of one length m, A of whose positions are arcs.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from synmt.components.contract import Field, StateFields, Vocabulary
from synmt.components.state import Numbers
from synmt.trees.arc_tokens import arc_labels
from synmt.trees.transitions import State

if TYPE_CHECKING:
    from torch import Tensor

NEVER = 2**15 - 1  # the birth of an edge that does not exist
# A word is identified by the position of its first subword; −1 means no word.
ROLE = {
    "role word": Field(pad=-1),  # the word that the token is a subword of
    "role head": Field(pad=-1),  # the words of an arc
    "role dependent": Field(pad=-1),
    "role completes": Field(pad=-1),  # whether the token is the last subword of its word; −1 where there is no token
}
GRAPH = {
    "arc word": Field(pad=-1),  # as in ROLE
    "arc head": Field(pad=-1),
    "arc dependent": Field(pad=-1),
    "arc begin": Field(pad=-1),  # the position of the first of the one or two tokens of an arc
    "arc label": Field(),  # the number of its label; 0 for an unknown one
}


def role(state: State) -> tuple[int, int, int, int]:
    """Return the fields of ROLE for the last token. The begin of sentence is a word on the stack if the root has an
    arc."""
    if state.arc:
        return -1, state.arc.head[0], state.arc.dependent[0], 0
    if state.open_word and state.open_word[-1] == state.length:
        return state.open_word[0], -1, -1, 0
    if state.stack and state.stack[0][-1] == state.length:
        return state.stack[0][0], -1, -1, 1
    return (-1, -1, -1, 0) if state.length or not state.style.root_arc else (0, -1, -1, 0)


def graph_numbers(vocabulary: Vocabulary) -> Numbers:
    """Return a function from a state to the fields of GRAPH."""
    labels = {label: number for number, label in enumerate(arc_labels(vocabulary.target), 1)}

    def numbers(state: State) -> tuple[int, ...]:
        word, head, dependent, _ = role(state)
        begin, label = (state.arc.middle[0], labels.get(state.arc.label, 0)) if state.arc else (-1, 0)
        return word, head, dependent, begin, label

    return numbers


def graph(fields: "Mapping[str, Tensor]") -> "dict[str, Tensor]":
    """Return the edges from parents to children among the positions of whole targets.

    births [R,m,m] int16, row = child, column = parent: the position of the token that creates the edge, which is
    visible from there on; NEVER where there is no edge. There are edges from each subword of the head to each of the
    dependent, and through the tokens of the arc.
    labels [R,m] int64: the label shared by all edges into each child; 0 if there are none.
    """
    import torch

    word, head, dependent, begin, label = (fields[name] for name in GRAPH)
    positions = torch.arange(word.shape[1], device=word.device)
    is_arc = (head >= 0).unsqueeze(2)
    heads = is_arc & (word.unsqueeze(1) == head.unsqueeze(2))  # [R,A,m]
    dependents = is_arc & (word.unsqueeze(1) == dependent.unsqueeze(2))
    tokens = is_arc & ((positions == positions.unsqueeze(1)) | (positions == begin.unsqueeze(2)))
    with torch.autocast(word.device.type, enabled=False):
        births = positions.float().unsqueeze(1)
        found = (dependents * births).transpose(1, 2) @ (heads | tokens).float()
        found += (tokens * births).transpose(1, 2) @ heads.float()
        labels = (label.float().unsqueeze(1) @ (dependents | tokens).float()).squeeze(1)
    return {"births": found.to(torch.int16).masked_fill_(found == 0, NEVER), "labels": labels.long()}


OF_GRAPH = StateFields(GRAPH, graph_numbers, ("births", "labels"), graph)
