"""Chunks and phrases, compared with their definitions over all spans."""

from itertools import combinations_with_replacement, product

from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.derived import chunks, phrases
from synmt.text.links import Link

LENGTH = 7  # words per side
LINKS = st.frozensets(st.tuples(*[st.integers(0, LENGTH - 1)] * 2), max_size=14)
Spans = tuple[int, int, int, int]


def consistent(spans: Spans, links: frozenset[Link]) -> bool:
    """Koehn, Och & Marcu (2003): a link lies inside, and the words of each span are linked only to the other span."""
    a, b, c, d = spans
    inside = [a <= i <= b and c <= j <= d for i, j in links]
    leaving = [(a <= i <= b) != (c <= j <= d) for i, j in links]
    return any(inside) and not any(leaving)


def around(outer: Spans, inner: Spans) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1] and outer[2] <= inner[2] and inner[3] <= outer[3]


@given(LINKS)
def test_phrases_are_the_minimal_consistent_spans(links: frozenset[Link]) -> None:
    spans = list(combinations_with_replacement(range(LENGTH), 2))
    all_consistent = [(*x, *y) for x, y in product(spans, spans) if consistent((*x, *y), links)]
    smallest = [
        each for each in all_consistent if not any(around(each, other) for other in all_consistent if other != each)
    ]
    assert phrases(links) == sorted(smallest)


@given(LINKS)
def test_chunks_are_connected_by_links(links: frozenset[Link]) -> None:
    joined = {(left, right): left == right or left[0] == right[0] or left[1] == right[1] for left, right in
              product(links, links)}  # fmt: skip
    for middle, left, right in product(links, links, links):  # Warshall's closure
        joined[left, right] |= joined[left, middle] and joined[middle, right]
    classes = {frozenset(right for right in links if joined[left, right]) for left in links}
    expected = sorted((sorted({i for i, _ in each}), sorted({j for _, j in each})) for each in classes)
    assert chunks(links) == expected


def test_a_discontinuous_verb() -> None:
    """Er nimmt es gern an: he gladly accepts it. The chunk of the verb has a gap; its smallest phrase has none."""
    links = {(0, 0), (1, 2), (4, 2), (2, 3), (3, 1)}
    assert chunks(links) == [([0], [0]), ([1, 4], [2]), ([2], [3]), ([3], [1])]
    assert phrases(links) == [(0, 0, 0, 0), (2, 2, 3, 3), (3, 3, 1, 1)]


def test_unlinked_words_are_never_at_the_edge_of_a_phrase() -> None:
    assert phrases({(1, 1), (3, 1)}) == [(1, 3, 1, 1)]
    assert phrases(set()) == [] == chunks(set())
