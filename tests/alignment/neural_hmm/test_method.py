"""The `neural-hmm` aligner: fitted, saved and opened."""

import json
from pathlib import Path

import numpy as np
import pytest

from synmt.alignment.aligner import FittedText, load_aligner, method_config
from synmt.alignment.extraction import SoftLinks
from synmt.streams import BadInput, WrongUsage
from tests.alignment.bitexts import (
    QUICK_NEURAL,
    STRANGE,
    assert_batches_change_nothing,
    assert_links_found,
    bitext,
    fitted,
)
from tests.alignment.words import pair

PAIRS, LINKS = bitext(300)
QUICK = QUICK_NEURAL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("neural-hmm") / "model"
    fitted("neural-hmm", PAIRS, path, QUICK)
    return path


def test_reversed_sentences_are_aligned(folder: Path) -> None:
    """There are eight words, each with its own translation, in an order that does not fit the initial jumps."""
    aligner = load_aligner(folder, None, "cpu")
    assert aligner.text == FittedText(("de", "en"), "none")
    assert_links_found(aligner, PAIRS, LINKS)


def test_links_stay_inside_and_batches_change_nothing(folder: Path) -> None:
    aligner = load_aligner(folder, None, "cpu")
    for found, each in zip(assert_batches_change_nothing(aligner, STRANGE), STRANGE, strict=True):
        assert found.forward.shape == (len(found.source_words), len(found.target_words)) == found.backward.shape
        assert found.source_words[-1] == len(each.source.tokens) - 1


def test_words_are_compared_in_lower_case(folder: Path) -> None:
    aligner = load_aligner(folder, None, "cpu")
    found = aligner.links([pair(["Alpha", "BETA"], ["AHPLA", "ateb"]), pair(["alpha", "beta"], ["ahpla", "ateb"])])
    one, other = (each.forward for each in found if isinstance(each, SoftLinks))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_same_seed_gives_the_same_model(folder: Path, tmp_path: Path) -> None:
    fitted("neural-hmm", PAIRS, tmp_path / "again", QUICK)
    assert (folder / "model.safetensors").read_bytes() == (tmp_path / "again" / "model.safetensors").read_bytes()


def test_an_interrupted_fit_resumes_to_the_same_model(folder: Path, tmp_path: Path) -> None:
    fitted("neural-hmm", PAIRS, tmp_path / "run", QUICK | {"schedule": "constant", "updates": 8})
    fitted("neural-hmm", PAIRS, tmp_path / "run", QUICK | {"schedule": "constant", "updates": 16}, resume=True)
    fitted("neural-hmm", PAIRS, tmp_path / "whole", QUICK | {"schedule": "constant", "updates": 16})
    parts = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("run", "whole")]
    assert parts[0] == parts[1]


def test_unused_options_are_refused(folder: Path) -> None:
    with pytest.raises(BadInput, match="already has a model"):
        fitted("neural-hmm", PAIRS, folder, QUICK)
    with pytest.raises(WrongUsage, match="width cannot be 0"):
        method_config("neural-hmm", {}).needs({"width": 0})
    with pytest.raises(WrongUsage, match="null cannot be 0"):
        method_config("neural-hmm", {"neural_hmm_null": 0.0})


def test_vocabularies_with_structure_are_refused(folder: Path, tmp_path: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file() and "checkpoint" not in file.parts:
            copy = tmp_path / file.relative_to(folder)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(file.read_bytes())
    (tmp_path / "source" / "vocab.source.txt").write_text("read\n")
    with pytest.raises(BadInput, match="cannot be predicted"):
        load_aligner(tmp_path, None, "cpu")
    (tmp_path / "source" / "vocab.source.txt").write_text("")
    fields = json.loads((tmp_path / "config.json").read_text())
    fields["model"]["width"] = 8
    (tmp_path / "config.json").write_text(json.dumps(fields))
    with pytest.raises(BadInput, match=r"jumps\.weight has shape"):
        load_aligner(tmp_path, None, "cpu")
