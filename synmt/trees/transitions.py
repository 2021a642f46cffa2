"""Trees as they grow: the transition system of Choshen & Abend, "Enhancing the Transformer Decoder with
Transition-based Syntax" (CoNLL 2022), section 3.

A target string is word pieces and arcs. A word is pushed on a stack when its last piece is read. With a on top and
b below it, LEFT-ARC:l attaches b to a and removes b; RIGHT-ARC:l attaches a to b and removes a (arc-standard, Nivre
2004). One word is left at the end: the root.

Positions are those of the decoder's input: 0 is the begin of sentence, token k (from 1) stands at position k.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from synmt.text.bpe import JOINER, join_pieces
from synmt.trees.arc_tokens import ROOT_RELATION, ArcStyle, Kind, Token, write_entries
from synmt.trees.dependency import check_heads
from synmt.trees.record import ParseRecord, RecordError

Constraints = Literal["none", "legal", "strict"]
Word = tuple[int, ...]  # the positions of its pieces
BEGIN: Word = (0,)

PIECES = Kind.OPEN | Kind.WORD
ARCS = Kind.LEFT | Kind.RIGHT
PIECES_END = PIECES | Kind.END
PIECES_ARCS_END = PIECES | ARCS | Kind.END
EVERYTHING = PIECES_ARCS_END | Kind.LABEL | Kind.ROOT


class TreeNotDerivable(ValueError):
    """A tree that no string of transitions spells: it is not projective, or has several roots."""


class NotProjective(TreeNotDerivable):
    pass


class SeveralRoots(TreeNotDerivable):
    pass


class TransitionError(ValueError):
    """A string that spells no tree; `token` is the one that breaks a rule, counted from 1."""

    def __init__(self, cause: str, token: int) -> None:
        super().__init__(f"token {token}: {cause}")
        self.token = token


def transitions(
    pieces: Sequence[Sequence[str]], heads: Sequence[int], deprels: Sequence[str], style: ArcStyle
) -> list[str]:
    """The target string of a tree over n words, as vocabulary entries: the arc-standard oracle.

    A word is attached as soon as it has all its own dependents, to the left before to the right.

    pieces: of each word, [n][at least 1]; heads: from 1, 0 for the root, [n]; deprels: [n].
    Raises TreeNotDerivable, and ValueError for heads that are no tree and words or relations that cannot be told.
    """
    _check_spelling(pieces, heads, deprels, style)
    missing = [0] * (len(heads) + 1)  # dependents still to come
    for head in heads:
        missing[head] += 1
    entries: list[str] = []
    stack: list[int] = []
    for word, parts in enumerate(pieces, 1):
        entries += parts
        stack.append(word)
        while len(stack) > 1:
            below, top = stack[-2:]
            if heads[below - 1] == top and not missing[below]:
                del stack[-2]
                missing[top] -= 1
                entries += style.left(deprels[below - 1])
            elif heads[top - 1] == below and not missing[top]:
                del stack[-1]
                missing[below] -= 1
                entries += style.right(deprels[top - 1])
            else:
                break
    if len(stack) > 1:
        raise _why_not_derivable(heads)
    if style.root_arc and stack:
        entries += style.right(ROOT_RELATION)
    return entries


def _check_spelling(
    pieces: Sequence[Sequence[str]], heads: Sequence[int], deprels: Sequence[str], style: ArcStyle
) -> None:
    """Raises ValueError for words and relations that a reader of the string would take for something else."""
    for word, (parts, head, deprel) in enumerate(zip(pieces, heads, deprels, strict=True), 1):
        if not parts[-1]:
            raise ValueError(f"word {word} is empty")
        if parts[-1].endswith(JOINER):
            raise ValueError(f"word {word} ends in {JOINER}, as if it went on")
        if head and not deprel:
            raise ValueError(f"word {word} has no relation to its head")
        if head and style.root_arc and deprel == ROOT_RELATION:
            raise ValueError(f"word {word} is no root, but its relation is {ROOT_RELATION!r}")


def _why_not_derivable(heads: Sequence[int]) -> ValueError:
    """The error for heads that the oracle could not reduce. Raises DependencyError for a cycle."""
    check_heads(heads)
    if heads.count(0) > 1:
        return SeveralRoots("the tree has several roots")
    return NotProjective("the tree is not projective")


@dataclass(frozen=True, slots=True)
class Arc:
    """A dependency as a piece of graph. head, dependent: words; middle: the token of the arc, or both if split."""

    head: Word
    dependent: Word
    middle: Word
    label: str

    @property
    def birth(self) -> int:
        """The position from which on the arc is known."""
        return self.middle[-1]

    def edges(self) -> Iterator[tuple[int, int]]:
        """(parent, child): from each piece of the head to each of the dependent, and the same through the middle.

        With h and m pieces and k tokens of the arc, hm + km + hk edges; all have the arc's label and birth.
        """
        yield from product(self.head, self.dependent)
        yield from product(self.middle, self.dependent)
        yield from product(self.head, self.middle)


Stack = tuple[Word, "Stack"] | None  # top, rest
Arcs = tuple[Arc, "Arcs"] | None  # newest, rest


@dataclass(slots=True, eq=False)
class State:
    """What a prefix of a target string has built. It is never changed: `after` gives a new one, which shares all it
    can with the old, so hypotheses copy, branch and are forgotten in O(1).

    length: tokens read; stack of `words` complete words; open_word: the pieces of one that is not complete;
    direction: of a split arc that lacks its label, at the position of the last token; closed: by the root's arc;
    arc: what the last token has added; arcs: all so far, the newest first.
    """

    style: ArcStyle
    length: int = 0
    stack: Stack = None
    words: int = 0
    open_word: Word = ()
    direction: int = Kind.OTHER
    closed: bool = False
    arc: Arc | None = None
    arcs: Arcs = None

    def after(self, token: Token) -> "State":
        """The state with one more token. An arc that is not legal here changes nothing but the length."""
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

    def _attach(self, kind: int, middle: Word, label: str) -> None:
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
        """The kinds of token that make sense next."""
        if self.closed:
            return Kind.END
        if self.open_word:
            return PIECES
        if self.direction:
            return Kind.LABEL if self.words > 1 else Kind.ROOT
        if self.words > 1:
            return PIECES_ARCS_END
        if self.words and self.style.root_arc:
            return PIECES_END | (Kind.RIGHT if self.style.split else Kind.ROOT)
        return PIECES_END

    def allowed(self, constraints: Constraints, left: int) -> int:
        """The kinds of token that a search may go on with, never none of them.

        left: how many more tokens the string may have, its end included. With `strict`, the string ends as a tree,
        or at once and empty; a tree of one word takes 2 tokens, with an arc for the root 3, or 4 if split.
        """
        if constraints == "none":
            return EVERYTHING
        kinds = self.legal()
        if constraints == "strict":
            if self.length and not self.is_tree():
                kinds &= ~Kind.END
            spare = left - self._to_end(self.words + 1)
            if spare < 2:
                kinds &= ~PIECES if spare < 1 else ~Kind.OPEN
        return kinds

    def _to_end(self, words: int) -> int:
        """How many tokens a stack of so many words needs, to be attached and for the end of the string."""
        return (words - 1 + self.style.root_arc) * (2 if self.style.split else 1) + 1

    def is_tree(self) -> bool:
        """Whether the string may end here: one word is left, and has its arc if the root has one."""
        return self.words == 1 and self.closed == self.style.root_arc and not self.open_word and not self.direction

    def objection(self, kind: int) -> str:
        """Why a token is not legal here."""
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
        """What the string lacks to be a tree."""
        if self.open_word:
            return "its last word is not complete"
        if self.direction:
            return "its last arc has no relation"
        return f"{self.words} words have no head" if self.words > 1 else "its root has no arc"


def read_transitions(entries: Sequence[str], style: ArcStyle) -> ParseRecord:
    """The inverse of `transitions`: words, heads and relations; no entries are the empty record.

    Raises TransitionError with the first token that breaks a rule.
    """
    state = State(style)
    for number, entry in enumerate(entries, 1):
        token = style.token(entry)
        if not token.kind & state.legal():
            raise TransitionError(f"{write_entries([entry])}: {state.objection(token.kind)}", number)
        state = state.after(token)
    if entries and not state.is_tree():
        raise TransitionError(f"the string ends, but {state.lack()}", len(entries) + 1)
    return _record(entries, state)


def read_forest(entries: Sequence[str], style: ArcStyle) -> ParseRecord:
    """As `read_transitions`, of any string: arcs that are not legal do nothing, words left over are roots."""
    state = State(style)
    for entry in entries:
        state = state.after(style.token(entry))
    return _record(entries, state)


def _record(entries: Sequence[str], state: State) -> ParseRecord:
    """The words among the entries with the arcs of the state; what has no arc is a root."""
    kinds = [state.style.token(entry).kind for entry in entries]
    tokens = join_pieces([entry for entry, kind in zip(entries, kinds, strict=True) if kind & PIECES])
    number = {0: 0}  # of each word, by its last position
    for position, kind in enumerate(kinds, 1):
        if kind == Kind.WORD:
            number[position] = len(number)
    record = ParseRecord(
        text=" ".join(tokens),
        tokens=tokens,
        spaces=[True] * (len(tokens) - 1) + [False] * bool(tokens),
        heads=[0] * len(tokens),
        deprels=[ROOT_RELATION] * len(tokens),
    )
    arcs = state.arcs
    while arcs:
        arc, arcs = arcs
        word = number[arc.dependent[-1]] - 1
        record.heads[word], record.deprels[word] = number[arc.head[-1]], arc.label
    return record


def transitions_of_record(record: ParseRecord, segment: Callable[[str], list[str]], style: ArcStyle) -> list[str]:
    """The target string of a record's dependency tree, its words split by `segment`; nothing for the empty record.

    Raises as `transitions` does, and RecordError for a sentence without heads and relations.
    """
    if (record.tokens or record.text.strip()) and not (record.heads and record.deprels):
        raise RecordError("record has no dependency tree")
    return transitions([segment(token) for token in record.tokens], record.heads, record.deprels, style)
