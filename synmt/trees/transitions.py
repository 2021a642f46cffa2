"""Trees that grow with their string: the transition system of Choshen & Abend, "Enhancing the Transformer Decoder with
Transition-based Syntax" (CoNLL 2022), section 3.

A target string consists of subwords and arcs. The last subword of a word pushes the word on a stack. With a on top and
b below it, LEFT-ARC:l attaches b to a and removes b; RIGHT-ARC:l attaches a to b and removes a (arc-standard, Nivre
2004). One word is left at the end: the root.

Positions count the decoder's input: 0 is the begin of sentence, and token k (from 1) is at position k.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from synmt.streams import BadLines
from synmt.text.bpe import JOINER, Segment, join_subwords
from synmt.text.tokenization import Tokenizer
from synmt.trees.arc_tokens import ROOT_RELATION, ArcStyle, Kind, Token, is_arc, read_tokens, write_tokens
from synmt.trees.dependency import DEPENDENCY, detokenized, is_lifted, lifted, lowered, realigned, with_marks
from synmt.trees.formats import written
from synmt.trees.record import ParseRecord, RecordError, check_heads

Constraints = Literal["none", "legal", "strict"]
Positions = tuple[int, ...]  # of the subwords of a word
BEGIN: Positions = (0,)

SUBWORDS = Kind.OPEN | Kind.WORD
ARCS = Kind.LEFT | Kind.RIGHT
SUBWORDS_END = SUBWORDS | Kind.END
SUBWORDS_ARCS_END = SUBWORDS | ARCS | Kind.END
EVERYTHING = SUBWORDS_ARCS_END | Kind.LABEL | Kind.ROOT
Stack = tuple[Positions, "Stack"] | None  # top, rest


@dataclass(frozen=True, slots=True)
class Arc:
    """A dependency in the graph. head, dependent: words; middle: the one or two tokens of the arc."""

    head: Positions
    dependent: Positions
    middle: Positions
    label: str

    @property
    def birth(self) -> int:
        """Return the first position at which the arc is known."""
        return self.middle[-1]

    def edges(self) -> Iterator[tuple[int, int]]:
        """Yield (parent, child) from each subword of the head to each of the dependent, and through the middle.

        With h and m subwords and k tokens of the arc, there are hm + km + hk edges, all with the arc's label and birth.
        """
        yield from product(self.head, self.dependent)
        yield from product(self.middle, self.dependent)
        yield from product(self.head, self.middle)


Arcs = tuple[Arc, "Arcs"] | None  # newest, rest


@dataclass(slots=True, eq=False)
class State:
    """The state of the transition system after a prefix of a target string.

    States are immutable. `after` returns a new state that shares structure with the old one, so copying, branching and
    discarding hypotheses take O(1).

    length: number of tokens read.
    stack: the complete words without a head, `words` in number.
    open_word: the subwords of an incomplete word.
    direction: of a split arc whose label has not been read yet.
    closed: whether the root's arc has been read.
    arc: the arc that the last token added; arcs: all arcs, newest first.
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
        """Return the state after one more token. An illegal arc changes only the length."""
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
        """Return the kinds of token that may come next."""
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
        """Return the kinds of token that a search may choose next, at least one.

        left: number of tokens that may still follow, including the end. With `strict`, the string is a tree or empty. A
        tree of one word takes 2 tokens, 3 with an arc for the root, or 4 if that arc is split.
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
        """Return the number of tokens needed to attach this many words on the stack and end the string."""
        return (words - 1 + self.style.root_arc) * (2 if self.style.split else 1) + 1

    def most(self, subwords: int) -> int:
        """Return the most tokens of a string with at most so many subwords."""
        return subwords + self.to_end(subwords)

    def is_tree(self) -> bool:
        """Return whether the string may end here: one word is left, with its arc if the style has a root arc."""
        return self.words == 1 and self.closed == self.style.root_arc and not self.open_word and not self.direction

    def objection(self, kind: int) -> str:
        """Return why a token is illegal here."""
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
            return f"an arc needs two words, but {stack} for a head"
        return f"the arc of the root needs exactly one word, but {stack} for a head"

    def lack(self) -> str:
        """Return why the string is not a tree yet."""
        if self.open_word:
            return "its last word is not complete"
        if self.direction:
            return "its last arc has no relation"
        return f"{self.words} words have no head" if self.words > 1 else "its root has no arc"


class TreeNotDerivable(ValueError):
    """A tree that no target string can spell: it has several roots, or is not projective."""


class NotProjective(TreeNotDerivable):
    """A tree with arcs that cross or span the root."""


class TransitionError(ValueError):
    """A string that does not spell a tree. token: the first that breaks a rule, from 1."""

    def __init__(self, cause: str, token: int) -> None:
        super().__init__(f"token {token}: {cause}")
        self.token = token


def transitions(
    subwords: Sequence[Sequence[str]], heads: Sequence[int], deprels: Sequence[str], style: ArcStyle
) -> list[str]:
    """Return the target string of a tree over n words as vocabulary entries: the arc-standard oracle.

    A word is attached as soon as it has all its dependents, to the left before to the right.

    subwords: of each word, [n][at least 1]; heads: from 1, 0 for the root, [n]; deprels: [n].
    Raises TreeNotDerivable, RecordError if the heads are not a tree, and ValueError for words and relations that could
    not be read back.
    """
    if heads.count(0) > 1:
        raise TreeNotDerivable("the tree has several roots")
    check_heads(heads)
    _check_spelling(subwords, heads, deprels, style)
    missing = [0] * (len(heads) + 1)  # dependents still to come
    for head in heads:
        missing[head] += 1
    entries: list[str] = []
    stack: list[int] = []
    for word, parts in enumerate(subwords, 1):
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
        raise NotProjective("the tree is not projective")
    if style.root_arc and stack:
        entries += style.right(ROOT_RELATION)
    return entries


def _check_spelling(
    subwords: Sequence[Sequence[str]], heads: Sequence[int], deprels: Sequence[str], style: ArcStyle
) -> None:
    """Raise ValueError for words and relations that could not be read back from the string."""
    for word, (parts, head, deprel) in enumerate(zip(subwords, heads, deprels, strict=True), 1):
        if not parts[-1]:
            raise ValueError(f"word {word} is empty")
        if parts[-1].endswith(JOINER):
            raise ValueError(f"word {word} ends in {JOINER}, which marks an incomplete word")
        if head and not deprel:
            raise ValueError(f"word {word} has no relation to its head")
        if head and style.root_arc and deprel == ROOT_RELATION:
            raise ValueError(f"word {word} is not a root, but its relation is {ROOT_RELATION!r}")


def read_transitions(entries: Sequence[str], style: ArcStyle) -> ParseRecord:
    """Invert `transitions`: return words, heads and relations, or the empty record if there are no entries.

    Raises TransitionError with the first token that breaks a rule.
    """
    state = State(style)
    for number, entry in enumerate(entries, 1):
        token = style.token(entry)
        if not token.kind & state.legal():
            raise TransitionError(f"{write_tokens([entry])}: {state.objection(token.kind)}", number)
        state = state.after(token)
    if entries and not state.is_tree():
        raise TransitionError(f"the string ends, but {state.lack()}", len(entries) + 1)
    return _record(entries, state)


def read_forest(entries: Sequence[str], style: ArcStyle) -> ParseRecord:
    """Return the trees of any string: ignore illegal arcs, and make words without a head roots."""
    state = State(style)
    for entry in entries:
        state = state.after(style.token(entry))
    return _record(entries, state)


def read_repaired(entries: Sequence[str], style: ArcStyle) -> ParseRecord:
    """Return one tree of any string: the result of `read_forest` with one root."""
    return with_one_root(read_forest(entries, style))


def with_one_root(record: ParseRecord) -> ParseRecord:
    """Attach further roots of a sentence to the first one as `dep`, in place."""
    roots = [word for word, head in enumerate(record.heads) if not head]
    for word in roots[1:]:
        record.heads[word], record.deprels[word] = roots[0] + 1, DEPENDENCY
    return record


def _record(entries: Sequence[str], state: State) -> ParseRecord:
    """Return the words among the entries with the arcs of the state. Words without an arc are roots."""
    kinds = [state.style.token(entry).kind for entry in entries]
    tokens = join_subwords([entry for entry, kind in zip(entries, kinds, strict=True) if kind & SUBWORDS])
    number = {0: 0}  # word numbers by the word's last position
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


def transitions_of_record(record: ParseRecord, segment: Segment, style: ArcStyle) -> list[str]:
    """Return the target string of a record's dependency tree, with words split by `segment`.

    Lifts a tree that is not projective. Raises TreeNotDerivable for a tree with several roots, RecordError for a
    sentence without heads or relations, and otherwise as `transitions`.
    """
    if (record.tokens or record.text.strip()) and not (record.heads and record.deprels):
        raise RecordError(f"record has no dependency {'relations' if record.heads else 'tree'}")
    words = [segment(token) for token in record.tokens]
    try:
        return transitions(words, record.heads, record.deprels, style)
    except NotProjective:
        return transitions(words, *lifted(record.heads, record.deprels), style)


def write_string(
    record: ParseRecord,
    style: ArcStyle,
    tokenizer: Tokenizer | None,
    segment: Segment | None,
    bad: BadLines,
    crossings: list[bool],
) -> str:
    """Return the target string of a record as text, over the tokenizer's words if there is one.

    A tree that has no target string gives "". If the tree is not projective, appends to `crossings` whether it can be
    restored from its string. Raises ValueError for a record that cannot be used.
    """
    if tokenizer:
        record = replace(record, text=record.text or written(record).rstrip())
        record = realigned(record, tokenizer.tokenize(record.text))
        record = with_marks(record) if tokenizer.marks else record
    try:
        entries = transitions_of_record(record, segment or (lambda word: [word]), style)
        if any(is_lifted(entry) for entry in entries if is_arc(entry)):
            string = read_transitions(entries, style)
            crossings.append(lowered(string.heads, string.deprels)[0] == record.heads)
        return write_tokens(entries)
    except TreeNotDerivable as error:
        bad.leave_empty(f"line where {error}")
        return ""


def read_string(
    line: str, style: ArcStyle, tokenizer: Tokenizer | None, repairs: list[str] | None = None
) -> ParseRecord:
    """Return the record of a target string, with the text as the tokenizer joins it.

    repairs: if given, repair a string that is not a tree and append the cause; otherwise raise TransitionError for it.
    """
    entries = read_tokens(line)
    try:
        record = read_transitions(entries, style)
    except TransitionError as error:
        if repairs is None:
            raise
        repairs.append(str(error))
        record = read_repaired(entries, style)
    record.heads, record.deprels = lowered(record.heads, record.deprels)
    return detokenized(record, tokenizer) if tokenizer else record
