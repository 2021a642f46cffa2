import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import CODES, RECORD, shell, synmt

LINES = "He is my father.\nMy father is he.\n"
GOLD = "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))\n(NP (NN x))\n"
TEXTS = {"train.jsonl": f"{RECORD}\n\n", "codes.bpe": CODES, "gold.ptb": GOLD, "test.links": "0-0 3-1\n\n"}


@pytest.mark.parametrize(
    "name", ["parse", "linearize", "make-masks", "transitions", "bpe", "score", "significance", "challenge"]
)
def test_the_examples_of_help_run(name: str, tmp_path: Path) -> None:
    for file, text in TEXTS.items():
        (tmp_path / file).write_text(text)
    for file in ("train.en", "train.de", "base.de", "mask.de", "test.de", "test.en"):
        (tmp_path / file).write_text(LINES)
    subprocess.run(["gzip", "-k", tmp_path / "train.jsonl"], check=True)
    examples = synmt(name, "--help").stdout.split("Examples:\n")[1].splitlines()
    assert len(examples) >= 2
    for example in examples:
        done = shell(f"set -o pipefail; {example}", tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), example
