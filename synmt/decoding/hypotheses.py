"""What the hypotheses of a search may say next: anything, or what keeps the tree that they are writing in order.

Shapes: B sentences, K hypotheses of each, T target vocabulary, E edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from synmt.model.target import TargetSide, numbered_labels
from synmt.model.translation import EncodedSource, TranslationModel
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import Kind
from synmt.trees.transition_state import SUBWORDS, Constraints, State

NOTHING = torch.empty(0, 5, dtype=torch.int64)  # as no edges in Graph.add


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """ids without the end of sentence; log_probability that the model gives all tokens, in nats; score: that over the
    penalty."""

    ids: list[int]
    log_probability: float
    score: float


class Hypotheses(Protocol):
    """The hypotheses of a search, as far as that has to know them; at first one a sentence.

    limits [B]: how many tokens each sentence may have.
    """

    limits: Sequence[int]

    def forbid(self, logits: Tensor) -> None:
        """Make the logits [B,K,T] of what may not come next −∞."""

    def last_tokens(self) -> Tensor:
        """Return what the decoder reads of the last token of each hypothesis, as in Steps.grow."""

    def advance(self, rows: Tensor, tokens: Tensor) -> Tensor:
        """Continue hypotheses `rows` [B·K], each with a token [B·K]; return what the decoder reads of these tokens."""


class Arcs(Protocol):
    """How translations get their arcs: written among the words, or said beside them."""

    def hypotheses(self, constraints: Constraints, subwords: Sequence[int], device: torch.device) -> Hypotheses:
        """Return those with which a search begins; subwords: how many each may have."""

    def finished(
        self, model: TranslationModel, encoded: EncodedSource, constraints: Constraints, found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence, the best first, with all that is said of them."""


class WordHypotheses:
    """They say words, and all they like."""

    def __init__(self, limits: Sequence[int]) -> None:
        self.limits = limits

    def forbid(self, logits: Tensor) -> None:
        pass

    def last_tokens(self) -> Tensor:
        return NOTHING

    def advance(self, rows: Tensor, tokens: Tensor) -> Tensor:
        return NOTHING


class ArcVocabulary:
    """A target vocabulary that holds arcs. kinds [T]: synmt.trees.arc_tokens.Kind of each entry."""

    def __init__(self, side: TargetSide, vocabulary: Vocabulary) -> None:
        self.side, self.style = side, side.style
        self.tokens = [side.style.token(entry) for entry in vocabulary.target]
        self.kinds = torch.tensor([token.kind for token in self.tokens], dtype=torch.uint8)
        self.labels = numbered_labels(vocabulary)

    def hypotheses(self, constraints: Constraints, subwords: Sequence[int], device: torch.device) -> "TreeHypotheses":
        return TreeHypotheses(self, constraints, subwords, device)

    def finished(
        self, model: TranslationModel, encoded: EncodedSource, constraints: Constraints, found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        return found

    def after(self, token: int, state: State, left: tuple[int, int]) -> tuple[State, tuple[int, int]]:
        """Return state and left, as in TreeHypotheses, of a hypothesis with one more token."""
        subwords, tokens = left
        kind = self.tokens[token].kind
        return state.after(self.tokens[token]), (subwords - bool(kind & SUBWORDS), tokens - 1)


class TreeHypotheses:
    """They say words and arcs. An arc costs nothing of the `subwords` [B] that it may have.

    states [B·K]: what each hypothesis has built; left [B·K]: how many subwords and tokens it may still have.
    """

    def __init__(
        self, arcs: ArcVocabulary, constraints: Constraints, subwords: Sequence[int], device: torch.device
    ) -> None:
        self.arcs, self.constraints = arcs, constraints
        self.kinds = arcs.kinds.to(device)
        style = arcs.style
        # A tree of n words, each of one subword, has n − 1 arcs, or n with one for the root; and an end.
        self.limits: Sequence[int] = [n + (n - 1 + style.root_arc) * (2 if style.split else 1) + 1 for n in subwords]
        self.states = [State(style) for _ in subwords]
        self.left = list(zip(subwords, self.limits, strict=True))

    def forbid(self, logits: Tensor) -> None:
        logits.masked_fill_(~self.allowed().view_as(logits), float("-inf"))

    def allowed(self) -> Tensor:
        """Return which tokens may come next, [B·K,T]."""
        kinds = [
            self._kinds(state, subwords, tokens)
            for state, (subwords, tokens) in zip(self.states, self.left, strict=True)
        ]
        return (torch.tensor(kinds, dtype=torch.uint8, device=self.kinds.device).unsqueeze(1) & self.kinds) != 0

    def _kinds(self, state: State, subwords: int, tokens: int) -> int:
        """Return the kinds that a hypothesis may go on with, by how much it may still have; never none."""
        kinds = state.allowed(self.constraints, tokens)
        if subwords < 2:
            kinds &= ~SUBWORDS if subwords < 1 else ~Kind.OPEN
        return kinds

    def advance(self, rows: Tensor, tokens: Tensor) -> Tensor:
        pairs = zip(rows.tolist(), tokens.tolist(), strict=True)
        new = [self.arcs.after(token, self.states[row], self.left[row]) for row, token in pairs]
        self.states, self.left = [state for state, _ in new], [left for _, left in new]
        return self.last_tokens()

    def last_tokens(self) -> Tensor:
        if self.arcs.side.reads_stacks:
            return torch.tensor([state.role() for state in self.states], dtype=torch.int64).view(-1, 4)
        if not self.arcs.side.reads_graphs:
            return NOTHING
        edges = [
            (row, *edge, self.arcs.labels[arc.label], arc.birth)
            for row, arc in enumerate(state.arc for state in self.states)
            if arc
            for edge in arc.edges()
        ]
        return torch.tensor(edges, dtype=torch.int64) if edges else NOTHING
