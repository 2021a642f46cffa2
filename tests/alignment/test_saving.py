"""Every aligner is one class that can be fitted, saved, opened and used, and old folders still open."""

import importlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synmt.alignment import ALIGNERS, compiled
from synmt.alignment.aligner import AlignmentMethod, name_of, new_aligner, open_aligner, options_of
from synmt.alignment.config import AlignConfig
from synmt.alignment.extraction import Extraction, extract
from synmt.alignment.linking import aligning
from synmt.options import Checked, settings_of
from tests.alignment.bitexts import QUICK, QUICK_NEURAL, STRANGE, bitext, fitted
from tests.alignment.embeddings.test_aligner import encoder

__all__ = ["encoder"]
PAIRS, _ = bitext(30)
SETTINGS: dict[str, dict[str, Any]] = {"hmm": {}, "auto": QUICK_NEURAL, "neural-hmm": QUICK_NEURAL, "eflomal": {}}
EXACT = "hmm", "auto", "neural-hmm", "systran-align"  # their sums always have the same order
PACKAGES = {"eflomal": "eflomal", "systran-align": "systran_align"}


def links_of(aligner: AlignmentMethod) -> list[list[tuple[int, int]]]:
    how = Extraction(aligner.heuristic)
    found = zip(PAIRS, aligner.align(PAIRS), strict=True)
    return [sorted(extract(each, pair.source.tokens, pair.target.tokens, how).links) for pair, each in found]


def assert_shards_change_nothing(aligner: AlignmentMethod, exactly: bool) -> None:
    """Check that the lines of a pair depend only on the pair: one shard gives the same as many, in any order.

    exactly: compare scores as well as links. In networks, the rounding of scores depends on the batch.
    """
    align = aligning(aligner, AlignConfig(format="jsonl", scores=True) if exactly else AlignConfig())
    pairs = [*PAIRS, *STRANGE] if exactly else PAIRS[:12]
    whole = align(pairs)
    for size in (1, 7):
        shards = [pairs[first : first + size] for first in range(0, len(pairs), size)]
        assert [line for shard in shards for line in align(shard)] == whole
    assert align(pairs[::-1]) == whole[::-1]


@pytest.mark.parametrize("name", ALIGNERS)
def test_a_saved_aligner_aligns_like_the_fitted_one(name: str, encoder: Path, tmp_path: Path) -> None:
    """The aligner is opened where it was fitted, saved elsewhere, and opened with a config of older versions, each with
    any shards."""
    if name in PACKAGES:
        importlib.import_module(PACKAGES[name]) if importlib.util.find_spec(PACKAGES[name]) else pytest.skip("missing")
    own = {"embeddings_encoder": str(encoder), "embeddings_layer": 1, "embeddings_rule": "argmax"}
    settings = own if name == "embeddings" else SETTINGS.get(name, {**QUICK, "updates": 2})
    made = fitted(name, PAIRS, tmp_path / "fitted", settings)
    expected = links_of(made)
    assert made.text and name_of(made) == name and made.needs() == new_aligner(name, settings).needs(settings)
    opened = open_aligner(tmp_path / "fitted", None, "cpu")
    opened.save(tmp_path / "saved")
    config = tmp_path / "saved" / "config.json"
    held = msgspec.json.decode(config.read_bytes())
    assert {"format", "aligner", "model"} <= held.keys() <= {"format", "aligner", "model", "training"}
    assert {"options", "languages", "tokenizer", "words"} <= held["model"].keys()
    assert held["model"]["options"] == options_of(made)
    aligners = [opened, open_aligner(tmp_path / "saved", None, "cpu")]
    if "training" not in held:
        config.write_bytes(msgspec.json.encode({"format": held["format"], "aligner": name, **held["model"]}))
        aligners.append(open_aligner(tmp_path / "saved", None, "cpu"))
    if name != "eflomal":
        assert_shards_change_nothing(opened, exactly=name in EXACT and compiled.library() is not None)
    for each in aligners:
        assert type(each) is type(made) and each.text == made.text and options_of(each) == options_of(made)
        if name != "eflomal":  # it samples again
            assert links_of(each) == expected


@pytest.mark.parametrize("name", ALIGNERS)
def test_an_aligner_is_one_class(name: str) -> None:
    """Its settings are its options; its other fields are empty until it is fitted or opened."""
    kind = ALIGNERS[name]
    assert kind.__dataclass_params__.frozen
    assert len({*kind.__mro__} - {Checked, object}) <= 2  # itself, and at most one base
    for method in ("needs", "fit", "save", "open", "align"):
        assert callable(getattr(kind, method))
    new, options = kind(), {each.name for each in settings_of(kind)}
    assert new.text is None and options_of(new).keys() == options
    for each in fields(kind):
        if each.name not in options | {"links_by"}:
            assert not getattr(new, each.name) or getattr(new, each.name) == Path()
