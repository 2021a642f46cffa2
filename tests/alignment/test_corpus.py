"""Pairs as arrays of ids."""

from synmt.alignment.corpus import links_of_subwords


def test_all_subwords_of_linked_words_are_linked() -> None:
    links = links_of_subwords({(0, 1), (2, 0)}, [0, 0, 1, 2], [0, 1, 1])
    assert {(j, i) for i, j in links.tolist()} == {(0, 1), (1, 1), (0, 2), (1, 2), (3, 0)}
    assert links_of_subwords(set(), [0], [0]).shape == (0, 2)
