from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from synmt.alignment.config import Heuristic
from synmt.alignment.extraction import Extraction, SoftLinks, directions, extract, harmonic_mean, word_scores
from synmt.text.links import DirectedLinks

# `das Ha@@ us .` and `the hou@@ se`: target × source, and source × target.
FORWARD = np.array([[0.60, 0.10, 0.05, 0.05], [0.02, 0.70, 0.10, 0.03], [0.01, 0.30, 0.50, 0.05]], np.float32).T
BACKWARD = np.array([[0.55, 0.05, 0.02], [0.10, 0.60, 0.20], [0.02, 0.15, 0.60], [0.05, 0.02, 0.03]], np.float32)
HOUSE = SoftLinks(FORWARD, BACKWARD, [0, 1, 1, 2], [0, 1, 1])
HEURISTICS: tuple[Heuristic, ...] = get_args(Heuristic)
DAS_HAUS, THE_HOUSE = ["das", "Haus", "."], ["the", "house"]


@st.composite
def soft_links(draw: st.DrawFn) -> SoftLinks:
    source, target = (draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)) for _ in range(2))
    shape = sum(source), sum(target)
    values = st.floats(0, 1, width=32)
    forward, backward = (
        draw(arrays(np.float32, shape, elements=values)),
        draw(arrays(np.float32, shape, elements=values)),
    )
    source_words, target_words = ([w for w, n in enumerate(side) for _ in range(n)] for side in (source, target))
    return SoftLinks(forward, backward, source_words, target_words)


def test_worked_example() -> None:
    scores = [[0.573913, 0.1, 0.028571, 0.05], [0.028571, 0.646154, 0.12, 0.024], [0.013333, 0.24, 0.545455, 0.0375]]
    np.testing.assert_allclose(harmonic_mean(FORWARD, BACKWARD).T, scores, atol=1e-6)
    found = extract(HOUSE, DAS_HAUS, THE_HOUSE, Extraction())
    assert found.links == pytest.approx({(0, 0): 0.573913, (1, 1): 0.646154}, abs=1e-6)
    assert found.confidence == pytest.approx((0.573913 * 2 + 0.646154 * 2 + 0.05) / 5, abs=1e-6)
    assert directions(HOUSE) == ({(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 0)})


def test_thresholds_are_inclusive_and_weights_of_zero_link_nothing() -> None:
    half = SoftLinks(np.array([[0.5, 0.0]], np.float32), np.array([[0.5, 0.0]], np.float32), [0], [0, 1])
    assert set(extract(half, ["a"], ["b", "c"], Extraction(threshold=0.5)).links) == {(0, 0)}
    assert not extract(half, ["a"], ["b", "c"], Extraction(threshold=0.51)).links
    nothing = SoftLinks(np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float32), [0, 1], [0, 1])
    for heuristic in HEURISTICS:
        found = extract(nothing, ["a", "b"], ["c", "d"], Extraction(heuristic))
        assert (found.links, found.confidence) == ({}, 0.0)


def test_the_plain_mean_keeps_links_of_one_confident_direction() -> None:
    """Each target word is certain of its source word, but the source word can be certain of only one target word."""
    forward, backward = np.array([[1.0, 1.0]], np.float32), np.array([[0.6, 0.4]], np.float32)
    found = SoftLinks(forward, backward, [0], [0, 1])
    links = extract(found, ["Hafenkontrolle"], ["port", "control"], Extraction("mean")).links
    assert links == pytest.approx({(0, 0): 0.8, (0, 1): 0.7})
    assert set(extract(found, ["a"], ["b", "c"], Extraction("mean", threshold=0.75)).links) == {(0, 0)}
    scores = extract(found, ["a"], ["b", "c"], Extraction("mean")).scores
    np.testing.assert_allclose(scores, [[0.8, 0.7]], atol=1e-6)


@given(soft_links(), st.floats(2**-7, 1, width=32))
def test_words_are_linked_if_any_of_their_subwords_are(found: SoftLinks, threshold: float) -> None:
    expected = set()
    for (j, u), (i, v) in product(enumerate(found.source_words), enumerate(found.target_words)):
        f, b = float(found.forward[j, i]), float(found.backward[j, i])
        if f + b and np.float32(2 * np.float32(f) * np.float32(b) / np.float32(f + b)) >= np.float32(threshold):
            expected.add((u, v))
    source, target = (["x"] * (max(side) + 1) for side in (found.source_words, found.target_words))
    assert set(extract(found, source, target, Extraction(threshold=threshold)).links) == expected


@given(soft_links(), st.sampled_from(HEURISTICS), st.sampled_from([None, 0.0]), st.booleans())
def test_links_stay_inside_with_scores_from_0_to_1(
    found: SoftLinks, heuristic: Heuristic, threshold: float | None, marks: bool
) -> None:
    source, target = ["."] * (found.source_words[-1] + 1), ["."] * (found.target_words[-1] + 1)
    extracted = extract(found, source, target, Extraction(heuristic, threshold, end_punctuation=marks))
    assert all(u < len(source) and v < len(target) for u, v in extracted.links)
    assert not marks or {v for u, v in extracted.links if u == len(source) - 1} == {len(target) - 1}
    assert all(0 <= score <= 1 for score in [*extracted.links.values(), extracted.confidence])


def test_end_punctuation_is_linked_only_to_end_punctuation() -> None:
    forward = np.array([[0.3, 0.2], [0.6, 0.7]], np.float32)
    soft, hard = SoftLinks(forward, forward, [0, 1], [0, 1]), DirectedLinks({(1, 0), (1, 1)}, {(1, 0), (0, 0)})
    cases: list[tuple[SoftLinks | DirectedLinks, Heuristic]] = [
        (soft, "harmonic"), (soft, "union"), (hard, "union")
    ]  # fmt: skip
    for found, heuristic in cases:
        for source, target, links in ((["a", "."], ["b", "!"], {(0, 0), (1, 1)}), (["a", "."], ["b", "c"], {(0, 0)})):
            with_marks = extract(found, source, target, Extraction(heuristic, end_punctuation=True))
            assert links <= set(with_marks.links) <= links | {(0, 1)}
        assert (1, 0) in extract(found, ["a", "."], ["b", "!"], Extraction(heuristic)).links


def test_hard_links_are_scored_by_the_share_of_directions() -> None:
    found = DirectedLinks({(0, 0), (1, 1)}, {(0, 0)})
    assert extract(found, ["a", "b"], ["c", "d"], Extraction("union")).links == {(0, 0): 1.0, (1, 1): 0.5}
    assert word_scores(found, 2, 2).tolist() == [[1.0, 0.0], [0.0, 0.5]]
    with pytest.raises(ValueError, match="only links with weights have a mean"):
        extract(found, ["a", "b"], ["c", "d"], Extraction())
