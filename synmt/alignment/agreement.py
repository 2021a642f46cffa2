"""How far the trees of a sentence pair agree, as a score of the pair; an idea of our own.

Where two sentences say the same, most arcs of one tree are arcs of the other, too: links join the dependents as well as
the heads. In pairs of other sentences words may be linked by chance, but hardly two and two of them.
"""

from collections.abc import Mapping

from synmt.text.links import Link
from synmt.trees.record import ParseRecord


def agreement(links: Mapping[Link, float], source: ParseRecord, target: ParseRecord) -> float:
    """Return the mean over all words of both sides of how well the arc above each is linked, 0 to 1.

    An arc is linked as well as its best counterpart: by the product of the scores that join the dependents and the
    heads, 1 for two roots. Both records have heads; neither is without words.
    """
    best: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for (i, j), score in links.items():
        above = source.heads[i], target.heads[j]
        of_heads = 1.0 if above == (0, 0) else links.get((above[0] - 1, above[1] - 1), 0.0)
        for words, word in zip(best, (i, j), strict=True):
            words[word] = max(words.get(word, 0.0), score * of_heads)
    linked = sum(sum(words.values()) for words in best)
    return min(1.0, linked / (len(source.tokens) + len(target.tokens)))
