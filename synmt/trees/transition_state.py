"""What a prefix of a target string has built, token by token: the executor of the transition system.

Positions are those of the decoder's input: 0 is the begin of sentence, token k (from 1) stands at position k.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

from synmt.trees.arc_tokens import ArcStyle, Kind, Token

Constraints = Literal["none", "legal", "strict"]
Positions = tuple[int, ...]  # the positions of its subwords
BEGIN: Positions = (0,)

SUBWORDS = Kind.OPEN | Kind.WORD
ARCS = Kind.LEFT | Kind.RIGHT
SUBWORDS_END = SUBWORDS | Kind.END
SUBWORDS_ARCS_END = SUBWORDS | ARCS | Kind.END
EVERYTHING = SUBWORDS_ARCS_END | Kind.LABEL | Kind.ROOT


@dataclass(frozen=True, slots=True)
class Arc:
    """A dependency in the graph. head, dependent: words; middle: the token of the arc, or both if it is split."""

    head: Positions
    dependent: Positions
    middle: Positions
    label: str

    @property
    def birth(self) -> int:
        """Return the position from which on the arc is known."""
        return self.middle[-1]

    def edges(self) -> Iterator[tuple[int, int]]:
        """Yield (parent, child), from each subword of the head to each of the dependent, and through the middle.

        With h and m subwords and k tokens of the arc, hm + km + hk edges; all have the arc's label and birth.
        """
        yield from product(self.head, self.dependent)
        yield from product(self.middle, self.dependent)
        yield from product(self.head, self.middle)


Stack = tuple[Positions, "Stack"] | None  # top, rest
Arcs = tuple[Arc, "Arcs"] | None  # newest, rest


@dataclass(slots=True, eq=False)
class State:
    """What a prefix of a target string has built. It is never changed: `after` gives a new one, which shares all it
    can with the old, so hypotheses copy, branch and are forgotten in O(1).

    length: tokens read; stack of `words` complete words; open_word: the subwords of one that is not complete;
    direction: of a split arc that lacks its label, at the position of the last token; closed: by the root's arc;
    arc: what the last token has added; arcs: all so far, the newest first.
    """

    style: ArcStyle
    length: int = 0
    stack: Stack = None
    words: int = 0
    open_word: Positions = ()
    direction: int = Kind.OTHER
    closed: bool = False
    arc: Arc | None = None
    arcs: Arcs = None

    def after(self, token: Token) -> "State":
        """Return the state with one more token. An arc that is not legal here changes nothing but the length."""
        kind, label = token
        position = self.length + 1
        state = State(
            self.style, position, self.stack, self.words, self.open_word, Kind.OTHER, self.closed, None, self.arcs
        )
        if kind == Kind.OPEN:
            state.open_word = (*self.open_word, position)
        elif kind == Kind.WORD:
            state.stack, state.words = ((*self.open_word, position), self.stack), self.words + 1
            state.open_word = ()
        elif kind & self.legal() & ~Kind.END:
            if kind & ARCS and not label:
                state.direction = kind
            else:
                middle = (self.length, position) if self.direction else (position,)
                state._attach(self.direction if kind == Kind.LABEL else kind, middle, label)
        return state

    def _attach(self, kind: int, middle: Positions, label: str) -> None:
        assert self.stack
        top, rest = self.stack
        if kind == Kind.ROOT:
            arc = Arc(BEGIN, top, middle, label)
            self.closed = True
        else:
            assert rest
            below, deeper = rest
            if kind == Kind.LEFT:
                arc = Arc(top, below, middle, label)
                self.stack = (top, deeper)
            else:
                arc = Arc(below, top, middle, label)
                self.stack = rest
            self.words -= 1
        self.arc, self.arcs = arc, (arc, self.arcs)

    def legal(self) -> int:
        """Return the kinds of token that make sense next."""
        if self.closed:
            return Kind.END
        if self.open_word:
            return SUBWORDS
        if self.direction:
            return Kind.LABEL if self.words > 1 else Kind.ROOT
        if self.words > 1:
            return SUBWORDS_ARCS_END
        if self.words and self.style.root_arc:
            return SUBWORDS_END | (Kind.RIGHT if self.style.split else Kind.ROOT)
        return SUBWORDS_END

    def allowed(self, constraints: Constraints, left: int) -> int:
        """Return the kinds of token that a search may go on with, never none of them.

        left: how many more tokens the string may have, its end included. With `strict`, the string ends as a tree,
        or at once and empty; a tree of one word takes 2 tokens, with an arc for the root 3, or 4 if split.
        """
        if constraints == "none":
            return EVERYTHING
        kinds = self.legal()
        if constraints == "strict":
            if self.length and not self.is_tree():
                kinds &= ~Kind.END
            spare = left - self.to_end(self.words + 1)
            if spare < 2:
                kinds &= ~SUBWORDS if spare < 1 else ~Kind.OPEN
        return kinds

    def to_end(self, words: int) -> int:
        """Return how many tokens a stack of that many words needs, to be attached and for the end of the string."""
        return (words - 1 + self.style.root_arc) * (2 if self.style.split else 1) + 1

    def is_tree(self) -> bool:
        """Return whether the string may end here: one word is left, and has its arc if the root has one."""
        return self.words == 1 and self.closed == self.style.root_arc and not self.open_word and not self.direction

    def objection(self, kind: int) -> str:
        """Return why a token is not legal here."""
        stack = "1 word waits" if self.words == 1 else f"{self.words} words wait"
        if kind == Kind.OTHER:
            return "not an arc of this style"
        if self.closed:
            return "the arc of the root has ended the sentence"
        if self.open_word:
            return "the word before it is not complete"
        if self.direction and not kind & (Kind.LABEL | Kind.ROOT):
            return "the arc before it has no relation"
        if kind == Kind.LABEL and not self.direction:
            return "a relation without a direction"
        if kind & (ARCS | Kind.LABEL):
            return f"an arc takes two words, and {stack} for a head"
        return f"the arc of the root takes the last word, and {stack} for a head"

    def lack(self) -> str:
        """Return what the string lacks to be a tree."""
        if self.open_word:
            return "its last word is not complete"
        if self.direction:
            return "its last arc has no relation"
        return f"{self.words} words have no head" if self.words > 1 else "its root has no arc"
