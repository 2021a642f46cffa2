"""A decoder's side of a search: which tokens may follow a hypothesis, and the words and tree of an output.

This module imports no torch when it is loaded, because `--help` reads some decoders that extend it.


Shapes: B sentences, K hypotheses per sentence, T target vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synmt.components.contract import Automaton
from synmt.text.bpe import join_subwords
from synmt.text.vocabulary import is_structural
from synmt.trees.arc_tokens import ArcStyle, Kind
from synmt.trees.dependency import lowered
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import SUBWORDS, Constraints, read_forest

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Left = tuple[int, int]  # how many subwords and tokens a hypothesis may still add


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """ids: the tokens, without the end of sentence.
    log_probability: the model's log-probability of all tokens and labels, in nats.
    score: the log-probability of the tokens, divided by the length penalty.
    labels: one per token, "" for a token without a label; none if the decoder predicts no labels.
    """

    ids: list[int]
    log_probability: float
    score: float
    labels: Sequence[str] = ()


class Output:
    """How a search writes targets: by default, words.

    automaton: of the decoder's states; None if the decoder has none, and any token may follow. free: whether it writes
    targets of other tasks, in which any token may follow, although the decoder reads states.
    writes_trees: whether the output contains a tree. kinds [T]: synmt.trees.arc_tokens.Kind of each entry.
    """

    writes_trees: bool = False

    def __init__(self, automaton: Automaton | None = None, free: bool = False) -> None:
        self.automaton, self.free = automaton, free
        import torch

        tokens = automaton.tokens if automaton else ()
        self.kinds = torch.tensor([token.kind for token in tokens], dtype=torch.uint8)

    def hypotheses(self, constraints: Constraints, subwords: Sequence[int], device: "torch.device") -> "Hypotheses":
        """Return the hypotheses that a search starts with; subwords: the maximum number per sentence."""
        return Hypotheses(self, constraints, subwords, device)

    def finished(
        self, model: Any, encoded: Any, constraints: Constraints, found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Complete the hypotheses of each sentence, best first. encoded: `model.encode` of the sources."""
        return found

    def read(self, tokens: Sequence[str], labels: Sequence[str] = ()) -> tuple[ParseRecord, list[str] | None]:
        """Return the words of an output, with their tree if it has one, and that tree as a string with arcs. labels: as
        in Hypothesis."""
        return ParseRecord(tokens=join_subwords([token for token in tokens if not is_structural(token)])), None

    def after(self, token: int, state: Any, left: Left) -> tuple[Any, Left]:
        """Return the state of a hypothesis after one more token, and how much it may still write."""
        assert self.automaton
        kind = self.automaton.tokens[token].kind
        return state.after(self.automaton.tokens[token]), (left[0] - bool(kind & SUBWORDS), left[1] - 1)


class Hypotheses:
    """The open hypotheses of a search, initially one per sentence.

    limits [B]: the maximum number of tokens per sentence. states, left [B·K]: of each hypothesis, if the decoder has
    states.
    """

    def __init__(
        self, output: Output, constraints: Constraints, subwords: Sequence[int], device: "torch.device"
    ) -> None:
        self.output, self.constraints = output, constraints
        self.kinds = output.kinds.to(device)
        self.limits: Sequence[int] = subwords
        self.states: list[Any] = []
        self.left: list[Left] = []
        if output.automaton:
            start = output.automaton.start
            self.states = [start] * len(subwords)
            self.limits = subwords if output.free else [start.most(most) for most in subwords]
            self.left = list(zip(subwords, self.limits, strict=True))

    def forbid(self, logits: "Tensor") -> None:
        """Set the logits [B,K,T] of forbidden next tokens to −∞, but leave each hypothesis at least one token."""
        if self.states and not self.output.free:
            logits.masked_fill_(~self.allowed()[:, : logits.shape[2]].view_as(logits), float("-inf"))

    def allowed(self) -> "Tensor":
        """Return which tokens may come next, [B·K,T]."""
        import torch

        pairs = zip(self.states, self.left, strict=True)
        kinds = [self._kinds(state, subwords, tokens) for state, (subwords, tokens) in pairs]
        return (torch.tensor(kinds, dtype=torch.uint8, device=self.kinds.device).unsqueeze(1) & self.kinds) != 0

    def _kinds(self, state: Any, subwords: int, tokens: int) -> int:
        """Return the kinds of token that may follow, at least one, given how many subwords and tokens are left."""
        kinds: int = state.allowed(self.constraints, tokens)
        if subwords < 2:
            kinds &= ~SUBWORDS if subwords < 1 else ~Kind.OPEN
        return kinds

    def advance(self, rows: "Tensor", tokens: "Tensor") -> None:
        """Append tokens [B·K] to the hypotheses `rows` [B·K], one each."""
        if self.states:
            pairs = zip(rows.tolist(), tokens.tolist(), strict=True)
            new = [self.output.after(token, self.states[row], self.left[row]) for row, token in pairs]
            self.states, self.left = [state for state, _ in new], [left for _, left in new]

    def numbers(self, names: Sequence[str]) -> "Tensor":
        """Return the fields of the last position of each hypothesis, [names,B·K] int64."""
        import torch

        assert self.output.automaton
        rows = [self.output.automaton.numbers(state) for state in self.states]
        return torch.tensor([[row[name] for row in rows] for name in names], dtype=torch.int64)

    def lengths(self) -> "Tensor":
        """Return the number of tokens of each hypothesis, [B·K]."""
        import torch

        return torch.tensor([state.length for state in self.states], dtype=torch.int64)


class ArcOutput(Output):
    """Writes targets with arcs among their words."""

    writes_trees = True

    def read(self, tokens: Sequence[str], labels: Sequence[str] = ()) -> tuple[ParseRecord, list[str] | None]:
        assert self.automaton
        return read_string(list(tokens), self.automaton.style)


def read_string(string: list[str], style: ArcStyle) -> tuple[ParseRecord, list[str]]:
    """Return the words and the trees of any string with arcs, with lifted arcs moved back, and the string:
    `Output.read` of targets with arcs."""
    record = read_forest(string, style)
    record.heads, record.deprels = lowered(record.heads, record.deprels)
    return record, string
