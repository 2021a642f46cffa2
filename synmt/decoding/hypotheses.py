"""What the hypotheses of a search may say next: anything, or what keeps the tree that they are writing in order.

Shapes: B sentences, K hypotheses of each, T target vocabulary, E edges.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from synmt.model.target import TargetSide, numbered_labels
from synmt.nn.decoders import Steps
from synmt.nn.tagged import TaggedSteps
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import Kind
from synmt.trees.tags import read_tag
from synmt.trees.transition_state import SUBWORDS, Constraints, State

NOTHING = torch.empty(0, 5, dtype=torch.int64)  # as no edges in Graph.add


class WordHypotheses:
    """They say words. limits [B]: how many tokens each sentence may have."""

    def __init__(self, limits: Sequence[int]) -> None:
        self.limits = limits

    def allowed(self) -> Tensor | None:
        """Return which tokens may come next, [B·K,T]; None for all."""
        return None

    def ended(self, row: int, ids: list[int]) -> list[int]:
        """Return all that hypothesis `row` has written, whose tokens are ids, where it ends."""
        return ids

    def last_tokens(self) -> Tensor:
        """Return what the decoder reads of the last token of each hypothesis, as in Steps.grow."""
        return NOTHING

    def advance(self, rows: Tensor, tokens: Tensor) -> Tensor:
        """Continue hypotheses `rows` [B·K], each with a token [B·K]; return what the decoder reads of these tokens."""
        return NOTHING


class ArcVocabulary:
    """A target vocabulary that holds arcs. kinds [T]: synmt.trees.arc_tokens.Kind of each entry."""

    def __init__(self, side: TargetSide, vocabulary: Vocabulary) -> None:
        self.side, self.style = side, side.style
        self.entries = vocabulary.target
        self.tokens = [side.style.token(entry) for entry in vocabulary.target]
        self.kinds = torch.tensor([token.kind for token in self.tokens], dtype=torch.uint8)
        self.labels = numbered_labels(vocabulary)

    def hypotheses(
        self, constraints: Constraints, subwords: Sequence[int], steps: Steps, device: torch.device
    ) -> "TreeHypotheses | TagHypotheses":
        """Return those with which a search over sentences of at most so many subwords [B] begins."""
        if isinstance(steps, TaggedSteps):
            return TagHypotheses(self, constraints, subwords, steps)
        return TreeHypotheses(self, constraints, subwords, device)

    def after(self, token: int, state: State, left: tuple[int, int]) -> tuple[State, tuple[int, int]]:
        """Return state and left, as in TreeHypotheses, of a hypothesis with one more token."""
        subwords, tokens = left
        kind = self.tokens[token].kind
        return state.after(self.tokens[token]), (subwords - bool(kind & SUBWORDS), tokens - 1)


class TreeHypotheses:
    """They say words and arcs; at first one a sentence. An arc costs nothing of the `subwords` [B] that it may have.

    states [B·K]: what each hypothesis has built; left [B·K]: how many subwords and tokens it may still have.
    """

    def __init__(
        self, arcs: ArcVocabulary, constraints: Constraints, subwords: Sequence[int], device: torch.device
    ) -> None:
        self.arcs, self.constraints = arcs, constraints
        self.kinds = arcs.kinds.to(device)
        style = arcs.style
        # A tree of n words, each of one subword, has n − 1 arcs, or n with one for the root; and an end.
        self.limits = [n + (n - 1 + style.root_arc) * (2 if style.split else 1) + 1 for n in subwords]
        self.states = [State(style) for _ in subwords]
        self.left = list(zip(subwords, self.limits, strict=True))

    def allowed(self) -> Tensor | None:
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

    def ended(self, row: int, ids: list[int]) -> list[int]:
        return ids

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


class TagHypotheses:
    """They say words, each with a tag; a sentence may have so many `subwords` [B], and ends one step later.

    depth [B·K]: how many words the stack has before the tag of the last token, it among them if it ends a word;
    complete [B·K]: whether it does; left [B·K]: how many subwords may follow; written [B·K,t]: tags before each token.
    """

    def __init__(
        self, arcs: ArcVocabulary, constraints: Constraints, subwords: Sequence[int], steps: TaggedSteps
    ) -> None:
        self.steps, self.constraints = steps, constraints
        self.tags = steps.decoder.tags
        device = self.tags.device
        self.kinds = arcs.kinds.to(device)
        found = [read_tag(arcs.entries[tag]) for tag in self.tags.tolist()]
        self.taken = torch.tensor([tag.arcs if tag else 0 for tag in found], device=device)  # off the stack, [G]
        self.limits = [n + 1 for n in subwords]
        rows = len(subwords)
        self.depth = torch.zeros(rows, dtype=torch.int64, device=device)
        self.complete = torch.zeros(rows, dtype=torch.bool, device=device)
        self.left = torch.tensor(subwords, device=device)
        self.written = torch.empty(rows, 0, dtype=torch.int64, device=device)

    def last_tokens(self) -> Tensor:
        """Return which tags may follow the last token before another token and before the end, [B·K,2,G]."""
        depth, complete = self.depth.unsqueeze(1), self.complete.unsqueeze(1)
        if self.constraints == "none":
            return complete.unsqueeze(1).expand(-1, 2, len(self.tags))
        after = depth - self.taken
        legal = complete & (after > 0)
        if self.constraints == "legal":
            return legal.unsqueeze(1).expand(-1, 2, -1)
        # With one word more, its tag can take all others off the stack.
        can_end = torch.isin(after, self.taken)
        return torch.stack([legal & can_end, legal & (after == 1)], dim=1)

    def allowed(self) -> Tensor:
        """Return which tokens may come next, [B·K,T], once the tags before them are chosen."""
        kinds = torch.full_like(self.left, SUBWORDS | Kind.END)
        kinds[self.left < 2] &= ~Kind.OPEN
        tags = self.steps.tags
        if self.constraints != "none":
            kinds[~self.complete] &= ~Kind.END
        if self.constraints == "strict":
            kinds[self.complete & (tags[:, 0] < 0)] &= ~SUBWORDS
            kinds[self.complete & (tags[:, 1] < 0)] &= ~Kind.END
        kinds[self.left < 1] &= ~SUBWORDS
        return (kinds.unsqueeze(1) & self.kinds) != 0

    def ended(self, row: int, ids: list[int]) -> list[int]:
        tags = [*self.written[row].tolist()[1:], int(self.steps.tags[row, 1])]
        return [each for pair in zip(ids, tags, strict=True) for each in pair if each >= 0]

    def advance(self, rows: Tensor, tokens: Tensor) -> Tensor:
        tags = self.steps.tags[rows, 0]
        place = torch.searchsorted(self.tags, tags.clamp(min=0)).clamp(max=len(self.tags) - 1)
        taken = self.taken[place].masked_fill(tags < 0, 0)
        depth = self.depth[rows]
        self.complete = (self.kinds[tokens] & Kind.WORD) != 0
        self.depth = (depth - taken).clamp(min=1).minimum(depth) + self.complete
        self.left = self.left[rows] - 1
        self.written = torch.cat([self.written[rows], tags.unsqueeze(1)], dim=1)
        return self.last_tokens()
