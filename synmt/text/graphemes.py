"""Grapheme clusters: what a reader takes for one character, and no word may divide (UAX 29); and how text is shown."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import regex

_CLUSTER = regex.compile(r"[\s\x1c-\x1f]|\X")
# What belongs to the character before it: marks, format characters and controls.
_TAIL = regex.compile(r"(?V1)[\p{GCB=Extend}\p{GCB=SpacingMark}\p{M}\p{Cf}\p{Cc}--\p{GCB=Prepend}]+")
# After a letter, such as a joiner or a soft hyphen. The zero-width space separates.
_TIED = regex.compile(r"(?V1)(?<=[\p{L}\p{N}\p{M}])[\p{Cf}--[\u200B\p{GCB=Prepend}]]+\Z")
# Letters between which lines may break without a space (UAX 14): Chinese, Japanese, Yi, Thai, Lao, Khmer, Burmese, …
_SPACELESS = regex.compile(
    r"(?V1)[[\p{LB=ID}\p{LB=CJ}\p{LB=NS}\p{LB=SA}\p{LB=AK}\p{LB=AP}\p{LB=AS}]&&[\p{L}\p{Nl}\p{M}]]"
)
_LIKE = {**dict.fromkeys(map(chr, range(0x20)), "x"), "’": "'", "\u02bc": "'", "＇": "'"}
_LIKE_CATEGORY = {"Lu": "X", "Lt": "X", "L": "x", "N": "0", "P": "§", "S": "§"}
# Emoji of several characters: joined ones, those with a skin tone, flags, and symbols that ask to be shown as emoji.
_EMOJI = regex.compile(r".*\uFE0F|\p{Extended_Pictographic}.*[\u200D\U0001F3FB-\U0001F3FF]|\p{RI}{2}")
_SPREAD = "\u0e33\u0eb3\u00ad"  # take a column of their own: am in Thai and Lao, and the soft hyphen
# Control characters and noncharacters, which XML forbids, and characters that change the text direction.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
LONGEST = 24  # characters of a label
SPACELESS = "※"  # is a word by itself to every tokenizer
_KNOWN = "\u0590"  # tokenizers know the letters below, such as Latin, Greek and Cyrillic


def clusters(text: str) -> list[str]:
    """Return the grapheme clusters of a text. Their concatenation is the text.

    Beyond UAX 29, format characters and controls belong to the cluster before them, and a joiner or a soft hyphen
    between two letters ties their clusters together. White space is a cluster by itself.
    """
    found: list[str] = []
    before = " "
    for cluster in _CLUSTER.findall(text):
        tied = _TAIL.match(cluster) or _TAIL.fullmatch(before) or _ties(before, cluster)
        if tied and not before.isspace() and not cluster.isspace():
            found[-1] += cluster
        else:
            found.append(cluster)
        before = found[-1]
    return found


def _ties(cluster: str, following: str) -> bool:
    """Return whether a format character ties a cluster to the next one: both are letters or digits."""
    return unicodedata.category(following[0])[0] in "LN" and bool(_TIED.search(cluster))


@lru_cache(2**16)
def is_spaceless(character: str) -> bool:
    """Return whether a character is a letter, or a mark on one, of a script that puts no spaces between words."""
    return bool(_SPACELESS.match(character))


def _base(cluster: str) -> str:
    """Return the character of a cluster that its marks are on."""
    return next((each for each in cluster if unicodedata.category(each)[0] not in "CM"), cluster[0])


@lru_cache(2**16)
def shadow(cluster: str) -> str:
    """Return one character that looks to a tokenizer like the whole cluster: its base, or any letter or digit for one
    of a script that the tokenizer may not know. A cluster of a script without spaces looks like a symbol."""
    character = _base(cluster)
    if is_spaceless(character):
        return SPACELESS
    if character in _LIKE or character < _KNOWN:
        return _LIKE.get(character, character)
    category = unicodedata.category(character)
    return _LIKE_CATEGORY.get(category) or _LIKE_CATEGORY.get(category[0], "x")


def label(token: str, longest: int = LONGEST) -> str:
    """Return the token without the space that marks structure, truncated if it is long."""
    text = _UNFIT.sub("\ufffd", token.strip(" "))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def columns(text: str) -> int:
    """Return the number of columns that a terminal needs for a text."""
    return len(text) if text.isascii() else sum(map(_columns_of, clusters(text)))


@lru_cache(2**16)
def _columns_of(cluster: str) -> int:
    return 2 if _EMOJI.match(cluster) else sum(map(_columns_of_character, cluster))


def _columns_of_character(character: str) -> int:
    """Return 0 for marks, format characters, and vowels and finals of a Hangul syllable; 2 for wide characters."""
    if character in _SPREAD:
        return 1
    is_within = unicodedata.category(character) in ("Mn", "Me", "Mc", "Cf") or "\u1160" <= character <= "\u11ff"
    return 0 if is_within else 1 + (unicodedata.east_asian_width(character) in "WF")


def is_from_the_right(words: Sequence[str]) -> bool:
    """Return whether most words with letters are written from right to left."""
    directions = [{unicodedata.bidirectional(each) for each in word if each.isalpha()} for word in words]
    written = [each for each in directions if each]
    return 2 * sum(not each.isdisjoint(("R", "AL")) for each in written) > len(written)
