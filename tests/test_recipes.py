"""The commands in docs/ run, on a small corpus and with short training runs."""

import os
import re
import subprocess
import sys
from doctest import ELLIPSIS, DocTestParser, DocTestRunner
from io import StringIO
from pathlib import Path

import pytest

from tests.cli.commands import start_synmt, write_program

ROOT = Path(__file__).parents[1]
STORIES = "paper", "pipe", "treebank", "recipes"
SMALL = "--width 32 --feedforward 32 --encoder-layers 2 --decoder-layers 2"
SHORTER = "s/seeds = .*/seeds = [1]/; s/epochs = .*/updates = 2/; s/1000/300/; s/width = .*/width = 16/"
SMALLER = {
    "synmt.demo --out .": "synmt.demo --sentences 40 --held-out 4 --out .",
    "synmt.demo --out demo": "synmt.demo --sentences 40 --held-out 4 --out demo",
    "synmt run systems.toml --jobs 3": f"sed -i '{SHORTER}' systems.toml\nsynmt run systems.toml",
    "--minutes 3": f"--updates 2 --merges 300 {SMALL}",
    "--minutes 6": f"--updates 4 --merges 300 {SMALL}",
    "--jobs 2 train.en": "train.en",
    "jsonl luke.es-en.tsv": "jsonl --method hmm <(head -50 luke.es-en.tsv)",
    "--jobs 2 test.en": "test.en",
    "synmt translate parent": "synmt translate parent --beam 2 --max-length-offset 5",
}


def blocks_of(page: str, language: str = "sh") -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", STORIES)
def test_every_block_of_a_page_runs(name: str, tmp_path: Path) -> None:
    run_blocks(f"docs/{name}.md", tmp_path)


def test_the_python_page_is_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_blocks("docs/python.md", tmp_path)
    monkeypatch.chdir(tmp_path)
    session = "".join(blocks_of("docs/python.md", language="python"))
    examples = DocTestParser().get_doctest(session, {}, "python.md", "docs/python.md", 0)
    said = StringIO()
    with pytest.warns(UserWarning, match=r"^1 bad line left empty$"):
        done = DocTestRunner(optionflags=ELLIPSIS).run(examples, out=said.write)
    assert (done.attempted > 15, done.failed) == (True, 0), said.getvalue()


def run_blocks(page: str, folder: Path) -> None:
    """Run the shell blocks of a page, one after the other."""
    blocks = blocks_of(page)
    assert blocks
    # With pipefail, a command would fail if it is still writing when `head` exits.
    script = "\n".join(['head() { command head "$@"; cat > /dev/null; }', *blocks])
    for long, short in SMALLER.items():
        script = script.replace(long, short)
    programs = folder / "bin"
    write_program(programs / "synmt", start_synmt())
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
