"""Aligners on translation models, fitted and opened."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from safetensors import safe_open

from synmt.alignment import ALIGNERS
from synmt.alignment.aligner import FittedAligner, load_aligner
from synmt.alignment.extraction import Extraction, SoftLinks, extract
from synmt.alignment.published.attention.aligner import AttentionAligner
from synmt.alignment.published.attention.fitting import links_of, training_of_module
from synmt.alignment.published.attention.method import attention_method
from synmt.alignment.published.attention.models import disagreement
from synmt.data.bitext import Bitext
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.streams import BadInput, WrongUsage
from synmt.training.config import TrainingConfig
from tests.alignment.bitexts import bitext, fit_to
from tests.alignment.published.forced import METHODS
from tests.alignment.words import pair

PAIRS, LINKS = bitext()
BY_POSTERIOR = {"links_by": "posterior"}
STRANGE = [*PAIRS[:6], pair(["alpha"] * 40, ["ahpla"]), pair(["unseen", "xyz"], ["q", "ateb", "?"])]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Fit each method once; all but three use the models of naive-att."""
    root = tmp_path_factory.mktemp("aligners")
    for name in METHODS:
        models: dict[str, Any] = {"models": str(root / "naive-att")}
        if name in ("naive-att", "naive-att-last", "mtl-fullc"):
            models = {}
        fit_to(name, PAIRS, root / name, **models)
    return {name: root / name for name in METHODS}


@pytest.mark.parametrize(("name", "more"), [*((name, {}) for name in METHODS), ("naive-att-last", BY_POSTERIOR)])
def test_all_links_stay_inside_and_batches_change_nothing(
    name: str, more: dict[str, Any], folders: dict[str, Path]
) -> None:
    opened: Any = load_aligner(folders[name], None, "cpu")
    aligner: FittedAligner = replace(opened, **more)
    together = aligner.links(STRANGE)
    for found, each in zip(together, STRANGE, strict=True):
        words = len(each.source.tokens), len(each.target.tokens)
        (alone,) = aligner.links([each])
        assert isinstance(found, SoftLinks) and isinstance(alone, SoftLinks)
        np.testing.assert_allclose(found.forward, alone.forward, atol=1e-4)
        np.testing.assert_allclose(found.backward, alone.backward, atol=1e-4)
        assert found.forward.shape == found.backward.shape == (len(found.source_words), len(found.target_words))
        assert set(found.source_words) == set(range(words[0])) and set(found.target_words) == set(range(words[1]))
        links = extract(found, each.source.tokens, each.target.tokens, Extraction(aligner.heuristic)).links
        assert all(x < words[0] and y < words[1] for x, y in links)


