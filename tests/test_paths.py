"""How many named functions and files of synmt a reader meets in one command. The counts may only fall."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Runs a command, imports aside, and prints the number of functions and of files that ran; with ONLY_OPTIONS, until the
# body of the command starts.
COUNT = """
import importlib, os, pkgutil, sys, threading
import synmt
from synmt.cli.main import main
root, seen = os.path.dirname(synmt.__file__), set()
def watch(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(root) and not code.co_name.startswith("<"):
        if os.environ.get("ONLY_OPTIONS") and code.co_qualname == "command":
            raise SystemExit(0)
        seen.add((code.co_filename, code.co_qualname))
for each in pkgutil.walk_packages(synmt.__path__, "synmt."):
    if "__main__" not in each.name:
        try:
            importlib.import_module(each.name)
        except ImportError:
            pass
out = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
threading.setprofile(watch), sys.setprofile(watch)
try:
    main()
except SystemExit as error:
    assert not error.code, error.code
finally:
    sys.setprofile(None)
sys.stdout.flush()
os.dup2(out, 1)
print(len(seen), len({file for file, _ in seen}))
"""
SMALL = ["--preset", "small", "--epochs", "1", "--updates", "2", "--batch-tokens", "400", "--merges", "100"]
HMM = ["align", "--method", "hmm", "train.en", "train.kel"]
PAIRS = ["--source", "train.en", "--target", "train.kel", "--dev-source", "dev.en", "--dev-target", "dev.kel"]
MOST = {  # functions and files
    "train": (548, 67), "translate": (312, 48), "align": (251, 39), "an option of align": (31, 13),
    "an option of train": (40, 14), "run": (296, 45),
}  # fmt: skip
RUN = """
seeds = [1]
data = { train = ["train.en", "train.kel"], dev = ["dev.en", "dev.kel"] }
tests = { t = ["test.en", "test.kel"] }
train = { preset = "small", epochs = 1, updates = 2, batch-tokens = 400, merges = 100 }
systems = { sequence = {}, pascal = {} }
"""


def counted(folder: Path, *command: str, **more: str) -> tuple[int, int]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **more}
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    functions, files = map(int, done.stdout.split())
    return functions, files


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paths")
    subprocess.run(
        [sys.executable, "-m", "synmt.demo", "--sentences", "60", "--held-out", "6", "--out", "."],
        cwd=folder,
        check=True,
    )
    (folder / "systems.toml").write_text(RUN)
    return folder


def test_a_reader_meets_no_more_functions_and_files_than_before(corpus: Path) -> None:
    found = {
        "train": counted(corpus, "train", *PAIRS, *SMALL, "--out", "model"),
        "translate": counted(corpus, "translate", "model", "test.en"),
        "align": counted(corpus, *HMM, "--hmm-encoder", "none"),
        "an option of align": counted(corpus, *HMM, "--threshold", "0.5", ONLY_OPTIONS="1"),
        "an option of train": counted(corpus, "train", *PAIRS, "--width", "64", "--out", "none", ONLY_OPTIONS="1"),
        "run": counted(corpus, "run", "systems.toml", "--out", "run"),
    }
    assert sum(each.is_file() for each in (corpus / "run").rglob("*")) < 30
    more = {name: each for name, each in found.items() if each[0] > MOST[name][0] or each[1] > MOST[name][1]}
    assert not more
