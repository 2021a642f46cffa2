"""Punctuation marks in a tree of words, where Universal Dependencies puts them.

A mark sets off a phrase, and hangs on it: on the highest word of those whose phrase begins right after the mark, if
that phrase belongs to something before the mark; else on the highest one whose phrase ends right before it. A mark at
either end of a sentence hangs on its root. So no arc crosses another one because of a mark.
"""

from collections.abc import Collection, Mapping, Sequence


def place_marks(words: Sequence[int], marks: Collection[int], heads: Mapping[int, int]) -> dict[int, int]:
    """Return the heads of the marks of a sentence. words: the others, in order; heads: theirs, one of them 0."""
    root = next(word for word in words if heads[word] == 0)
    first, last = dict(zip(words, words, strict=True)), dict(zip(words, words, strict=True))
    for word in words:
        above = heads[word]
        while above:
            first[above], last[above] = min(first[above], word), max(last[above], word)
            above = heads[above]
    found = {}
    for mark in marks:
        before = max((word for word in words if word < mark), default=0)
        after = min((word for word in words if word > mark), default=0)
        if not before or not after:
            found[mark] = root
            continue
        while heads[before] and last[heads[before]] < mark:
            before = heads[before]
        while heads[after] and first[heads[after]] > mark:
            after = heads[after]
        found[mark] = after if 0 < heads[after] < mark else before
    return found