@pytest.mark.parametrize("name", ["naive-att-last", "shift-aet", "mtl-fullc", "bao"])
def test_the_same_seed_gives_the_same_links(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    again = fit_to(name, PAIRS, tmp_path / name)
    once = load_aligner(folders[name], None, "cpu")
    for one, other in zip(once.links(PAIRS), again.links(PAIRS), strict=True):
        assert isinstance(one, SoftLinks) and isinstance(other, SoftLinks)
        assert np.array_equal(one.forward, other.forward) and np.array_equal(one.backward, other.backward)


@pytest.mark.parametrize("name", ["mtl-fullc", "shift-aet", "bao-guided"])
def test_given_links_are_learned(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    """With gold links as a guide, most links found are correct, and no other aligner is fitted."""
    settings: dict[str, Any] = {"epochs": 30, "mtl_fullc_weight": 2.0}
    if name != "mtl-fullc":
        settings = {"epochs": 120, "models": str(folders["naive-att"])}
    aligner = fit_to(name, PAIRS, tmp_path / name, LINKS, learning_rate=0.02, **settings)
    assert isinstance(aligner, AttentionAligner)
    found = links_of(aligner, Bitext(PAIRS))
    right = sum(len(one & other) for one, other in zip(found, LINKS, strict=True))
    assert right > 0.7 * sum(map(len, LINKS))
    assert right > 0.7 * sum(map(len, found))
    assert not (tmp_path / name / "guide").exists()


@pytest.mark.parametrize("name", METHODS)
def test_names_in_saved_folders_stay(name: str, folders: dict[str, Path]) -> None:
    """So folders of older versions open: a module on top is in `forward-part`, and its tensors begin with `part.`."""
    has_module = attention_method(name).has_module
    for direction in ("forward", "backward"):
        file = folders[name] / f"{direction}-part" / "model.safetensors"
        assert file.exists() == has_module
        if has_module:
            with safe_open(file, "pt") as tensors:
                assert {each.partition(".")[0] for each in tensors.keys()} == {"part"}  # noqa: SIM118


def test_models_equal_those_of_the_base_and_translate(folders: dict[str, Path]) -> None:
    for direction in ("forward", "backward"):
        base, copy = (folders[name] / direction / "model.safetensors" for name in ("naive-att", "shift-aet"))
        assert base.read_bytes() == copy.read_bytes()
        own = ModelFolder.open(folders["mtl-fullc"] / direction, ModelConfig)
        own.load_model(torch.device("cpu"))  # raises an error if there are other tensors
    codes = [folders["naive-att"] / direction / "codes.bpe" for direction in ("forward", "backward")]
    assert codes[0].read_bytes() == codes[1].read_bytes()


def test_a_method_reads_the_models_of_another(folders: dict[str, Path], tmp_path: Path) -> None:
    own = fit_to("naive-att", PAIRS, tmp_path / "naive-att", decoder_layers=6)
    fit_to("shift-att", PAIRS, tmp_path / "shift-att", models=str(tmp_path / "naive-att"))
    naive = load_aligner(tmp_path / "shift-att", "naive-att", "cpu")
    for one, other in zip(naive.links(PAIRS), own.links(PAIRS), strict=True):
        assert isinstance(one, SoftLinks) and isinstance(other, SoftLinks)
        assert np.array_equal(one.forward, other.forward)
    for folder, method in (
        ("naive-att", "shift-att"), ("naive-att", "naive-att-last"), ("shift-att", "bao"), ("shift-att", "naive-att")
    ):  # fmt: skip
        with pytest.raises(BadInput, match=f"to use {method}, fit it"):
            load_aligner(folders[folder], method, "cpu")


def test_a_fit_resumes_where_it_stopped(tmp_path: Path) -> None:
    whole_folder, part = tmp_path / "whole", tmp_path / "part"
    whole = fit_to("shift-aet", PAIRS, whole_folder)
    fit_to("shift-att", PAIRS, part / "guide")  # an interrupted fit got this far
    with pytest.raises(BadInput, match="--resume"):
        fit_to("shift-aet", PAIRS, part)
    resumed = fit_to("shift-aet", PAIRS, part, resume=True)
    for one, other in zip(whole.links(PAIRS), resumed.links(PAIRS), strict=True):
        assert isinstance(one, SoftLinks) and isinstance(other, SoftLinks)
        assert np.array_equal(one.forward, other.forward)
    assert fit_to("shift-aet", PAIRS, part, resume=True)  # there is nothing left to do
    with pytest.raises(BadInput, match="part: was fitted with data"):
        fit_to("shift-aet", PAIRS[1:], part, resume=True)
    with pytest.raises(BadInput, match="part: was fitted with --shift-aet-layer 0, not 1"):
        fit_to("shift-aet", PAIRS, part, resume=True, shift_aet_layer=1)
    with pytest.raises(BadInput, match="links"):
        fit_to("shift-aet", PAIRS, part, LINKS, resume=True)
    changes: list[dict[str, Any]] = [{"width": 32}, {"epochs": 9}, {"source_syntax": "mask"}]
    for settings in changes:
        named = min(settings).replace("_", "-")
        with pytest.raises(BadInput, match=f"part: was fitted with --{named}"):
            fit_to("shift-aet", PAIRS, part, resume=True, **settings)
    with pytest.raises(BadInput, match="part: was fitted with different --models"):
        fit_to("shift-aet", PAIRS, part, resume=True, models=str(whole_folder))
    with pytest.raises(BadInput, match="--resume"):
        fit_to("shift-aet", PAIRS, part)


def test_an_interrupted_fit_resumes_only_with_the_same_links_models_and_options(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that has learned some links from one model must not go on with others."""
    models: dict[str, Any] = {"models": str(folders["naive-att"])}

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("synmt.alignment.published.attention.fitting.FitModels._layers", stopped)
        fit_to("shift-aet", PAIRS, tmp_path / "part", LINKS, **models)
    for cause, links, settings in (
        ("links .*, not ", LINKS[1:] + LINKS[:1], models),
        ("--shift-aet-layer 0, not 1", LINKS, {**models, "shift_aet_layer": 1}),
        ("--models .*, not ", LINKS, {"models": str(folders["naive-att-last"])}),
    ):
        with pytest.raises(BadInput, match=f"part: was begun with {cause}"):
            fit_to("shift-aet", PAIRS, tmp_path / "part", links, resume=True, **settings)
    fit_to("shift-aet", PAIRS, tmp_path / "part", LINKS, resume=True, **models)
    assert not (tmp_path / "part" / "begun.json").exists()


def test_warm_up_is_the_same_fraction_for_a_module_and_its_model() -> None:
    """The learning rate of a module on top peaks at the same fraction of its training run."""
    part = training_of_module(TrainingConfig(epochs=10, updates=1000, warmup=400, minutes=5))
    assert (part.epochs, part.updates, part.warmup, part.minutes) == (2, 200, 80, 1)
    assert training_of_module(TrainingConfig(epochs=1, warmup=1)).warmup == 1


def test_settings_are_checked(tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(WrongUsage, match="steps cannot be -1"):
        fit_to("bao", PAIRS, tmp_path / "x", bao_steps=-1)
    with pytest.raises(WrongUsage, match="read only subwords"):
        fit_to("bao-guided", PAIRS, tmp_path / "x", source_syntax="mask")
    with pytest.raises(BadInput, match="no run to resume"):
        fit_to("naive-att", PAIRS, tmp_path / "none", resume=True)
    with pytest.raises(BadInput, match="needs other layers"):
        fit_to("naive-att-last", PAIRS, tmp_path / "x", models=str(folders["naive-att"]))
    with pytest.raises(BadInput, match=r"no decoder layer 3"):
        fit_to("shift-att", PAIRS, tmp_path / "y", models=str(folders["naive-att"]), shift_att_layer=3)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"format": 9}, "written in format 9, but this version of synmt reads"),
        ({"aligner": "nothing"}, "'nothing' does not read translation models"),
        ({"layers": [1, 7]}, "no decoder layer 7"),
        ({"layers": None}, "config.json"),
        ({"layers": []}, "expected a layer for each of 2 directions, found 0"),
        ({"layers": [1]}, "expected a layer for each of 2 directions, found 1"),
        ({"options": {"layer": -1}}, "layer cannot be -1"),
        ({"options": {"other": 1}}, "other"),
    ],
)
def test_inconsistent_folders_are_named(
    change: dict[str, object], cause: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(folders["naive-att"], tmp_path / "copy")
    config = tmp_path / "copy" / "config.json"
    fields = msgspec.json.decode(config.read_bytes())
    if change.keys() & {"format", "aligner"}:
        fields |= change
    else:
        fields["model"] |= change
    config.write_bytes(msgspec.json.encode(fields))
    with pytest.raises(BadInput, match=cause):
        ALIGNERS["naive-att"].load(tmp_path / "copy", "cpu")


def test_disagreement_is_an_error_rate() -> None:
    forward, backward = [{(0, 0), (1, 1)}, {(0, 0)}], [{(0, 0)}, {(0, 1), (1, 1)}]
    assert disagreement(forward, backward) == pytest.approx(1 - 2 * 1 / 6)
    assert disagreement(forward, forward) == 0
