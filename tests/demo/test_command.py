"""`python -m synmt.demo` in a shell."""

import subprocess
import sys
from pathlib import Path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "synmt.demo", *arguments], capture_output=True, text=True, check=False)


def test_writes_the_corpus_and_nothing_to_stdout(tmp_path: Path) -> None:
    done = run("--sentences", "20", "--held-out", "5", "--seed", "3", "--out", str(tmp_path / "new" / "folder"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len((tmp_path / "new" / "folder" / "train.kel").read_text().splitlines()) == 20
    assert len((tmp_path / "new" / "folder" / "dev.kel").read_text().splitlines()) == 5


def test_an_unwritable_folder_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("--out", str(tmp_path / "file" / "folder"))
    assert done.returncode == 1
    assert done.stderr == f"synmt.demo: {tmp_path / 'file' / 'folder'}: Not a directory\n"
