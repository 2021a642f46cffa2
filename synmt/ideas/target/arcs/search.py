"""The search for targets with arcs: the state of each hypothesis, and the tokens that may follow.

Shapes: B sentences, K hypotheses per sentence, T target vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from synmt.ideas.target import Hypotheses, Output
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle, Kind
from synmt.trees.dependency import lowered
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import SUBWORDS, Constraints, State, read_forest


class ArcOutput(Output):
    """Writes targets with arcs.

    free: whether it writes targets of other tasks instead. These have no arcs, and any token may follow, but the
    decoder reads the states of their hypotheses, too.
    kinds [T]: synmt.trees.arc_tokens.Kind of each entry of the vocabulary.
    """

    def __init__(self, style: ArcStyle, vocabulary: Vocabulary, free: bool = False) -> None:
        self.style, self.free, self.writes_trees = style, free, not free
        self.tokens = [self.style.token(entry) for entry in vocabulary.target]
        self.kinds = torch.tensor([token.kind for token in self.tokens], dtype=torch.uint8)

    def hypotheses(self, constraints: Constraints, subwords: Sequence[int], device: torch.device) -> "TreeHypotheses":
        return TreeHypotheses(self, constraints, subwords, device)

    def read(self, entries: Sequence[str]) -> tuple[ParseRecord, list[str] | None]:
        return read_string(list(entries), self.style)

    def after(self, token: int, state: State, left: tuple[int, int]) -> tuple[State, tuple[int, int]]:
        """Return state and left, as in TreeHypotheses, of a hypothesis with one more token."""
        subwords, tokens = left
        kind = self.tokens[token].kind
        return state.after(self.tokens[token]), (subwords - bool(kind & SUBWORDS), tokens - 1)


class TreeHypotheses(Hypotheses):
    """Hypotheses of words and arcs. Arcs count towards the maximum number of subwords, `subwords` [B], only if the
    output is free.

    states [B·K]: the words and arcs of each hypothesis so far; left [B·K]: how many subwords and tokens it may still
    add.
    """

    def __init__(
        self, output: ArcOutput, constraints: Constraints, subwords: Sequence[int], device: torch.device
    ) -> None:
        self.output, self.constraints = output, constraints
        self.kinds = output.kinds.to(device)
        self.states = [State(output.style) for _ in subwords]
        with_arcs = [n + state.to_end(n) for n, state in zip(subwords, self.states, strict=True)]
        super().__init__(subwords if output.free else with_arcs)
        self.left = list(zip(subwords, self.limits, strict=True))

    def forbid(self, logits: Tensor) -> None:
        if not self.output.free:
            logits.masked_fill_(~self.allowed().view_as(logits), float("-inf"))

    def allowed(self) -> Tensor:
        """Return which tokens may come next, [B·K,T]."""
        kinds = [
            self._kinds(state, subwords, tokens)
            for state, (subwords, tokens) in zip(self.states, self.left, strict=True)
        ]
        return (torch.tensor(kinds, dtype=torch.uint8, device=self.kinds.device).unsqueeze(1) & self.kinds) != 0

    def _kinds(self, state: State, subwords: int, tokens: int) -> int:
        """Return the kinds of token that may follow, at least one, given how many subwords and tokens are left."""
        kinds = state.allowed(self.constraints, tokens)
        if subwords < 2:
            kinds &= ~SUBWORDS if subwords < 1 else ~Kind.OPEN
        return kinds

    def advance(self, rows: Tensor, tokens: Tensor) -> None:
        pairs = zip(rows.tolist(), tokens.tolist(), strict=True)
        new = [self.output.after(token, self.states[row], self.left[row]) for row, token in pairs]
        self.states, self.left = [state for state, _ in new], [left for _, left in new]


def read_string(string: list[str], style: ArcStyle) -> tuple[ParseRecord, list[str]]:
    """Return the words and the trees of any string with arcs, with lifted arcs moved back, and the string:
    `Output.read` of targets with arcs."""
    record = read_forest(string, style)
    record.heads, record.deprels = lowered(record.heads, record.deprels)
    return record, string
