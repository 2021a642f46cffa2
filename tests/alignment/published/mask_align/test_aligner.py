"""Mask-align, fitted and opened."""

from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from synmt.alignment.aligner import FitBitext, FittedText, Fitting, load_aligner, method_config
from synmt.alignment.choice import choose
from synmt.alignment.corpus import Opened
from synmt.alignment.extraction import Extraction, extract
from synmt.alignment.published.mask_align.aligner import MaskAlign
from synmt.alignment.published.mask_align.config import MaskAlignModelConfig
from synmt.alignment.published.mask_align.validation import LinkValidation
from synmt.data.bitext import Bitext
from synmt.data.records import SentencePair
from synmt.inspection.curves import read_curves
from synmt.metrics.links import LinkMetric
from synmt.metrics.metric import corpus_score
from synmt.streams import BadInput, WrongUsage
from synmt.text.links import Link, Links
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from tests import tiny
from tests.alignment.words import bitext, pair

TINY: dict[str, Any] = {
    "width": 32,
    "feedforward": 64,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "heads": 2,
    "merges": 50,
    "batch_tokens": 100,
    "learning_rate": 5e-3,
    "warmup": 20,
    "schedule": "cosine",
    "epochs": 20,
}
DATA = bitext(200)
PAIRS = [pair(source, target, number) for number, (source, target, _) in enumerate(DATA, 1)]
GOLD = [gold for _, _, gold in DATA]
SHORT: dict[str, Any] = {"epochs": 2}


def fit(
    out: Path,
    pairs: Sequence[SentencePair],
    guide: Sequence[Set[Link]] | None = None,
    resume: bool = False,
    **settings: Any,
) -> MaskAlign:
    settings = TINY | settings
    bitext = FitBitext(Bitext(pairs), FittedText(("en", "de"), "none"), guide)
    aligner = method_config("mask-align", settings).fit(bitext, Fitting(settings, out, resume, device="cpu"))
    assert isinstance(aligner, MaskAlign)
    return aligner


def links(aligner: MaskAlign, pairs: Sequence[SentencePair]) -> list[dict[Link, float]]:
    how = Extraction(aligner.heuristic)
    found = zip(aligner.links(pairs), pairs, strict=True)
    return [extract(each, pair.source.tokens, pair.target.tokens, how).links for each, pair in found]


def error_rate(found: Sequence[dict[Link, float]], gold: Sequence[set[Link]]) -> float:
    sure = [Links(frozenset(each), frozenset(each)) for each in gold]
    taken = [Links(frozenset(each), frozenset(each)) for each in found]
    return corpus_score(LinkMetric("AER"), taken, [sure]).score


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> MaskAlign:
    return fit(tmp_path_factory.mktemp("fitted") / "model", PAIRS)


def running(aligner: MaskAlign) -> Opened[MaskAlignModelConfig]:
    assert aligner.opened
    return aligner.opened


def test_the_training_bitext_is_aligned(fitted: MaskAlign) -> None:
    """The model has not seen any gold links."""
    assert error_rate(links(fitted, PAIRS), GOLD) < 10


