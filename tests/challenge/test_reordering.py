import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.challenge.sets import reordering_distance
from synmt.text.links import Link, LinkError

SOURCE = ["he", "has", "the", "coals", "put", "out", "."]
TARGET = ["er", "hat", "die", "Kohlen", "gelöscht", "."]


def test_the_farthest_link_counts() -> None:
    assert reordering_distance({(0, 0), (4, 4), (5, 1)}, SOURCE, TARGET) == 4
    assert reordering_distance({(0, 3), (5, 1)}, SOURCE, TARGET) == 4
    assert reordering_distance(set(), SOURCE, TARGET) == 0


def test_links_of_nonwords_do_not_count() -> None:
    assert reordering_distance({(6, 0)}, SOURCE, TARGET) == 0
    assert reordering_distance({(0, 5)}, SOURCE, TARGET) == 0
    assert reordering_distance({(0, 5), (1, 0)}, SOURCE, TARGET) == 1


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 5)), max_size=8))
def test_both_directions_give_the_same_set(links: set[Link]) -> None:
    turned = {(j, i) for i, j in links}
    assert reordering_distance(links, SOURCE, TARGET) == reordering_distance(turned, TARGET, SOURCE)


@pytest.mark.parametrize("link", [(7, 0), (0, 6)])
def test_links_outside_the_sentences_are_refused(link: Link) -> None:
    with pytest.raises(LinkError, match=f"link {link[0]}-{link[1]} for 7 source and 6 target words"):
        reordering_distance({link}, SOURCE, TARGET)
