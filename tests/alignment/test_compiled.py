"""The compiled version of the chains agrees with numpy, is built when synmt is installed, and is optional."""

import os
import re
import shutil
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
from synmt.alignment.hmm.bitext import IndexedBitext, IndexedSentences
from synmt.alignment.hmm.config import HmmConfig
from synmt.alignment.hmm.lexicon import PrefixLexicon
from synmt.alignment.hmm.model import HmmModel
from synmt.alignment.hmm.similar import Similar
from synmt.alignment.hmm.transitions import Floats
from tests.alignment.corpora import CPU
from tests.alignment.neural_hmm.test_model import model_of
from tests.cli.commands import write_program

needs_compiler = pytest.mark.skipif(
    compiled.library() is None, reason="chains.c is not built here: pip install -e . with a C compiler"
)
Twins = Callable[[], None]


@pytest.fixture
def in_numpy(monkeypatch: pytest.MonkeyPatch) -> Twins:
    """Disable the compiled code from now on."""
    return lambda: monkeypatch.setattr(compiled, "library", lambda: None)


def hmm(agreement: int, encoder: bool = False) -> tuple[HmmModel, IndexedBitext]:
    """Return a model of random counts, and pairs of all lengths from 1 to 40 words and of 90 words.

    encoder: whether an encoder finds some words similar.
    """
    random = np.random.default_rng(agreement)
    lengths = [*random.integers(1, 40, (60, 2)).tolist(), [1, 1], [1, 90], [90, 1], [17, 16], [32, 33]]
    source, target = IndexedSentences(), IndexedSentences()
    for number, (name, side) in enumerate((("x", source), ("y", target))):
        for pair in lengths:
            side.add([f"{name}{word}" for word in random.integers(0, 50, pair[number])])
    lexicon = PrefixLexicon.new([source.counts(), target.counts()], 2.0)
    model = HmmModel.new(HmmConfig(agreement=agreement, frequent=5, jump=4), lexicon)
    similar = Similar() if encoder else None
    for sizes in lengths:
        if similar:
            similar.add(random.random(sizes, np.float32) ** 8)
    bitext = IndexedBitext.index((source, target), range(len(lengths)), lexicon, new=True, similar=similar)
    lexicon.learn(bitext.types, random.exponential(1, len(bitext.keys)).astype(np.float32) ** 4)
    for direction in model.directions:
        direction.unlinked[:] = random.exponential(1, len(direction.unlinked))
        weights = direction.transitions[0].weights
        weights[:] = random.dirichlet(np.ones(weights.shape[1]), len(weights))
    return model, bitext


