"""The stack that a target string has at each of its positions, as arrays: what `compose` trains on."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.transition_state import State


def stack_of_string(entries: Sequence[str], style: ArcStyle) -> NDArray[np.int32]:
    """Return the columns of synmt.nn.stacks.Stacks for the begin of sentence and a target string's vocabulary
    entries: words, heads, dependents and replaced, [4,1+t]; 1+t of those that nothing replaces."""
    state = State(style)
    states = [state]
    for entry in entries:
        state = state.after(style.token(entry))
        states.append(state)
    roles = [each.role() for each in states]
    standing: dict[int, list[int]] = {}  # the tokens that stand for each word
    replaced = [len(roles)] * len(roles)
    for position, (word, head, dependent, completes) in enumerate(roles):
        for each in [head, dependent, *[word] * completes]:
            for token in standing.pop(each, ()):
                replaced[token] = position
        if word < 0 and head < 0:
            replaced[position] = position
        else:
            standing.setdefault(max(word, head), []).append(position)
    columns = np.array(roles, np.int32).T[:3]
    return np.vstack([columns, np.array(replaced, np.int32)])
