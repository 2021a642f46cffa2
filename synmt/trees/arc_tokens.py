"""Arcs as tokens of a target string, between its subwords: `John put LEFT-ARC:nsubj out RIGHT-ARC:advmod`.

In the vocabulary, an arc is a structural entry, like a label or bracket: it begins with a space, so it differs from any
subword that is spelled the same. An arc is one token, `LEFT-ARC:nsubj`, or split in two, `LEFT-ARC` and `ARC:nsubj`.

In plain text, arcs have no space. A subword that is spelled like an arc is escaped by a backslash (`\\LEFT-ARC:nsubj`
is a word), and so is a subword that is spelled like an escaped one. Nothing else is escaped.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from synmt.text.bpe import JOINER
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, is_structural, structural

ROOT_RELATION = "root"
_LEFT, _RIGHT, _LABEL = "LEFT-ARC", "RIGHT-ARC", "ARC"
_ARC = re.compile(r"(?:LEFT-ARC|RIGHT-ARC|(?:(?:LEFT-|RIGHT-)?ARC|ARCS):.+)\Z", re.DOTALL)
_LOOKALIKE = re.compile(rf"\\*{_ARC.pattern}", re.DOTALL)
_BEGINNINGS = (_LEFT, _RIGHT, _LABEL, "\\")  # prefixes of subwords that look like arcs


class Kind:
    """The function of a token. These are flags: a set of kinds is one number, and masking a vocabulary is one `&`.

    WORD is the last subword of a word, OPEN any other subword. LEFT and RIGHT are arcs, or the directions of split
    arcs, whose second half is LABEL. ROOT is the arc from the begin of sentence to the root, or its second half. OTHER
    is structure that does not occur in target strings, such as a bracket.
    """

    OTHER = 0
    OPEN = 1
    WORD = 2
    LEFT = 4
    RIGHT = 8
    LABEL = 16
    ROOT = 32
    END = 64


class Token(NamedTuple):
    """A vocabulary entry as a transition. kind: one of Kind; label: the relation, if the entry names one."""

    kind: int
    label: str = ""


@dataclass(frozen=True)
class ArcStyle:
    """A way to spell a tree.

    split: direction and relation are two tokens.
    root_arc: a final `RIGHT-ARC:root` attaches the root to the begin of sentence. Otherwise the root has no arc, as in
        the paper.
    """

    split: bool = False
    root_arc: bool = False

    def left(self, label: str) -> list[str]:
        return self._arc(_LEFT, label)

    def right(self, label: str) -> list[str]:
        return self._arc(_RIGHT, label)

    def _arc(self, direction: str, label: str) -> list[str]:
        """Return the tokens of one arc."""
        if self.split:
            return [structural(direction), structural(f"{_LABEL}:{label}")]
        return [structural(f"{direction}:{label}")]

    def tokens(self, labels: Iterable[str]) -> list[str]:
        """Return the tokens a vocabulary needs to have an arc of every relation in both directions."""
        found = dict.fromkeys(entry for label in labels for entry in (*self.left(label), *self.right(label)))
        return list(found | dict.fromkeys(self.right(ROOT_RELATION) if self.root_arc else []))

    def token(self, entry: str) -> Token:
        """Return the function of a vocabulary entry in strings of this style. The unknown token is a word."""
        if not is_structural(entry):
            return _OPEN if entry.endswith(JOINER) else _WORD
        name, _, label = entry[1:].partition(":")
        kind = (_HALVES if self.split else _WHOLE).get((name, bool(label)), Kind.OTHER)
        if self.root_arc and label == ROOT_RELATION and kind in (Kind.LABEL, Kind.RIGHT):
            kind = Kind.ROOT
        return Token(kind, label)


_OPEN, _WORD = Token(Kind.OPEN), Token(Kind.WORD)
_PLAIN = {(END_TOKEN[1:], False): Kind.END, (UNKNOWN_TOKEN[1:], False): Kind.WORD}
_WHOLE = _PLAIN | {(_LEFT, True): Kind.LEFT, (_RIGHT, True): Kind.RIGHT}
_HALVES = _PLAIN | {(_LEFT, False): Kind.LEFT, (_RIGHT, False): Kind.RIGHT, (_LABEL, True): Kind.LABEL}


def is_arc(entry: str) -> bool:
    """Return whether a vocabulary entry is an arc or half of one."""
    return is_structural(entry) and _ARC.match(entry, 1) is not None


def arc_labels(tokens: Iterable[str]) -> list[str]:
    """Return the relations of all arcs among tokens, sorted, without duplicates."""
    return sorted({entry.partition(":")[2] for entry in tokens if ":" in entry and is_arc(entry)})


def write_tokens(tokens: Sequence[str]) -> str:
    """Return the text of a target string, given its tokens."""
    return " ".join(entry[1:] if is_structural(entry) else _escaped(entry) for entry in tokens)


def read_tokens(line: str) -> list[str]:
    """Invert `write_tokens`: return the tokens of a line."""
    return [_entry(token) for token in line.split(" ") if token]


def _escaped(subword: str) -> str:
    return f"\\{subword}" if subword.startswith(_BEGINNINGS) and _LOOKALIKE.match(subword) else subword


def _entry(token: str) -> str:
    if not token.startswith(_BEGINNINGS) or not _LOOKALIKE.match(token):
        return token
    return token[1:] if token[0] == "\\" else structural(token)
