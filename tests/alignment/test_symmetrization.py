from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.extraction import NEIGHBOURS, Symmetrization, symmetrize

FORWARD, BACKWARD = {(0, 0), (1, 1), (2, 3)}, {(0, 0), (1, 2), (2, 3), (3, 3)}
WORKED: dict[Symmetrization, set[tuple[int, int]]] = {
    "forward": FORWARD,
    "backward": BACKWARD,
    "intersection": {(0, 0), (2, 3)},
    "union": {(0, 0), (1, 1), (1, 2), (2, 3), (3, 3)},
    "grow-diag": {(0, 0), (1, 1), (1, 2), (2, 3), (3, 3)},
    "grow-diag-lilt": {(0, 0), (1, 1), (2, 3)},
    "grow-diag-final": {(0, 0), (1, 1), (1, 2), (2, 3), (3, 3)},
    "grow-diag-final-and": {(0, 0), (1, 1), (1, 2), (2, 3), (3, 3)},
}
WORDS = st.integers(0, 6)
LINKS = st.sets(st.tuples(WORDS, WORDS), max_size=12)
METHODS: tuple[Symmetrization, ...] = get_args(Symmetrization)


@pytest.mark.parametrize("method", METHODS)
def test_worked_example(method: Symmetrization) -> None:
    assert symmetrize(FORWARD, BACKWARD, method) == WORKED[method]


def test_final_and_adds_isolated_pairs_of_unaligned_words() -> None:
    forward, backward = {(0, 0), (3, 3), (4, 3)}, {(0, 0), (3, 5)}
    assert symmetrize(forward, backward, "grow-diag") == {(0, 0)}
    assert symmetrize(forward, backward, "grow-diag-final-and") == {(0, 0), (3, 3)}
    assert symmetrize(forward, backward, "grow-diag-final") == {(0, 0), (3, 3), (4, 3), (3, 5)}


@given(LINKS, LINKS)
def test_all_heuristics_lie_between_intersection_and_union(
    forward: set[tuple[int, int]], backward: set[tuple[int, int]]
) -> None:
    for method in METHODS:
        assert forward & backward <= symmetrize(forward, backward, method) <= forward | backward


@given(LINKS, LINKS)
def test_growth_equals_that_of_the_published_scans(
    forward: set[tuple[int, int]], backward: set[tuple[int, int]]
) -> None:
    assert symmetrize(forward, backward, "grow-diag-lilt") == slow_lilt(forward, backward)
    assert symmetrize(forward, backward, "grow-diag") == slow_moses(forward, backward)


@given(LINKS, LINKS)
def test_final_links_every_word_that_a_direction_links(
    forward: set[tuple[int, int]], backward: set[tuple[int, int]]
) -> None:
    grown, final = (symmetrize(forward, backward, method) for method in ("grow-diag", "grow-diag-final"))
    for side in (0, 1):
        assert {link[side] for link in final} == {link[side] for link in forward | backward}
    assert grown <= final
    for link in final - grown:
        assert any(all(other[side] != link[side] for other in grown) for side in (0, 1))


def slow_lilt(forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Visit every cell of the matrix in turn, source by source, until a pass adds nothing."""
    links, union = forward & backward, forward | backward
    added = True
    while added:
        added = False
        for source in range(7):
            for target in range(7):
                if (source, target) in links:
                    for down, right in NEIGHBOURS:
                        new = (source + down, target + right)
                        alone = all(new[0] != s and new[1] != t for s, t in links)
                        if new in union and alone:
                            links = links | {new}
                            added = True
    return links


def slow_moses(forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Do the same target by target, and require only one of the two words to be unaligned."""
    links, union = forward & backward, forward | backward
    added = True
    while added:
        added = False
        for target in range(7):
            for source in range(7):
                if (source, target) in links:
                    for right, down in NEIGHBOURS:
                        new = (source + down, target + right)
                        joins = new[0] not in {s for s, _ in links} or new[1] not in {t for _, t in links}
                        if new in union and joins:
                            links = links | {new}
                            added = True
    return links
