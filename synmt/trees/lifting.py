"""Trees whose arcs cross as trees whose arcs do not, and back: pseudo-projective parsing.

Nivre & Nilsson (2005), "Pseudo-Projective Dependency Parsing" (ACL), with their encoding Head. The shortest arc that
crosses others is lifted: the word hangs on the head of its head, until nothing crosses. Its relation says what its head
was: `obj↑xcomp` is the object of an `xcomp` below the word that it hangs on now.
"""

from collections import deque
from collections.abc import Sequence

MARK = "↑"


def lifted(heads: Sequence[int], deprels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return a projective tree for a tree with one root. heads: from 1, 0 for the root, [n]; deprels: [n]."""
    found, relations = list(heads), list(deprels)
    while word := _crossing(found):
        head = found[word - 1]
        if relations[word - 1] == deprels[word - 1]:
            relations[word - 1] = f"{deprels[word - 1]}{MARK}{deprels[head - 1]}"
        found[word - 1] = found[head - 1]
    return found, relations


def lowered(heads: Sequence[int], deprels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Invert `lifted` as far as that can be told: a word goes down to the nearest word of the relation that its own
    one names, the leftmost of them, or stays where it is. Words that hang higher go down first, and those that have no
    such word below try again after others, which may take it there.

    Trees may have several roots; other trees than lifted ones are returned as they are.
    """
    found, relations = list(heads), [deprel.partition(MARK)[0] for deprel in deprels]
    words = [word for word in range(1, len(heads) + 1) if is_lifted(deprels[word - 1])]
    waiting = sorted((word for word in words if heads[word - 1]), key=lambda word: _depth(word, heads))
    more = True
    while more:
        before, tried, waiting = len(waiting), waiting, []
        for word in tried:
            top, wanted = found[word - 1], deprels[word - 1].partition(MARK)[2]
            found[word - 1] = _below(top, word, wanted, found, relations)
            if found[word - 1] == top:
                waiting.append(word)
        more = len(waiting) < before
    return found, relations


def is_lifted(deprel: str) -> bool:
    """Return whether a relation, or an arc with it, is one that `lifted` makes."""
    return MARK in deprel


def _crossing(heads: Sequence[int]) -> int:
    """Return the word with the shortest arc over a word that does not hang on its head, the leftmost of them, or 0."""
    words = sorted(range(1, len(heads) + 1), key=lambda word: abs(word - heads[word - 1]))
    for word in words:
        head = heads[word - 1]
        between = range(min(word, head) + 1, max(word, head))
        if head and not all(_hangs_on(each, head, heads) for each in between):
            return word
    return 0


def _hangs_on(word: int, head: int, heads: Sequence[int]) -> bool:
    while word and word != head:
        word = heads[word - 1]
    return word == head


def _depth(word: int, heads: Sequence[int]) -> int:
    """Return how many words are above a word."""
    depth = 0
    while word := heads[word - 1]:
        depth += 1
    return depth


def _below(top: int, lifted_word: int, wanted: str, heads: Sequence[int], relations: Sequence[str]) -> int:
    """Return the first word of a relation below the top, breadth first, not below the lifted word; or the top."""
    waiting = deque([top])
    while waiting:
        word = waiting.popleft()
        if word != top and relations[word - 1] == wanted:
            return word
        waiting += (each for each, head in enumerate(heads, 1) if head == word and each != lifted_word)
    return top
