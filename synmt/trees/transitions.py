"""Trees as they grow: the transition system of Choshen & Abend, "Enhancing the Transformer Decoder with
Transition-based Syntax" (CoNLL 2022), section 3.

A target string is subwords and arcs. A word is pushed on a stack when its last subword is read. With a on top and
b below it, LEFT-ARC:l attaches b to a and removes b; RIGHT-ARC:l attaches a to b and removes a (arc-standard, Nivre
2004). One word is left at the end: the root.
"""

from collections.abc import Callable, Sequence

from synmt.text.bpe import JOINER, join_subwords
from synmt.trees.arc_tokens import ROOT_RELATION, ArcStyle, Kind, write_entries
from synmt.trees.dependency import DEPENDENCY
from synmt.trees.lifting import lifted
from synmt.trees.record import ParseRecord, RecordError, check_heads
from synmt.trees.transition_state import SUBWORDS, State


class TreeNotDerivable(ValueError):
    """A tree that no string of transitions spells: it has several roots, or is not projective."""


class NotProjective(TreeNotDerivable):
    """A tree with arcs that cross, or go over the root."""


class TransitionError(ValueError):
    """A string that spells no tree; `token` is the one that breaks a rule, counted from 1."""

    def __init__(self, cause: str, token: int) -> None:
        super().__init__(f"token {token}: {cause}")
        self.token = token


def transitions(
    subwords: Sequence[Sequence[str]], heads: Sequence[int], deprels: Sequence[str], style: ArcStyle
) -> list[str]:
    """Return the target string of a tree over n words, as vocabulary entries: the arc-standard oracle.

    A word is attached as soon as it has all its own dependents, to the left before to the right.

    subwords: of each word, [n][at least 1]; heads: from 1, 0 for the root, [n]; deprels: [n].
    Raises TreeNotDerivable, RecordError for heads that are no tree, and ValueError for words and relations that
    the string could not give back.
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
    """Raise ValueError for words and relations that the string could not give back."""
    for word, (parts, head, deprel) in enumerate(zip(subwords, heads, deprels, strict=True), 1):
        if not parts[-1]:
            raise ValueError(f"word {word} is empty")
        if parts[-1].endswith(JOINER):
            raise ValueError(f"word {word} ends in {JOINER}, as if it went on")
        if head and not deprel:
            raise ValueError(f"word {word} has no relation to its head")
        if head and style.root_arc and deprel == ROOT_RELATION:
            raise ValueError(f"word {word} is not a root, but its relation is {ROOT_RELATION!r}")


def read_transitions(entries: Sequence[str], style: ArcStyle) -> ParseRecord:
    """Invert `transitions`: return words, heads and relations; no entries are the empty record.

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
    """Return the trees of any string: arcs that are not legal do nothing, and words left over are roots."""
    state = State(style)
    for entry in entries:
        state = state.after(style.token(entry))
    return _record(entries, state)


def read_repaired(entries: Sequence[str], style: ArcStyle) -> ParseRecord:
    """Return one tree of any string: that of `read_forest`, whose further roots hang on the first one."""
    record = read_forest(entries, style)
    roots = [word for word, head in enumerate(record.heads) if not head]
    for word in roots[1:]:
        record.heads[word], record.deprels[word] = roots[0] + 1, DEPENDENCY
    return record


def _record(entries: Sequence[str], state: State) -> ParseRecord:
    """Return the words among the entries with the arcs of the state; what has no arc is a root."""
    kinds = [state.style.token(entry).kind for entry in entries]
    tokens = join_subwords([entry for entry, kind in zip(entries, kinds, strict=True) if kind & SUBWORDS])
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
    """Return the target string of a record's dependency tree, its words split by `segment`, or an empty one.

    A tree that is not projective is lifted. Raises TreeNotDerivable for one with several roots, else as `transitions`
    does, and RecordError for a sentence without heads and relations.
    """
    if (record.tokens or record.text.strip()) and not (record.heads and record.deprels):
        raise RecordError("record has no dependency tree")
    words = [segment(token) for token in record.tokens]
    try:
        return transitions(words, record.heads, record.deprels, style)
    except NotProjective:
        return transitions(words, *lifted(record.heads, record.deprels), style)
