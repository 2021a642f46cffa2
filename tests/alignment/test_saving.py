"""Every aligner can be fitted, saved, loaded and used, and old folders still load."""

import importlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synmt.alignment import ALIGNERS, compiled
from synmt.alignment.aligner import FittedAligner, MethodConfig, load_aligner, method_config, name_of, options_of
from synmt.alignment.config import AlignConfig
from synmt.alignment.extraction import Extraction, extract
from synmt.alignment.linking import aligning
from synmt.options import Checked, settings_of
from synmt.registry import attribute
from tests.alignment.bitexts import QUICK, QUICK_NEURAL, STRANGE, bitext, fitted
from tests.alignment.embeddings.test_aligner import encoder

__all__ = ["encoder"]
PAIRS, _ = bitext(30)
SETTINGS: dict[str, dict[str, Any]] = {"hmm": {}, "auto": QUICK_NEURAL, "neural-hmm": QUICK_NEURAL, "eflomal": {}}
EXACT = "hmm", "auto", "neural-hmm", "systran-align"  # their sums always have the same order
PACKAGES = {"eflomal": "eflomal", "systran-align": "systran_align"}


def links_of(aligner: FittedAligner) -> list[list[tuple[int, int]]]:
    how = Extraction(aligner.heuristic)
    found = zip(PAIRS, aligner.links(PAIRS), strict=True)
    return [sorted(extract(each, pair.source.tokens, pair.target.tokens, how).links) for pair, each in found]


def assert_shards_change_nothing(aligner: FittedAligner, exactly: bool) -> None:
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
    assert name_of(type(made.config)) == name and made.needs() == method_config(name, settings).needs(settings)
    opened = load_aligner(tmp_path / "fitted", None, "cpu")
    opened.save(tmp_path / "saved")
    config = tmp_path / "saved" / "config.json"
    held = msgspec.json.decode(config.read_bytes())
    assert {"format", "aligner", "model"} <= held.keys() <= {"format", "aligner", "model", "training"}
    assert {"options", "languages", "tokenizer", "words"} <= held["model"].keys()
    assert held["model"]["options"] == options_of(made.config)
    aligners = [opened, load_aligner(tmp_path / "saved", None, "cpu")]
    if "training" not in held:
        config.write_bytes(msgspec.json.encode({"format": held["format"], "aligner": name, **held["model"]}))
        aligners.append(load_aligner(tmp_path / "saved", None, "cpu"))
    if name != "eflomal":
        assert_shards_change_nothing(opened, exactly=name in EXACT and compiled.library() is not None)
    for each in aligners:
        assert type(each) is type(made) and (each.config, each.text) == (made.config, made.text)
        if name != "eflomal":  # it samples again
            assert links_of(each) == expected


@pytest.mark.parametrize("name", ALIGNERS)
def test_a_method_has_a_config_and_an_aligner(name: str) -> None:
    """All fields of the config are options. The aligner is complete: no field of it waits for a fit."""
    kind = ALIGNERS[name]
    assert kind.__dataclass_params__.frozen and issubclass(kind, MethodConfig)
    assert (
        {each.name for each in fields(kind)} == {each.name for each in settings_of(kind)} == options_of(kind()).keys()
    )
    contract = {MethodConfig, Checked, object}
    assert len({*kind.__mro__} - contract) <= 2  # itself, and at most one base
    if kind.aligner.startswith("synmt.alignment.statistical") and not importlib.util.find_spec(PACKAGES[name]):
        return
    aligner = attribute(kind.aligner)
    assert aligner.__dataclass_params__.frozen and aligner.__mro__[1] is FittedAligner
    assert [each.name for each in fields(aligner)][:2] == ["config", "text"]
    assert all(each.default is not None for each in fields(aligner))
