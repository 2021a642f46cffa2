"""The commands of README.md and docs/ run, on a small corpus and with a short training.

Those of README.md are cold: each is a Python of its own.
"""

import os
import re
import subprocess
import sys
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
    "synmt run systems.toml --jobs 2": f"sed -i '{SHORTER}' systems.toml\nsynmt run systems.toml",
    "--minutes 3": f"--updates 2 --merges 300 {SMALL}",
    "--minutes 6": f"--updates 4 --merges 300 {SMALL}",
    "--jobs 2 train.en": "train.en",
    "--jobs 2 test.en": "test.en",
    "synmt translate parent": "synmt translate parent --beam 2 --max-length-offset 5",
}


def shell_blocks(page: str, heading: str = "") -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```sh\n(.*?)^```", text[text.index(heading) :], re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "heading"), [("README.md", "## A first pipe"), *((f"docs/{name}.md", "") for name in STORIES)]
)
def test_every_block_of_a_page_runs(page: str, heading: str, tmp_path: Path) -> None:
    blocks = shell_blocks(page, heading)
    assert blocks
    script = "\n".join(blocks)
    for long, short in SMALLER.items():
        script = script.replace(long, short)
    programs = tmp_path / "bin"
    if page != "README.md":
        write_program(programs / "synmt", start_synmt())
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
