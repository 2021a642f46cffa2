import math
from pathlib import Path

import pytest

from synmt.metrics.links import LinkMetric
from synmt.metrics.metric import corpus_score
from synmt.text.links import Links, read_links

ALIGNED = Path(__file__).parents[3] / "shared" / "data" / "aligned_deen"
PUBLISHED = {
    "fastalign.deen.intersection": (28.0, 87.1, 61.3),
    "fastalign.deen.grow-diagonal": (27.0, 84.5, 64.1),
    "fastalign.deen.grow-diagonal-final": (27.7, 80.6, 65.5),
    "giza.deen.intersection": (23.4, 95.8, 63.7),
    "giza.deen.grow-diagonal": (21.4, 94.2, 67.2),
    "giza.deen.grow-diagonal-final": (20.5, 91.3, 70.2),
}


def scores(hypotheses: list[Links], gold: list[Links]) -> list[float]:
    return [corpus_score(LinkMetric(name), hypotheses, [gold]).score for name in ("AER", "Precision", "Recall")]


def test_worked_numbers() -> None:
    gold = [read_links("1-1 2-2 3p3", 1), read_links("1-1 2p1 2p2", 1)]
    found = [read_links("1-1 2-3 3-3", 1), read_links("1-1 2-2", 1)]
    assert scores(found, gold) == pytest.approx([25.0, 80.0, 200 / 3])
    line = corpus_score(LinkMetric("AER"), found, [gold]).line
    assert line.startswith("AER|sure:3|synmt:") and line.endswith(" = 25.00 (P = 80.00 R = 66.67 links = 5)")


def test_with_sure_links_the_error_rate_is_one_minus_f1() -> None:
    gold, found = [read_links("0-0 1-1 2-2")], [read_links("0-0 1-2")]
    f1 = corpus_score(LinkMetric("F1"), found, [gold]).score
    assert scores(found, gold)[0] == pytest.approx(100 - f1)
    assert f1 == pytest.approx(40.0)


def test_empty_sides() -> None:
    none, one, possible = Links(), read_links("0-0"), read_links("0p0")
    assert scores([none], [none]) == [0, 0, 0]
    assert scores([none], [one]) == [100, 0, 0]
    assert scores([one], [none]) == [100, 0, 0]
    assert scores([none], [possible]) == [0, 0, 0]
    assert scores([one], [possible]) == [0, 100, 0]
    assert all(math.isfinite(score) for score in scores([none], [none]))


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.skipif(not ALIGNED.exists(), reason="needs the links that alignment-scripts published")
def test_published_links_have_the_published_error_rate(name: str) -> None:
    """Scores from Zenkel, Wuebker & DeNero (2019); their published files differ from the scored ones in a few links."""
    gold = [read_links(line, 1) for line in (ALIGNED / "deen.talp").read_text().splitlines()]
    lines = (ALIGNED / "lilt_system_outputs" / f"{name}.talp").read_text().splitlines()
    assert scores([read_links(line) for line in lines], gold) == pytest.approx(PUBLISHED[name], abs=0.1)
