"""One set of links from the links of both directions, or of one of them.

forward: what a model of the target given the source finds, a source word for each target word; backward: what the
reverse model finds. Both are (source, target). Published error rates hang on which variant of a name was run:

- `grow-diag`, `grow-diag-final`, `grow-diag-final-and`: Och & Ney (2003), Koehn et al. (2005), as Moses' symal runs
  them. A neighbour of a link joins if it is in the union and *either* of its words is unaligned yet; targets are
  scanned first. Then `final` takes links of one direction after the other of which either word is unaligned,
  `final-and` those of which both are.
- `grow-diag-lilt`: as the scripts of Zenkel, Wuebker & DeNero (2019) run it, and after them those of Mask-Align.
  *Both* of its words must be unaligned; sources are scanned first.
"""

from bisect import insort
from collections.abc import Set
from typing import Literal

from synmt.text.links import Link

Symmetrization = Literal[
    "forward",
    "backward",
    "intersection",
    "union",
    "grow-diag",
    "grow-diag-lilt",
    "grow-diag-final",
    "grow-diag-final-and",
]
FINAL: dict[Symmetrization, int] = {"grow-diag-final": 1, "grow-diag-final-and": 2}  # unaligned words of a link
NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(forward: Set[Link], backward: Set[Link], method: Symmetrization) -> set[Link]:
    if method == "forward" or method == "backward":
        return set(forward if method == "forward" else backward)
    if method == "intersection":
        return set(forward & backward)
    if method == "union":
        return set(forward | backward)
    if method == "grow-diag-lilt":
        return _grow(forward, backward, 2)
    forward, backward = _flipped(forward), _flipped(backward)
    links = _grow(forward, backward, 1)
    if unaligned := FINAL.get(method):
        _take_unaligned(links, forward, unaligned)
        _take_unaligned(links, backward, unaligned)
    return _flipped(links)


def _flipped(links: Set[Link]) -> set[Link]:
    return {(column, row) for row, column in links}


def _grow(forward: Set[Link], backward: Set[Link], unaligned: int) -> set[Link]:
    """Grow the intersection into the union, by neighbours of which at least `unaligned` words are unaligned.

    Passes over the links in order, until one adds nothing; a link that is added behind the scan waits for the next.
    """
    union = forward | backward
    links = sorted(forward & backward)
    rows, columns = {row for row, _ in links}, {column for _, column in links}
    size = -1
    while size < len(links):
        size, place = len(links), 0
        while place < len(links):
            row, column = links[place]
            for down, right in NEIGHBOURS:
                new = row + down, column + right
                if new in union and (new[0] not in rows) + (new[1] not in columns) >= unaligned:
                    insort(links, new)
                    rows.add(new[0])
                    columns.add(new[1])
                    place += new < (row, column)
            place += 1
    return set(links)


def _take_unaligned(links: set[Link], direction: Set[Link], unaligned: int) -> None:
    """Add the links of one direction of which at least `unaligned` words are unaligned yet, in order."""
    rows, columns = {row for row, _ in links}, {column for _, column in links}
    for row, column in sorted(direction):
        if (row not in rows) + (column not in columns) >= unaligned:
            links.add((row, column))
            rows.add(row)
            columns.add(column)
