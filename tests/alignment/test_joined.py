"""Joined methods and the default, `auto`: fitted, saved and opened."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from synmt.alignment import ALIGNERS
from synmt.alignment.aligner import FittedText, load_aligner, method_config
from synmt.alignment.extraction import SoftLinks, mean_of_words
from synmt.data.records import SentencePair
from synmt.streams import BadInput, WrongUsage
from synmt.text.links import DirectedLinks
from tests.alignment.bitexts import QUICK_NEURAL, STRANGE, assert_links_found, bitext, fitted
from tests.cli.commands import shell

PAIRS, LINKS = bitext(300)
QUICK = QUICK_NEURAL | {"hmm_rounds": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("joined") / "model"
    fitted("hmm+neural-hmm", PAIRS, path, QUICK)
    return path


def between_words(links: SoftLinks, name: str) -> NDArray[Any]:
    """Return the largest weight of a pair of subwords for each pair of words."""
    weights = getattr(links, name)
    source, target = np.array(links.source_words), np.array(links.target_words)
    rows = [[weights[np.ix_(source == j, target == i)].max() for i in set(target)] for j in set(source)]
    return np.array(rows)


def aligned(folder: Path, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
    found = load_aligner(folder, None, "cpu").links(pairs)
    assert all(isinstance(each, SoftLinks) for each in found)
    return cast(list[SoftLinks], found)


def test_it_averages_both_models(folder: Path) -> None:
    both = load_aligner(folder, None, "cpu")
    assert both.text == FittedText(("de", "en"), "none") and both.heuristic == "mean"
    assert both.links([]) == []
    pairs = [*PAIRS[:20], *STRANGE]
    found, hmm, neural = (aligned(each, pairs) for each in (folder, folder / "hmm", folder / "neural-hmm"))
    for mean, one, other in zip(found, hmm, neural, strict=True):
        for name in ("forward", "backward"):
            expected = (between_words(one, name) + between_words(other, name)) / 2
            np.testing.assert_allclose(getattr(mean, name), expected, atol=1e-6)


def test_reversed_sentences_are_aligned(folder: Path) -> None:
    assert_links_found(load_aligner(folder, None, "cpu"), PAIRS, LINKS)


@pytest.mark.parametrize("missing", [["config.json"], ["config.json", "neural-hmm"]])
def test_an_interrupted_fit_resumes(missing: list[str], folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(folder, run)
    for name in missing:
        (shutil.rmtree if (run / name).is_dir() else Path.unlink)(run / name)
    with pytest.raises(BadInput, match="already has a model"):
        fitted("hmm+neural-hmm", PAIRS, run, QUICK)
    fitted("hmm+neural-hmm", PAIRS, run, QUICK, resume=True)
    for file in ("config.json", "hmm/model.safetensors", "neural-hmm/model.safetensors"):
        assert (run / file).read_bytes() == (folder / file).read_bytes()
    with pytest.raises(BadInput, match="no run to resume"):
        fitted("hmm+neural-hmm", PAIRS, tmp_path / "new", QUICK, resume=True)


def test_a_stopped_run_resumes_only_with_the_same_input(folder: Path, tmp_path: Path) -> None:
    """This also holds for `hmm`, which is fitted in one go and may be the only finished part."""
    shutil.copytree(folder / "hmm", tmp_path / "hmm")
    with pytest.raises(BadInput, match="hmm: was fitted with data "):
        fitted("hmm+neural-hmm", PAIRS[1:], tmp_path, QUICK, resume=True)
    with pytest.raises(BadInput, match="hmm: was fitted with --hmm-rounds 3, not 2"):
        fitted("hmm+neural-hmm", PAIRS, tmp_path, QUICK | {"hmm_rounds": 2}, resume=True)


def test_options_unused_by_its_parts_are_refused() -> None:
    for settings in ({"hmm_null": 1.0}, {"neural_hmm_null": 0.0}, {"neural_hmm_jump": 0}):
        with pytest.raises(WrongUsage, match=r"(null|jump) cannot be"):
            method_config("hmm+neural-hmm", settings).needs(settings)


def test_only_hmm_reads_trees() -> None:
    assert method_config("hmm+neural-hmm", {}).needs({}) == (frozenset(), frozenset())
    heads = frozenset({"heads"})
    assert method_config("hmm+neural-hmm", {"hmm_trees": True}).needs({"hmm_trees": True, "epochs": 3}) == (
        heads,
        heads,
    )


def test_foreign_parts_are_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "model")
    shutil.rmtree(tmp_path / "model" / "hmm")
    (tmp_path / "model" / "hmm").symlink_to(folder / "hmm")
    with pytest.raises(BadInput, match="leads out of the folder"):
        load_aligner(tmp_path / "model", None, "cpu")


def test_methods_without_weights_count_as_one(tmp_path: Path) -> None:
    pair = PAIRS[0]
    m, n = len(pair.source.tokens), len(pair.target.tokens)
    weights = np.random.default_rng(1).random((2, m, n), np.float32)
    soft = SoftLinks(weights[0], weights[1], range(m), range(n))
    hard = DirectedLinks(frozenset({(0, 0), (1, 1)}), frozenset({(0, 1)}))
    expected = weights.copy()
    for direction, link in ((0, (0, 0)), (0, (1, 1)), (1, (0, 1))):
        expected[direction][link] += 1
    found = mean_of_words(pair, soft, hard)
    np.testing.assert_allclose(np.stack((found.forward, found.backward)), expected / 2, atol=1e-6)


@pytest.mark.parametrize("name", ["hmm+hmm", "hmm+", "+hmm", "hmm+nothing", "hmm+auto+auto"])
def test_only_different_known_methods_are_joined(name: str) -> None:
    assert name not in ALIGNERS
    with pytest.raises(WrongUsage, match=r"unknown method|has (hmm|auto) more than once"):
        method_config(name, {})


def test_a_folder_of_the_former_default_says_how_to_open_it(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace('"hmm+neural-hmm"', '"hmms"'))
    with pytest.raises(BadInput, match=r"by the method hmms, now auto: (sed .*)") as refused:
        load_aligner(tmp_path / "model", None, "cpu")
    command = str(refused.value).partition("now auto: ")[2]
    assert shell(command, tmp_path).returncode == 0
    assert aligned(tmp_path / "model", PAIRS[:2])[0].forward.tolist() == aligned(folder, PAIRS[:2])[0].forward.tolist()
