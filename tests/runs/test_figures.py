"""Figures of a run show its gains with intervals that agree with p, and lines that differ without colours."""

from dataclasses import replace
from itertools import combinations, pairwise
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.inspection.curves import COLORS, Curves, look
from synmt.inspection.matrix import Picture, picture
from synmt.metrics.significance import Trained, p_value
from synmt.runs import figures
from synmt.runs.figures import Kind, data_of, draw
from synmt.runs.table import LEVEL, Result

SENTENCES = 50


def result(system: str, gain: float, seeds: int = 3, size: int | None = None, spread: float = 0.5) -> Result:
    """Return a result of random models whose scores are about `gain` above 20."""
    random = np.random.default_rng(seeds + len(system))
    models = [Trained(20 + each + random.normal(0, spread, seeds), 20 + each + random.normal(0, spread, (seeds, 200)))
              for each in (gain, 0)]  # fmt: skip
    scores = models[0].scores
    if not gain:
        return Result(size, "test", system, "BLEU", scores.tolist(), "")
    difference = float(scores.mean() - models[1].scores.mean())
    p = p_value(models[0], models[1], SENTENCES)
    return Result(
        size, "test", system, "BLEU", scores.tolist(), "", difference, difference > 0, p, p,
        sentences=SENTENCES, trained=(models[0], models[1]),
    )  # fmt: skip


@settings(max_examples=25)
@given(st.floats(0.05, 3), st.integers(1, 4), st.floats(0.1, 2))
def test_an_interval_leaves_out_zero_where_p_is_small(gain: float, seeds: int, spread: float) -> None:
    own = result("a", gain, seeds, spread=spread)
    assert own.p is not None and own.difference is not None and own.trained
    assert (own.p < LEVEL) == (abs(own.difference) > own.margin)
    assert p_value(*own.trained, SENTENCES, own.margin) == pytest.approx(LEVEL, rel=1e-3)


def found(results: list[Result], **more: Any) -> Any:
    return SimpleNamespace(results=results, **more)


def texts(shown: Picture) -> list[str | None]:
    return [node.text for node in ElementTree.fromstring(shown._repr_svg_()).iter() if node.tag.endswith("text")]


def test_gains_have_a_row_for_each_system() -> None:
    shown = draw(found([result("base", 0), result("mask", 1.0), result("tags", -0.5)]), "gains")
    assert {"BLEU above base", "mask", "tags", "test"} <= set(texts(shown))
    (axes,) = shown.figure().axes
    assert [each.get_text() for each in axes.get_yticklabels()] == ["mask", "tags"]
    widths = [draw(found([result("base", 0), result("x", 1)]), "gains", None, each).figure() for each in (1, 2)]
    assert [round(each.get_size_inches()[0], 1) for each in widths] == [3.3, 6.9]


def test_sizes_have_a_line_for_each_system_with_its_numbers() -> None:
    results = [each for size in (100, 400) for each in (result("base", 0, size=size), result("mask", 1.5, size=size))]
    svg = draw(found(results), "sizes", "BLEU", 2)._repr_svg_()
    assert f'<g id="{data_of(results[1::2])}"' in svg and ">400<" in svg


def test_lengths_and_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"test": "test", "size": None, "buckets": ["1–5", "6+"], "sentences": [3, 4], "metrics": [{"name": "BLEU"}],
             "systems": [0, 1], "scores": [[[(20.0, 1.0), (19.0, 1.0)], [(21.0, None), (18.0, None)]]]}  # fmt: skip
    monkeypatch.setattr(figures, "by_length", lambda *_: table)
    results = [result("base", 0), result("mask", 1.0)]
    shown = texts(draw(found(results, measured=[None], run=None), "lengths"))
    assert {"words of the source", "1–5", "n=3", "base", "mask"} <= set(shown)
    runs = {name: Curves(name, {"loss": ([1, 2], [3.0, 2.0])}, 1.0) for name in ("base.1", "base.2", "mask.1")}
    shown = texts(draw(found(results, curves=runs), "curves"))
    assert {"training loss", "update", "base, mean of 2 seeds", "mask.1"} <= set(shown)


@pytest.mark.parametrize(
    ("kind", "results", "cause"),
    [
        ("gains", [result("base", 0)], "a figure of gains needs at least two systems"),
        ("sizes", [result("base", 0), result("a", 1)], "at least two sizes of the training data"),
        ("curves", [result("base", 0)], "no model of the run has a log"),
    ],
)
def test_runs_without_what_a_figure_shows_are_refused(kind: Kind, results: list[Result], cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        draw(found(results, curves={}), kind)
    with pytest.raises(ValueError, match="no metric 'TER' in the table, only BLEU"):
        draw(found(results), kind, "TER")


def test_a_loss_has_no_lengths_and_one_seed_of_it_no_p(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "by_length", lambda *_: {"metrics": [{"name": "BLEU"}]})
    losses = [replace(each, metric="dev loss", p=None, holm=None) for each in (result("a", 0), result("b", 1))]
    with pytest.raises(ValueError, match="dev loss has no scores by length"):
        draw(found(losses, measured=[None], run=None), "lengths", "dev loss")
    sizes = [replace(each, size=size) for size in (100, 400) for each in losses]
    assert data_of(sizes[1::2]).endswith(":") and draw(found(sizes), "sizes")._repr_svg_()


def test_lines_differ_in_two_ways_besides_colour() -> None:
    looks = [look(place) for place in range(len(COLORS))]
    for one, other in combinations(looks, 2):
        assert one["color"] != other["color"] and one["marker"] != other["marker"]
    assert all(one["linestyle"] != other["linestyle"] for one, other in pairwise(looks))


def test_results_without_models_have_no_interval() -> None:
    bare = replace(result("a", 1.0), trained=None)
    assert np.isnan(bare.margin)
    assert picture(draw(found([result("base", 0), bare]), "gains").fill, "png").startswith(b"\x89PNG")