def test_an_opened_folder_aligns_like_the_fitted_model_in_any_batches(
    fitted: MaskAlign, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = load_aligner(running(fitted).folder.path, None, "cpu")
    assert isinstance(opened, MaskAlign)
    together = fitted.links(PAIRS[:20])
    monkeypatch.setattr("synmt.alignment.corpus.BATCH_TOKENS", 1)
    for one, other in zip(opened.links(PAIRS[:20]), together, strict=True):
        np.testing.assert_allclose(one.forward, other.forward, atol=1e-5)
        np.testing.assert_allclose(one.backward, other.backward, atol=1e-5)


def test_links_of_unseen_words_stay_inside(fitted: MaskAlign) -> None:
    strange = [pair(["s1"], ["t1"]), pair(["new"], ["t1", "?"] * 40), pair(["s1"] * 1000, ["t2"])]
    for found, each in zip(fitted.links(strange), strange, strict=True):
        shape = len(found.source_words), len(found.target_words)
        assert found.forward.shape == found.backward.shape == shape
        assert found.source_words[-1] == len(each.source.tokens) - 1
        assert np.isfinite(found.forward).all() and np.isfinite(found.backward).all()
        assert (found.forward.sum(axis=0) <= 1.0001).all() and (found.backward.sum(axis=1) <= 1.0001).all()


def test_the_log_shows_that_links_improve(fitted: MaskAlign) -> None:
    (points,) = (read_curves(running(fitted).folder.path).points,)
    agreement, of_words = points["valid_agreement"][1], points["valid_links"][1]
    assert agreement[0] < 60 < 90 < agreement[-1] <= 100
    assert of_words[-1] == pytest.approx(1, abs=0.1)  # each word has one counterpart
    assert points["valid_loss"][1][-1] < points["valid_loss"][1][0]


def test_the_log_describes_the_links(fitted: MaskAlign) -> None:
    validation = LinkValidation(MaskAlign.reading, PAIRS[:7], running(fitted).folder, TrainingConfig(max_length=100))
    measures = validation.shard(running(fitted).model, Processes(0, 1, torch.device("cpu"))).measures
    agreed = directed = given = 0
    for each, found in zip(PAIRS[:7], fitted.links(PAIRS[:7]), strict=True):
        forward = {(found.source_words[int(j)], i) for i, j in enumerate(found.forward.argmax(axis=0))}
        backward = {(j, found.target_words[int(i)]) for j, i in enumerate(found.backward.argmax(axis=1))}
        agreed, directed = agreed + len(forward & backward), directed + len(forward) + len(backward)
        given += len(links(fitted, [each])[0])
    words = sum(len(each.source.tokens) + len(each.target.tokens) for each in PAIRS[:7])
    assert measures == {"agreement": pytest.approx(200 * agreed / directed), "links": pytest.approx(2 * given / words)}


def test_the_last_model_is_saved_whatever_its_links(fitted: MaskAlign) -> None:
    validation = LinkValidation(MaskAlign.reading, PAIRS[:7], running(fitted).folder, TrainingConfig(max_length=100))
    assert not validation.shard(running(fitted).model, Processes(0, 1, torch.device("cpu"))).decides


def test_links_depend_on_the_seed(tmp_path: Path) -> None:
    def weights(name: str, seed: int) -> list[float]:
        aligner = fit(tmp_path / name, PAIRS[:40], seed=seed, dropout=0.1, **SHORT)
        return [float(found.forward.sum()) for found in aligner.links(PAIRS[:40])]

    first = weights("first", 1)
    assert weights("second", 1) == first
    assert weights("third", 2) != first


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    def fitted_for(epochs: int, name: str, resume: bool = False) -> MaskAlign:
        return fit(tmp_path / name, PAIRS[:40], resume=resume, epochs=epochs, schedule="constant")

    whole = fitted_for(4, "whole")
    fitted_for(2, "parts")
    parts = fitted_for(4, "parts", resume=True)
    for one, other in zip(whole.links(PAIRS[:5]), parts.links(PAIRS[:5]), strict=True):
        np.testing.assert_array_equal(one.forward, other.forward)


def test_given_links_are_learned(fitted: MaskAlign, tmp_path: Path) -> None:
    """The links join words at the same position, which are not translations of each other."""
    guide = [{(n, n) for n in range(len(source))} for source, _, _ in DATA[:60]]
    aligner = fit(tmp_path / "model", PAIRS[:60], guide, mask_align_guidance=5.0)
    assert error_rate(links(aligner, PAIRS[:60]), guide) < 30 < error_rate(links(fitted, PAIRS[:60]), guide)
    with pytest.raises(WrongUsage, match="a causal decoder cannot learn"):
        fit(tmp_path / "causal", PAIRS[:60], guide, mask_align_causal=True)


@pytest.mark.parametrize("method", ["mask-align", "hmm+mask-align"])
def test_the_weight_of_given_links_needs_links(method: str) -> None:
    assert choose({"method": method}).needs["mask-align-guidance"] == "--guide"
    assert "mask-align-guidance" not in choose({"method": method, "guide": "links"}).needs
    assert "mask-align-guidance" not in choose({"method": "hmm"}).needs


@pytest.mark.parametrize("sides", [("mask", None), (None, "pascal"), ("mask+pascal", "lisa")])
def test_encoders_can_read_trees(sides: tuple[str | None, str | None], tmp_path: Path) -> None:
    records = tiny.records() * 3
    pairs = [replace(pair([], []), source=one, target=two) for one, two in zip(records, records[::-1], strict=True)]
    settings = {"source_syntax": sides[0], "target_syntax": sides[1], "pascal_heads": 1, **SHORT}
    given = {name: value for name, value in settings.items() if value is not None}
    if "pascal" not in f"{sides}":
        given.pop("pascal_heads")
    aligner = fit(tmp_path / "model", pairs, **given)
    assert aligner.needs() == load_aligner(tmp_path / "model", "mask-align", "cpu").needs()
    for found, each in zip(aligner.links(pairs), pairs, strict=True):
        assert set(found.source_words) == set(range(len(each.source.tokens)))
        assert set(found.target_words) == set(range(len(each.target.tokens)))


def test_errors_are_bad_input(tmp_path: Path) -> None:
    fit(tmp_path / "model", PAIRS[:9], **SHORT)
    with pytest.raises(
        BadInput, match="already has a model; name a new folder, or add --resume to continue its training run"
    ):
        fit(tmp_path / "model", PAIRS[:9], **SHORT)
    with pytest.raises(WrongUsage, match="agreement cannot be -1"):
        fit(tmp_path / "other", PAIRS[:9], mask_align_agreement=-1.0)
    with pytest.raises(BadInput, match=r"config\.json: No such file"):
        load_aligner(tmp_path / "missing", None, "cpu")
    (tmp_path / "model" / "config.json").write_text('{"format": 2, "model": {}}')
    with pytest.raises(BadInput, match="is not an aligner; name a --method"):
        load_aligner(tmp_path / "model", None, "cpu")
