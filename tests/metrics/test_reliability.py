"""Calibration of link scores, compared with the definitions."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from synmt.metrics.links import read_scored
from synmt.metrics.reliability import BINS, Reliability, tempered
from synmt.text.links import Link, Links, read_links

SCORES = st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)
FOUND = st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 5)), SCORES, min_size=1)


def slow_error(scores: dict[Link, float], gold: frozenset[Link]) -> float:
    """Return the error of Naeini et al. (2015): the error of each bin, weighted by its number of links."""
    total = 0.0
    for place in range(BINS):
        inside = [link for link, score in scores.items() if min(int(score * BINS), BINS - 1) == place]
        if inside:
            right = sum(link in gold for link in inside) / len(inside)
            mean = sum(scores[link] for link in inside) / len(inside)
            total += len(inside) / len(scores) * abs(right - mean)
    return total


@given(FOUND, st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_the_error_equals_the_definition(scores: dict[Link, float], gold: frozenset[Link]) -> None:
    found = Reliability.of([(scores, Links(frozenset(), gold))])
    assert found.error == pytest.approx(slow_error(scores, gold))
    assert sum(each.links for each in found.bins) == found.all.links == len(scores)
    assert found.all.right == pytest.approx(sum(link in gold for link in scores) / len(scores))
    after = dict(zip(scores, tempered(list(scores.values()), found.temperature).tolist(), strict=True))
    assert found.tempered == pytest.approx(slow_error(after, gold))
    assert found.tempered <= found.error + 1e-4 or 0 in scores.values() or 1 in scores.values()


@given(SCORES, SCORES, st.floats(0.1, 10))
def test_temperature_preserves_the_order_of_scores(low: float, high: float, temperature: float) -> None:
    assume(0 < low < high < 1)
    first, second = tempered([low, high], temperature).tolist()
    assert first < second
    logits = np.log([low / (1 - low), high / (1 - high)])
    assert [first, second] == pytest.approx((1 / (1 + np.exp(-logits / temperature))).tolist())
    assert tempered([0.5], temperature).tolist() == [0.5]
    assert ((tempered([high], 2) < high) if high > 0.5 else (tempered([high], 2) >= high)).all()


@pytest.mark.filterwarnings("error")
def test_the_lowest_temperature_gives_no_warning() -> None:
    assert tempered([0.0, 0.4, 0.5, 0.6, 1.0], 0.01).tolist() == pytest.approx([0, 0, 0.5, 1, 1])


def test_overconfidence_is_detected() -> None:
    """A link is right with probability p = 0.8 or 0.6, but its score has the squared odds of p: a temperature of 2."""
    pairs = []
    for p in (0.8, 0.6):
        sure = (p / (1 - p)) ** 2 / (1 + (p / (1 - p)) ** 2)
        for line in range(100):
            pairs.append(({(0, 0): sure}, read_links("0p0" if line < 100 * p else "1-1")))
    found = Reliability.of(pairs)
    assert found.temperature == pytest.approx(2, rel=0.02) and found.tempered < 0.005 < 0.1 < found.error
    assert [(each.low, each.links, round(each.right, 6)) for each in found.bins] == [(0.6, 100, 0.6), (0.9, 100, 0.8)]


def test_links_with_scores_are_read_from_json() -> None:
    assert read_scored('{"links": [[0, 2, 0.5], [1, 1, 1]], "source": []}') == {(0, 2): 0.5, (1, 1): 1}
    assert read_scored(" ") == read_scored("{}") == {}
    with pytest.raises(ValueError, match="no links with scores"):
        Reliability.of([({}, Links())])


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("{", "not JSON"),
        ("[]", 'needs "links"'),
        ('{"source": []}', 'needs "links"'),
        ('{"links": [[0, 0]]}', r"\[0, 0\] is not a link"),
        ('{"links": 3}', 'needs "links"'),
        ('{"links": [[0, -1, 1]]}', r"\[0, -1, 1\] is not a link"),
        ('{"links": [[0, [], 1]]}', r"\[0, \[\], 1\] is not a link"),
        ('{"links": [[0, 0, 1.01]]}', "between 0 and 1"),
        ('{"links": [[0, 0, true]]}', "between 0 and 1"),
        ('{"links": [[0, 0, null]]}', "between 0 and 1"),
    ],
)
def test_input_without_scored_links(line: str, cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        read_scored(line)
