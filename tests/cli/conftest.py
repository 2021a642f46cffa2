"""A model trained from the command line, for tests that need one."""

from pathlib import Path
from shlex import split

import pytest

from tests.cli.commands import synmt
from tests.cli.corpora import write_pairs

TINY = split(
    "--preset small --width 32 --feedforward 64 --heads 2 --encoder-layers 1 --decoder-layers 1 --merges 200"
    " --batch-tokens 200 --dropout 0 --word-dropout 0 --learning-rate 0.01 --warmup 10 --epochs 40"
    " --validate-every 60"
)


@pytest.fixture(scope="session")
def mask_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a `mask` model that has learnt its few training pairs by heart."""
    folder = tmp_path_factory.mktemp("mask")
    source, target = write_pairs(folder)
    files = ["--source", source, "--target", target, "--dev-source", source, "--dev-target", target]
    done = synmt("train", "--model", "mask", *files, "--target-language", "de", *TINY, "--out", folder / "model")
    assert done.returncode == 0, done.stderr
    return folder / "model"


@pytest.fixture(scope="session")
def letter_aligner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an aligner that links letters to their capitals."""
    folder = tmp_path_factory.mktemp("letters") / "model"
    pairs = ["a b c\tA B C", "b c\tB C", "c a\tC A", "a\tA", "b a\tB A"] * 4
    text = "".join(f"{pair}\n" for pair in pairs)
    done = synmt("align", "--method", "hmm", "--tokenizer", "none", "--out", folder, text=text)
    assert done.returncode == 0, done.stderr
    return folder
