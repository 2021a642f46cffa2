"""How far translation moves words: the reordering distance of a sentence pair, from its word links.

Choshen & Abend (2019), "Automatically Extracting Challenge Sets for Non-local Phenomena in Neural Machine
Translation", CoNLL: the greatest |i − j| over the links i-j of a pair. Links of words that are not all letters,
such as the full stops at the ends of two sentences of different lengths, do not count; their code asked that of the
i-th letter of the sentence instead of its i-th word.
"""

from collections.abc import Sequence, Set

from synmt.text.links import Link, check_inside


def reordering_distance(links: Set[Link], source: Sequence[str], target: Sequence[str]) -> int:
    """Return the greatest |i − j| of links between words of letters; 0 if there are none.

    Raises LinkError for a link outside of the sentences.
    """
    check_inside(links, len(source), len(target))
    return max((abs(i - j) for i, j in links if source[i].isalpha() and target[j].isalpha()), default=0)
