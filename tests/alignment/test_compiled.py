"""The compiled version of the chains agrees with numpy, is built once, and is optional."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from synmt.alignment import compiled
from synmt.alignment.hmm.aligner import Hmm
from synmt.alignment.hmm.bitext import IndexedBitext, Sentences
from synmt.alignment.hmm.lexicon import Lexicon
from synmt.alignment.hmm.model import Model
from synmt.alignment.hmm.moves import Floats
from tests.alignment.mask_align.test_model import CPU
from tests.alignment.neural_hmm.test_model import model_of
from tests.cli.commands import write_program

needs_compiler = pytest.mark.skipif(compiled.library() is None, reason="there is no C compiler")
Twins = Callable[[], None]


@pytest.fixture
def in_numpy(monkeypatch: pytest.MonkeyPatch) -> Twins:
    """Disable the compiled code from now on."""
    return lambda: monkeypatch.setattr(compiled, "library", lambda: None)


def hmm(agreement: int) -> tuple[Model, IndexedBitext]:
    """Return a model of random counts, and pairs of all lengths from 1 to 40 words and of 90 words."""
    random = np.random.default_rng(agreement)
    lengths = [*random.integers(1, 40, (60, 2)).tolist(), [1, 1], [1, 90], [90, 1], [17, 16], [32, 33]]
    source, target = Sentences(), Sentences()
    for number, (name, side) in enumerate((("x", source), ("y", target))):
        for pair in lengths:
            side.add([f"{name}{word}" for word in random.integers(0, 50, pair[number])])
    lexicon = Lexicon.new([source.counts(), target.counts()], 2.0)
    model = Model.new(Hmm(agreement=agreement, frequent=5, jump=4), lexicon)
    bitext = IndexedBitext.index((source, target), range(len(lengths)), lexicon, new=True)
    lexicon.learn(bitext.types, random.exponential(1, len(bitext.keys)).astype(np.float32) ** 4)
    for direction in model.directions:
        direction.unlinked[:] = random.exponential(1, len(direction.unlinked))
        weights = direction.jumps[0].weights
        weights[:] = random.dirichlet(np.ones(weights.shape[1]), len(weights))
    return model, bitext


@needs_compiler
@pytest.mark.parametrize("agreement", [0, 1, 2, 5])
@pytest.mark.parametrize("jumps", [False, True])
def test_tables_give_the_results_of_numpy(agreement: int, jumps: bool, in_numpy: Twins) -> None:
    model, bitext = hmm(agreement)
    found, links = model.counted(), [each for _, each in model.links(bitext)]
    counts = model.count(bitext, found, jumps)
    in_numpy()
    expected = model.counted()
    np.testing.assert_allclose(counts, model.count(bitext, expected, jumps), rtol=1e-4, atol=1e-5)
    for each, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(each.unlinked[:-1], other.unlinked[:-1], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(each.jumps[0].seen, other.jumps[0].seen, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(each.jumps[0].possible, other.jumps[0].possible, rtol=1e-4, atol=1e-4)
    for (_, slow), fast in zip(model.links(bitext), links, strict=True):
        for one, two in zip(slow, fast, strict=True):
            np.testing.assert_allclose(two, one, atol=3e-6)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_directions_that_can_never_agree_stay_finite(is_compiled: bool, in_numpy: Twins) -> None:
    """If every word must be linked, and one side has more words, no links fit both models."""
    model, bitext = hmm(100)
    model = replace(model, options=replace(model.options, null=0.0))
    model.lexicon.learn(bitext.types, np.where(np.arange(len(bitext.keys)) % 9, 0, 1e5).astype(np.float32))
    if not is_compiled:
        in_numpy()
    for batch, (forward, backward) in model.links(bitext):
        for links, words in ((forward, batch.targets >= 0), (backward, batch.sources >= 0)):
            np.testing.assert_allclose(links.sum(axis=2), words, atol=1e-3)


@needs_compiler
@pytest.mark.parametrize("agreement", [0, 1, 2, 5])
def test_scores_give_the_results_of_numpy(agreement: int, in_numpy: Twins) -> None:
    """The likelihood and the gradient of the objective are the same."""
    model, corpus = model_of(agreement=agreement, jump=2)

    def read() -> list[Tensor]:
        x, y, _ = corpus.batch(range(4), CPU)
        loss = model.loss(x, y)
        gradients = torch.autograd.grad(loss.total, list(model.parameters()))
        return [loss.translation, *gradients]

    fast = read()
    in_numpy()
    for one, two in zip(read(), fast, strict=True):
        torch.testing.assert_close(two, one, atol=1e-5, rtol=1e-4)


@needs_compiler
@pytest.mark.parametrize("agreement", [0, 1, 3])
@pytest.mark.parametrize("width", [6, 50])
def test_vectors_give_the_results_of_numpy(agreement: int, width: int) -> None:
    """For a model that is no longer trained, the results are equal bit by bit, one pair at a time and all at once."""
    model, corpus = model_of(width, agreement=agreement, jump=2)
    vectors, directions = model.by_vectors()
    for expected, each in zip(model.totals(), directions, strict=True):
        torch.testing.assert_close(torch.from_numpy(each.totals), expected, atol=1e-5, rtol=1e-5)

    def read(pairs: Sequence[int], wider: int = 0) -> list[Floats]:
        sides = [[side.subwords[pair] for pair in pairs] for side in (corpus.source, corpus.target)]
        padded = [np.full((len(side), max(map(len, side)) + wider), -1, np.int64) for side in sides]
        for rows, side in zip(padded, sides, strict=True):
            for row, ids in zip(rows, side, strict=True):
                row[: len(ids)] = ids
        return compiled.read(directions, (padded[0], padded[1]), agreement, None, vectors=vectors)[1]

    x, y, _ = corpus.batch(range(4), CPU)
    together = read(range(4), wider=20)
    for found, expected in zip(together, model.posteriors(x, y, model.totals()), strict=True):
        for row, own in zip(found, expected.numpy(), strict=True):
            np.testing.assert_allclose(row[: own.shape[0], : own.shape[1]], own, atol=1e-5)
            assert not row[own.shape[0] :].any() and not row[:, own.shape[1] :].any()
    for pair in range(4):
        for alone, found in zip(read([pair]), together, strict=True):
            (row,) = alone
            assert row.tobytes() == found[pair][: row.shape[0], : row.shape[1]].tobytes()


PROBE = "from synmt.alignment.compiled import library; print(library() is not None)"


def probe(cache: Path, **environment: str) -> tuple[bool, str]:
    """Return whether another process has the library, and its output."""
    known = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2]), "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run([sys.executable, "-c", PROBE], env=known | environment, capture_output=True, text=True)
    return done.stdout == "True\n", done.stderr


@needs_compiler
def test_it_is_built_once(tmp_path: Path) -> None:
    quick = tmp_path / "quick-cc"
    write_program(quick, 'exec cc "$@" -O0')
    assert probe(tmp_path, CC=str(quick)) == (True, "")
    assert probe(tmp_path, CC="false") == (True, "")  # the compiler is no longer needed
    assert len(list((tmp_path / "synmt").iterdir())) == 1


@pytest.mark.parametrize("compiler", ["false", "/no/such/compiler"])
def test_a_failed_build_is_reported(compiler: str, tmp_path: Path) -> None:
    built, report = probe(tmp_path, CC=compiler)
    assert not built and report.startswith("synmt align: ") and len(report.splitlines()) == 1


def test_compiled_code_can_be_disabled(tmp_path: Path) -> None:
    assert probe(tmp_path, SYNMT_COMPILED="0") == (False, "") and not list(tmp_path.iterdir())
