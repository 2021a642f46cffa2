"""Sentence pairs on disk equal those that were read."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.data import bitext
from synmt.data.bitext import Bitext
from synmt.data.records import SentencePair
from synmt.streams import Line
from synmt.trees.record import ParseRecord
from tests import tiny

LINES = Line("", "train.en", 7), Line("", "train.de", 9)
words = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))


def pairs() -> list[SentencePair]:
    """Return pairs with trees, dependencies and a mask."""
    masked = replace(tiny.records()[0], masks={"near": ["10000"] * 5}, sent_id="a")
    return [
        SentencePair(source, target, LINES)
        for source, target in zip([masked, *tiny.records()], [*tiny.target_records(), masked], strict=False)
    ]


def test_pairs_can_be_read_repeatedly_in_order() -> None:
    found = Bitext(pairs())
    assert len(found) == len(pairs())
    assert list(found) == pairs()
    assert list(found) == pairs()


@given(words, words)
def test_words_may_differ_from_the_spelling_of_the_text(source: list[str], target: list[str]) -> None:
    pair = SentencePair(ParseRecord(text="text", tokens=source), ParseRecord(tokens=target), LINES)
    assert list(Bitext([pair])) == [pair]


def test_iterations_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (bitext.IN_MEMORY, 100):  # bytes; larger bitexts are on disk
        monkeypatch.setattr(bitext, "IN_MEMORY", size)
        found = Bitext(pairs() * 20)
        assert list(zip(found, islice(found, 3, None), strict=False)) == list(
            zip(pairs() * 20, (pairs() * 20)[3:], strict=False)
        )


def test_large_bitexts_are_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bitext, "IN_MEMORY", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    assert list(Bitext(pairs()[:1])) == pairs()[:1]
    with pytest.raises(FileNotFoundError):
        Bitext(pairs() * 20)
