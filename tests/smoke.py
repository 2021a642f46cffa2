"""`python tests/smoke.py`: tries the installed synmt, away from the checkout, in under a minute.

Builds of wheels run this in an environment that has only synmt and what it depends on, so it imports nothing of tests/.
"""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

SMALL = "--preset small --width 16 --heads 2 --feedforward 16 --merges 50 --updates 2 --batch-tokens 200"
PAIRS = "--source train.en --target train.kel --dev-source dev.en --dev-target dev.kel"
SENTENCES, HELD_OUT = 60, 6
COMMANDS = {  # and the file that keeps the output
    "--version": "versions",
    "align --method hmm --hmm-encoder none train.en train.kel": "train.links",
    "parse test.en": "test.en.jsonl",
    "linearize test.en.jsonl": "test.trees",
    f"train --model pascal {PAIRS} {SMALL} --out model": "nothing",
    "translate model test.en.jsonl": "test.found.kel",
    "score test.found.kel --references test.kel": "scores",
    "inspect curves model/log.tsv --format svg": "curves.svg",
}


def try_all(folder: Path, run: Callable[..., bytes]) -> None:
    """Run the commands on the demo corpus in a folder; run: runs one there, given its arguments, and returns its
    output."""
    for command, output in COMMANDS.items():
        (folder / output).write_bytes(run(*command.split()))
    found = {name: (folder / name).read_text(encoding="utf-8") for name in COMMANDS.values()}
    links, trees, translations = (found[name].splitlines() for name in ("train.links", "test.trees", "test.found.kel"))
    assert len(links) == SENTENCES and any("-" in line for line in links), links
    assert len(trees) == HELD_OUT and all(line.startswith("(") for line in trees), trees
    assert len(translations) == HELD_OUT, translations
    assert found["scores"].startswith("BLEU") and "</svg>" in found["curves.svg"], found


def main() -> None:
    with TemporaryDirectory() as name:

        def python(*arguments: str) -> bytes:
            return subprocess.run([sys.executable, *arguments], cwd=name, check=True, stdout=subprocess.PIPE).stdout

        python("-m", "synmt.demo", "--sentences", f"{SENTENCES}", "--held-out", f"{HELD_OUT}", "--out", ".")
        try_all(Path(name), partial(python, "-m", "synmt"))


if __name__ == "__main__":
    main()
