"""What docs/extending.md adds from outside of synmt works."""

import re
import tomllib
from pathlib import Path

from tests.cli.commands import shell
from tests.packages import install
from tests.test_recipes import ROOT, SMALLER, blocks_of

PAGE = "docs/extending.md"
CORPUS = """
python -m synmt.demo --sentences 40 --held-out 6 --out .
for part in train dev test; do synmt parse --input conllu $part.en.conllu > $part.both.jsonl; done
"""


def blocks(language: str) -> list[str]:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def entry_points() -> str:
    """Return those of all tables of the page, as an installed package has them."""
    groups = [tomllib.loads(block)["project"]["entry-points"] for block in blocks("toml")]
    lines = []
    for group, names in (pair for each in groups for pair in each.items()):
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in names.items())]
    return "\n".join(lines) + "\n"


def test_an_idea_an_aligner_and_a_metric_come_from_outside(tmp_path: Path) -> None:
    path = install(tmp_path, "extension", "", entry_points())
    for code in blocks("python"):
        name = re.match(r"# (\S+)\n", code)
        assert name
        file = tmp_path / name[1]
        file.parent.mkdir(exist_ok=True)
        file.write_text(code, encoding="utf-8")
    script = CORPUS + "\n".join(blocks_of(PAGE))
    for long, short in SMALLER.items():
        script = script.replace(long, short)
    done = shell(f"set -euo pipefail\n{script}", tmp_path, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "test.depth.kel").read_text(encoding="utf-8").splitlines()) == 6
    assert len((tmp_path / "train.links").read_text(encoding="utf-8").splitlines()) == 40
    assert done.stdout.startswith("Exact|case:lower = ")
