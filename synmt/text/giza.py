"""Links as GIZA++ writes them, in its A3 files: three lines a sentence pair.

    # Sentence pair (7) source length 2 target length 3 alignment score : 1.2e-05
    das kleine Haus
    NULL ({ }) the ({ 1 }) house ({ 2 3 })

Words of the last line, after NULL, are those of the model's source; the numbers count words of the line before.
"""

import re
from collections.abc import Iterable, Iterator

from synmt.streams import Line
from synmt.text.links import Link

HEADER = "# Sentence pair"
_WORD = re.compile(r"\(\{((?: \d+)*) \}\)", re.ASCII)


def read_a3(lines: Iterable[Line]) -> Iterator[tuple[Line, frozenset[Link], tuple[int, int]]]:
    """Yield the links of each pair as (word of the third line, word of the second), from 0, and the numbers of words of
    both lines. Raises BadInput."""
    iterator = iter(lines)
    for number, header in enumerate(iterator, 1):
        if not header.text.startswith(f"{HEADER} ({number})"):
            raise header.error(f"not the line '{HEADER} ({number}) …' of an A3 file, whose pairs are in order")
        words, aligned = next(iterator, None), next(iterator, None)
        if words is None or aligned is None:
            raise header.error("the A3 file ends inside of a sentence pair")
        cells = _WORD.findall(aligned.text)
        if not cells or not aligned.text.startswith("NULL "):
            raise aligned.error("not a line of words with ({ numbers }) after each, NULL first")
        # of a number beyond all, ten digits say as much
        links = frozenset((place, int(n[:10]) - 1) for place, cell in enumerate(cells[1:]) for n in cell.split())
        lengths = len(cells) - 1, len(words.text.split())
        if any(not 0 <= target < lengths[1] for _, target in links):
            raise aligned.error("a number of a word that is not in the line before")
        yield header, links, lengths
