"""Marks that tell how words were spaced, so that a text can be restored from its words exactly.

Two words have a space between them, except letters of scripts without spaces and their punctuation. Where a text
differs, one of the words has a mark on that side: `￭` for no space, `▁` for a space. The joiner is that of OpenNMT's
tokenizer.

A word that contains a mark itself, or ends like a subword, is escaped.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from synmt.text.graphemes import is_spaceless

JOINED, SPACED, ESCAPE = "￭", "▁", "￮"
_CODES = {JOINED: "j", SPACED: "s", ESCAPE: "e", "@": "a"}
_CHARACTERS = {code: character for character, code in _CODES.items()}
_SPECIAL = re.compile(f"[{JOINED}{SPACED}{ESCAPE}]|(?<=@)@\\Z")  # at the end, `@@` would continue a word
_ESCAPED = re.compile(f"{ESCAPE}([{''.join(_CHARACTERS)}])")
_MARKED = re.compile(f"([{JOINED}{SPACED}]*)(.*?)([{JOINED}{SPACED}]*)", re.DOTALL)


def marked(words: Sequence[str], spaces: Sequence[bool]) -> list[str]:
    """Return the words with marks. spaces: whether a space follows each word, [n]; the last one does not matter.

    Words are not empty.
    """
    found = [_escaped(word) for word in words]
    for place, (word, following, space) in enumerate(zip(words, words[1:], spaces, strict=False)):
        last, first = word[-1], following[0]
        if space != _is_spaced(last, first):
            mark = SPACED if space else JOINED
            if _holds(last, first):
                found[place] += mark
            else:
                found[place + 1] = mark + found[place + 1]
    return found


def unmarked(words: Sequence[str]) -> tuple[list[str], list[bool], list[int]]:
    """Return the words without marks, whether a space follows each, and their places among the given words.

    This inverts `marked`. Words that consist of marks, as in a truncated translation, are left out.
    """
    bare: list[str] = []
    spaces: list[bool] = []
    places: list[int] = []
    marks = ""  # since the latest word
    for place, word in enumerate(words):
        found = _MARKED.fullmatch(word)
        assert found
        before, inner, after = found.groups()
        marks += before
        if inner:
            inner = _ESCAPED.sub(lambda code: _CHARACTERS[code[1]], inner)
            if bare:
                spaces.append(JOINED not in marks if marks else _is_spaced(bare[-1][-1], inner[0]))
            bare.append(inner)
            places.append(place)
            marks = ""
        marks += after
    return bare, [*spaces, False][: len(bare)], places


def spelled(words: Sequence[str], spaces: Sequence[bool]) -> str:
    """Return the text of words. spaces: as `marked`."""
    return "".join(word + " " * space for word, space in zip(words, spaces, strict=True)).rstrip(" ")


@lru_cache(2**16)
def _escaped(word: str) -> str:
    return _SPECIAL.sub(lambda found: ESCAPE + _CODES[found[0]], word)


@lru_cache(2**16)
def _is_spaced(last: str, first: str) -> bool:
    """Return whether two words have a space between them if nothing is marked, by the characters where they meet."""
    return not (_is_solid(last) and _is_solid(first))


def _is_solid(character: str) -> bool:
    wide = unicodedata.east_asian_width(character) in "WF" and unicodedata.category(character)[0] == "P"
    return wide or is_spaceless(character)


@lru_cache(2**16)
def _holds(last: str, first: str) -> bool:
    """Return whether the mark between two words belongs to the left one: marks belong to punctuation."""
    if unicodedata.category(last) in ("Ps", "Pi"):
        return True
    return _is_of_word(first) and not _is_of_word(last)


def _is_of_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"
