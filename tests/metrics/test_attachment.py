"""UPOS, UAS and LAS, worked out by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from synmt.metrics.parses import Attachment
from synmt.trees.record import UNATTACHED, ParseRecord

GOLD = ParseRecord(
    tokens=["She", "ca", "n't", "go"],
    upos=["PRON", "AUX", "PART", "VERB"],
    heads=[4, 4, 4, 0],
    deprels=["nsubj", "aux", "advmod:neg", "root"],
)


def right(name: str, **columns: Any) -> list[int]:
    """Return right, gold and predicted words for a record that differs from the gold record in these columns."""
    row: list[int] = Attachment(name).statistics([replace(GOLD, **columns)], [[GOLD]])[0].tolist()
    return row


def test_the_gold_tree_scores_100() -> None:
    for name in ("UPOS", "UAS", "LAS"):
        assert right(name) == [4, 4, 4]


def test_each_metric_reads_its_own_columns() -> None:
    assert right("UPOS", upos=["NOUN", "AUX", "PART", "VERB"], heads=[]) == [3, 4, 4]
    assert right("UAS", heads=[4, 4, 2, 0], deprels=["x"] * 4) == [3, 4, 4]
    assert right("LAS", heads=[4, 4, 2, 0]) == [3, 4, 4]
    assert right("LAS", deprels=["nsubj:pass", "aux", "advmod", "parataxis"]) == [3, 4, 4]
    assert right("UAS", heads=[0, 1, 1, 1]) == [0, 4, 4]


def test_words_are_aligned_by_their_characters() -> None:
    """`can't` is one token here, so `She` and `go` are the words that both sides have."""
    tokens = ["She", "can't", "go"]
    assert right("UPOS", tokens=tokens, upos=["PRON", "AUX", "VERB"], heads=[]) == [2, 4, 3]
    assert right("LAS", tokens=tokens, heads=[3, 3, 0], deprels=["nsubj", "aux", "root"]) == [2, 4, 3]


def test_partial_trees_have_their_own_precision_and_recall() -> None:
    partial = {"heads": [4, UNATTACHED, UNATTACHED, 0], "deprels": ["nsubj", "_", "_", "dep"]}
    assert right("UAS", **partial) == [2, 4, 2]
    assert right("LAS", **partial) == [1, 4, 2]
    assert right("UPOS", upos=["PRON", "_", "X", "_"]) == [1, 4, 2]
    assert "(R = 50.00 P = 100.00)" in Attachment("UAS").score(np.array([2, 4, 2])).details
    assert right("UAS", heads=[UNATTACHED] * 4, deprels=["_"] * 4) == [0, 4, 0]


def test_the_score_is_f1() -> None:
    assert Attachment("LAS").score(np.array([2, 4, 3])).score == pytest.approx(100 * 2 * 2 / 7)


def test_incomparable_records() -> None:
    with pytest.raises(ValueError, match="the text differs from the reference"):
        right("UAS", tokens=["He", "ca", "n't", "go"])
    with pytest.raises(ValueError, match="record without upos"):
        right("UPOS", upos=[])
    with pytest.raises(ValueError, match="record without heads"):
        right("LAS", deprels=[])