@needs_compiler
@pytest.mark.parametrize("agreement", [0, 1, 2, 5])
@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("encoder", [False, True])
def test_tables_give_the_results_of_numpy(agreement: int, jumps: bool, encoder: bool, in_numpy: Twins) -> None:
    model, bitext = hmm(agreement, encoder)
    found, links = model.expected(), [each for _, each in model.links(bitext)]
    counts = model.e_step(bitext, found, jumps)
    in_numpy()
    expected = model.expected()
    np.testing.assert_allclose(counts, model.e_step(bitext, expected, jumps), rtol=1e-4, atol=1e-5)
    for each, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(each.unlinked[:-1], other.unlinked[:-1], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(each.transitions[0].seen, other.transitions[0].seen, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(each.transitions[0].possible, other.transitions[0].possible, rtol=1e-4, atol=1e-4)
    for (_, slow), fast in zip(model.links(bitext), links, strict=True):
        for one, two in zip(slow, fast, strict=True):
            np.testing.assert_allclose(two, one, atol=3e-6)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_directions_that_can_never_agree_stay_finite(is_compiled: bool, in_numpy: Twins) -> None:
    """If every word must be linked, and one side has more words, no links fit both models."""
    model, bitext = hmm(100)
    model = replace(model, config=replace(model.config, null=0.0))
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
        return compiled.e_step(directions, (padded[0], padded[1]), agreement, None, vectors=vectors)[1]

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


CHECKOUT = Path(compiled.__file__).parents[2]
PROBE = "from synmt.alignment.compiled import library; print(library() is not None)"


def copied(checkout: Path) -> Path:
    """Copy what an installation needs into a new checkout, and return it."""
    left_out = shutil.ignore_patterns("_chains.*", "__pycache__", "models")
    shutil.copytree(CHECKOUT / "synmt", checkout / "synmt", ignore=left_out)
    shutil.copytree(CHECKOUT / "bin", checkout / "bin")
    for name in ("setup.py", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, checkout)
    return checkout


def build(checkout: Path, compiler: Path | str) -> None:
    command = [sys.executable, "setup.py", "build_ext", "--inplace"]
    environment = {**os.environ, "CC": str(compiler)}
    subprocess.run(command, cwd=checkout, env=environment, capture_output=True, check=True)


def probe(checkout: Path, **environment: str) -> tuple[bool, str]:
    """Return whether a new process has the library of a checkout, and what it notes."""
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": str(checkout), "HOME": str(checkout)} | environment
    done = subprocess.run([sys.executable, "-c", PROBE], cwd=checkout, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout == "True\n", done.stderr


def is_noted(found: tuple[bool, str], cause: str) -> bool:
    """Return whether NumPy is used, and one line says why."""
    has_library, said = found
    lines = [line for line in said.splitlines() if "Note: " in line]
    return not has_library and len(lines) == 1 and cause in lines[0] and "2.4 times as long" in lines[0]


def built(checkout: Path) -> Path:
    (path,) = (checkout / "synmt" / "alignment").glob("_chains.*")
    return path


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkout with a library that was compiled in a hurry, by ../quick-cc."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("checkouts")
    write_program(folder / "quick-cc", 'exec cc "$@" -O0')
    checkout = copied(folder / "checkout")
    build(checkout, folder / "quick-cc")
    return checkout


@needs_compiler
def test_an_installation_builds_it(checkout: Path) -> None:
    assert probe(checkout) == (True, "")
    assert probe(checkout, SYNMT_COMPILED="0") == (False, "")
    assert probe(checkout, CC="false", PATH="", XDG_CACHE_HOME=str(checkout / "cache")) == (True, "")
    assert not (checkout / "cache").exists()


@pytest.mark.parametrize("compiler", ["false", "/no/such/compiler"])
def test_an_installation_needs_no_compiler(compiler: str, tmp_path: Path) -> None:
    checkout = copied(tmp_path / "checkout")
    build(checkout, compiler)
    assert is_noted(probe(checkout), "it was not built when synmt was installed")


@needs_compiler
def test_an_incomplete_library_is_not_loaded(checkout: Path) -> None:
    """The loader would end the process with SIGBUS. Another build mends it, even if half a file looks up to date."""
    library = built(checkout)
    whole = library.read_bytes()
    for length in (0, 1, 63, 64, 1000, 4096, len(whole) // 4, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        library.write_bytes(whole[:length])
        assert is_noted(probe(checkout), "is incomplete; install synmt again"), length
    library.write_bytes(bytes(len(whole)))
    assert is_noted(probe(checkout), "invalid ELF header" if sys.platform == "linux" else "")
    (half,) = (checkout / "build").glob("lib*/synmt/alignment/_chains.*")
    half.write_bytes(whole[:5000])
    build(checkout, checkout.parent / "quick-cc")
    assert probe(checkout) == (True, "")


@pytest.mark.parametrize("compiler", ["cc", "false"])
def test_the_scripts_build_it_whenever_its_source_changes(compiler: str, checkout: Path, tmp_path: Path) -> None:
    """Also in an environment that belongs to another checkout. Without a compiler, they say so once."""
    mine, builds, environment = copied(tmp_path / "mine"), tmp_path / "builds", tmp_path / "environment"
    program = f'case "$*" in *build_ext*) echo >> {builds};; esac; exec {sys.executable} "$@"'
    write_program(environment / "bin" / "python", program)
    files = " ".join(str(mine / name) for name in ("pyproject.toml", "constraints.txt"))
    (environment / "synmt-installed").write_text(f"{checkout} {bash(f'cat {files} | cksum', mine).stdout}")
    quick = {"VIRTUAL_ENV": str(environment), "CC": str(checkout.parent / "quick-cc") if compiler == "cc" else "false"}
    for number, change in enumerate(["", "", "/* newer */\n", ""]):
        with (mine / "synmt" / "alignment" / "chains.c").open("a") as source:
            source.write(change)
        done = bash("source bin/environment", mine, **quick)
        assert done.returncode == 0 and len(builds.read_text().splitlines()) == 1 + (number > 1)
        assert done.stderr.count("cannot be compiled") == (compiler == "false" and number % 2 == 0)
        assert probe(mine)[0] == (compiler == "cc")


def bash(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, **environment}
    return subprocess.run(["bash", "-c", line], cwd=folder, env=known, capture_output=True, text=True)


@needs_compiler
def test_a_library_of_another_source_is_not_used(checkout: Path, tmp_path: Path) -> None:
    pulled = shutil.copytree(checkout, tmp_path / "pulled")
    with (pulled / "synmt" / "alignment" / "chains.c").open("a") as source:
        source.write("/* newer */\n")
    assert is_noted(probe(pulled), "was built from another chains.c")
    (pulled / "synmt" / "alignment" / "chains.c").unlink()  # as in a wheel
    assert probe(pulled) == (True, "")


def test_nothing_is_compiled_or_loaded_from_a_cache(tmp_path: Path) -> None:
    """Not even a library under the name that older versions gave it, in ./c for a relative XDG_CACHE_HOME."""
    for path in (CHECKOUT / "synmt").rglob("*.py"):
        assert not re.search(r"CDLL\((?!str\(path\))|subprocess.*\bcc\b|cdll\.|LoadLibrary", path.read_text()), path
    probe(CHECKOUT, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_note_says_once_that_there_is_no_compiled_code(tmp_path: Path) -> None:
    """With several processes, too."""
    checkout = copied(tmp_path / "checkout")
    pairs = "a b\tA B\nb a\tB A\na\tA\n" * 60
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    environment.pop("SYNMT_COMPILED", None)
    for words in (["align", "--method", "hmm", "--out", "model"], ["link", "model", "--jobs", "2"]):
        done = subprocess.run(
            [sys.executable, "-m", "synmt", *words, "--tokenizer", "none"],
            input=pairs, cwd=checkout, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0 and done.stdout.count("\n") == 180, done.stderr
        assert done.stderr.count("no compiled code") == 1 and f"synmt {words[0]}: no compiled code" in done.stderr
