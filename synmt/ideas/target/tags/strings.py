"""A tree as one tag per word: `John nsubj/0/0 put root/1/0 coals obj/0/1`.

In a string of transitions (synmt.trees.transitions), the arcs between two words come in order: first the arcs that
attach earlier words to the last word, then the arcs that attach the last word, or an earlier one, to a word further
left. The relation of an arc belongs to the dependent. A word's own relation and the numbers of arcs in each direction
after it therefore determine everything: a tree is a labelling of its words (Gómez-Rodríguez, Strzyz & Vilares 2020, "A
Unifying Theory of Transition-based and Sequence Labeling Parsing", COLING). A tag is known as soon as its word is,
whereas `transitions` names a word's relation only when the word is attached.

In the vocabulary, a tag is the structural entry `ARCS:relation/left/right`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from synmt.text.bpe import JOINER
from synmt.text.vocabulary import is_structural, structural
from synmt.trees.arc_tokens import ROOT_RELATION, ArcStyle, Kind

_TAG = "ARCS:"
_STYLE = ArcStyle()


class Tag(NamedTuple):
    """relation: of the word to its head, `root` if it has none; left, right: the numbers of arcs after the word."""

    relation: str
    left: int
    right: int

    @property
    def entry(self) -> str:
        return structural(f"{_TAG}{self.relation}/{self.left}/{self.right}")

    @property
    def arcs(self) -> int:
        """Return how many words leave the stack after this word."""
        return self.left + self.right


def read_tag(entry: str) -> Tag | None:
    """Return the tag of a vocabulary entry, None if it is no tag."""
    if not is_structural(entry) or not entry.startswith(_TAG, 1):
        return None
    relation, *counts = entry[1 + len(_TAG) :].rsplit("/", 2)
    if len(counts) < 2 or not relation or not all(each.isascii() and each.isdecimal() for each in counts):
        return None
    return Tag(relation, *map(int, counts))


def tagged(entries: Iterable[str]) -> list[str]:
    """Return the subwords of a string of transitions that spells a tree, with a tag after each word."""
    words: list[list[str]] = []
    tags: list[Tag] = []
    stack: list[int] = []  # indices of words
    is_open = False
    for entry in entries:
        token = _STYLE.token(entry)
        if token.kind & (Kind.LEFT | Kind.RIGHT):
            is_right = token.kind == Kind.RIGHT
            word = stack.pop(-1 if is_right else -2)
            tags[word] = tags[word]._replace(relation=token.label)
            last = tags[-1]
            tags[-1] = last._replace(left=last.left + (not is_right), right=last.right + is_right)
            continue
        if is_open:
            words[-1].append(entry)
        else:
            stack.append(len(words))
            words.append([entry])
            tags.append(Tag(ROOT_RELATION, 0, 0))
        is_open = entry.endswith(JOINER)
    return [entry for word, tag in zip(words, tags, strict=True) for entry in (*word, tag.entry)]


def transitions_of_tags(entries: Iterable[str]) -> list[str]:
    """Return a string of subwords and tags as a string of transitions: its subwords, and its arcs.

    Invalid parts are skipped: an arc that lacks one of its words, and a tag that follows no word.
    """
    written: list[str] = []
    stack: list[str] = []  # the relation of each waiting word
    is_complete = False
    for entry in entries:
        if (tag := read_tag(entry)) is None:
            if is_complete:
                stack.append(ROOT_RELATION)
            written.append(entry)
            is_complete = not is_structural(entry) and not entry.endswith(JOINER)
        elif is_complete:
            is_complete = False
            for _ in range(min(tag.left, len(stack))):
                written += _STYLE.left(stack.pop())
            stack.append(tag.relation)
            for _ in range(min(tag.right, len(stack) - 1)):
                written += _STYLE.right(stack.pop())
    return written
