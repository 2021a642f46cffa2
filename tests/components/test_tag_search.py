"""The search for the likeliest tree, compared with trying all tags."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.decoder.tags import Tag, TagSearch, transitions_of_tags
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.transitions import TransitionError, read_transitions

TAGS = [Tag(relation, left, right) for relation in ("root", "a", "b") for left in (0, 1, 2) for right in (0, 1)]


def spells_a_tree(tags: Sequence[Tag]) -> bool:
    """Return whether each arc has its two words, and the only remaining word is tagged as the root."""
    stack: list[Tag] = []
    for tag in tags:
        if tag.left > len(stack):
            return False
        taken = stack[len(stack) - tag.left :]
        stack = [*stack[: len(stack) - tag.left], tag]
        if tag.right > len(stack) - 1:
            return False
        taken += stack[len(stack) - tag.right :]
        stack = stack[: len(stack) - tag.right]
        if any(each.relation == "root" for each in taken):
            return False
    return len(stack) == 1 and stack[0].relation == "root"


@given(data=st.data())
def test_the_search_finds_the_likeliest_tree(data: st.DataObject) -> None:
    tags = data.draw(st.lists(st.sampled_from(TAGS), min_size=1, max_size=7, unique=True))
    lengths = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    numbers = [random.normal(size=(length, len(tags))).astype(np.float32) for length in lengths]
    for each, found in zip(numbers, TagSearch(tags).trees(numbers), strict=True):
        scored = [
            (sum(each[word, tag] for word, tag in enumerate(way)), way)
            for way in product(range(len(tags)), repeat=len(each))
            if spells_a_tree(tuple(tags[tag] for tag in way))
        ]
        assert (found is None) == (not scored)
        if found is not None:
            assert spells_a_tree(tuple(tags[tag] for tag in found))
            score = sum(each[word, tag] for word, tag in enumerate(found))
            np.testing.assert_allclose(score, max(score for score, _ in scored), atol=1e-5)


def test_the_result_is_read_as_a_tree() -> None:
    search, random = TagSearch(TAGS), np.random.default_rng(1)
    numbers = [random.normal(size=(length, len(TAGS))).astype(np.float32) for length in range(1, 30)]
    for each, found in zip(numbers, search.trees(numbers), strict=True):
        assert found is not None
        string = transitions_of_tags(["x"] * len(found), [TAGS[tag].label for tag in found])
        try:
            record = read_transitions(string, ArcStyle())
        except TransitionError as error:
            raise AssertionError(string) from error
        assert len(record.heads) == len(each) and record.heads.count(0) == 1
        assert [TAGS[tag].relation for tag in found] == record.deprels
