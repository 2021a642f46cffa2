"""The positions that the heads of `compose` see, computed word by word from target strings according to the component's
table.

It shares no code with synmt: it finds arcs by their spelling, and a stack is a list of words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from synmt.components.decoder.compose import Compose, scattered
from synmt.model.target import TargetSide
from synmt.model.translation import TranslationModel
from synmt.nn.encoding import Encoded
from tests.nn.slow_decoder import slow_layer


@dataclass
class Word:
    """The positions of a word's subwords, and of its latest token."""

    subwords: list[int]
    latest: int


def slow_sets(string: str, root_arc: bool = False) -> tuple[list[set[int]], list[set[int]]]:
    """Return which positions each position of the decoder's input sees in a composing head, and in a head that sees the
    stack. Position 0 is the begin of sentence, which is a word on the stack if the root has an arc. An arc of two
    tokens counts as an arc at the second. An arc without two words to link is an ordinary token that belongs to no
    word."""
    begin = Word([0], 0)
    stack = [begin] if root_arc else []
    open_word: list[int] = []
    compose, seen_stack = [{0}], [{0}]
    direction, closed = "", False
    for t, token in enumerate(string.split(), 1):
        sees = {t}
        side, _, label = token.partition(":")
        kind = {"LEFT-ARC": "left", "RIGHT-ARC": "right"}.get(side, "")
        if kind and not label:  # the first half of an arc
            two = len(stack) > 1 and not (stack[0] is begin and len(stack) == 2 and kind == "left")
            direction = kind if two and not open_word and not direction and not closed else ""
        elif kind or side == "ARC":
            kind = kind or direction
            of_root = root_arc and label == "root" and (kind == "right" or side == "ARC")
            enough = len(stack) - root_arc == 1 if of_root else len(stack) - root_arc > 1
            if kind and enough and (kind == "right" or not of_root) and not open_word and not closed:
                below, top = stack[-2:]
                head, dependent = (top, below) if kind == "left" else (below, top)
                sees |= {*head.subwords, *dependent.subwords, head.latest, dependent.latest}
                stack.remove(dependent)
                head.latest = t
                closed = of_root
            direction = ""
        else:
            open_word.append(t)
            direction = ""
            if not token.endswith("@@"):
                stack.append(Word(open_word, t))
                open_word = []
        compose.append(sees)
        seen_stack.append({t, *(word.latest for word in stack), *open_word})
    return compose, seen_stack


@torch.inference_mode()
def slow_states(model: TranslationModel, side: TargetSide, ids: Sequence[int], string: str, source: Encoded) -> Tensor:
    """Return the states after all prefixes of a target, [1+t,d]. ids starts with the begin of sentence; string does
    not."""
    component = side.components["compose"]
    assert isinstance(component, Compose)
    compose, stack = slow_sets(string, side.style.root_arc)
    own = [compose] * component.heads + [stack] * component.stack_heads
    if component.mask == "random":
        positions = torch.arange(len(ids))
        for number, sets in enumerate((compose, stack)):
            drawn = scattered(torch.tensor([[*map(len, sets)]]), positions[None], positions, number)[0]
            sets[:] = [set(row.nonzero().flatten().tolist()) for row in drawn]
    everything = [[*range(1 + position)] for position in range(len(ids))]
    states = model.network.embed(torch.tensor([list(ids)]))[0]
    for number, layer in enumerate(model.network.decoder_layers):
        has_them = not component.layers or number < component.layers
        seen = [[sorted(row) for row in head] for head in own] if has_them else []
        states = slow_layer(layer, states, seen + [everything] * (layer.attention.heads - len(seen)), source)
    decoded: Tensor = model.network.decoder_norm(states)
    return decoded
