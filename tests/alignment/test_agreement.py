"""Agreement between the trees of a pair: hand-computed examples, and laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.derived import agreement
from synmt.trees.record import ParseRecord
from tests.trees.strategies import dependency_records


def record(*heads: int) -> ParseRecord:
    return ParseRecord(tokens=[str(word) for word in range(len(heads))], heads=list(heads))


@given(each=dependency_records())
def test_a_sentence_agrees_with_itself(each: ParseRecord) -> None:
    links = {(word, word): 1.0 for word in range(len(each.tokens))}
    assert agreement(links, each, each) == 1
    assert agreement({}, each, each) == 0


@given(source=dependency_records(), target=dependency_records(), data=st.data())
def test_agreement_is_a_symmetric_share(source: ParseRecord, target: ParseRecord, data: st.DataObject) -> None:
    pairs = st.tuples(st.integers(0, len(source.tokens) - 1), st.integers(0, len(target.tokens) - 1))
    links = data.draw(st.dictionaries(pairs, st.floats(0, 1)))
    found = agreement(links, source, target)
    assert 0 <= found <= 1
    assert found == pytest.approx(agreement({(j, i): score for (i, j), score in links.items()}, target, source))


def test_an_arc_counts_if_both_of_its_words_are_linked() -> None:
    """One dependent has another head in the other tree, and one word has no link."""
    source, target = record(2, 0, 2), record(2, 0, 1, 2)
    links = {(0, 0): 1.0, (1, 1): 0.8, (2, 2): 1.0}
    assert agreement(links, source, target) == pytest.approx(2 * (0.8 + 0.8) / 7)


def test_of_several_links_the_best_counts() -> None:
    links = {(0, 0): 0.5, (0, 1): 1.0}
    assert agreement(links, record(0), record(0, 1)) == pytest.approx((0.5 + 0.5) / 3)
