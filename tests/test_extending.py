"""What docs/extending.md adds to a copy of synmt works there."""

import re
import shutil
from pathlib import Path

from tests.cli.commands import shell
from tests.test_recipes import ROOT, SMALLER, shell_blocks

PAGE = "docs/extending.md"
CORPUS = """
python -m synmt.demo --sentences 60 --held-out 8 --out .
for part in train dev test; do synmt parse --input conllu $part.en.conllu > $part.both.jsonl; done
"""


def files() -> list[tuple[str, str]]:
    """The page's pieces of code, each with the file that it belongs to."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    return re.findall(r"^```python\n# (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_an_idea_is_one_file_and_one_line(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "synmt", tmp_path / "synmt", ignore=shutil.ignore_patterns("__pycache__", "models"))
    for name, code in files():
        path = tmp_path / name
        if path.exists():
            registry = path.read_text(encoding="utf-8")
            code = registry.replace("SOURCE_IDEAS = {\n", f"SOURCE_IDEAS = {{\n{code}")
        path.write_text(code, encoding="utf-8")
    (script,) = shell_blocks(PAGE)
    script = CORPUS + script
    for long, short in SMALLER.items():
        script = script.replace(long, short)
    done = shell(f"set -euo pipefail\n{script}", tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "test.depth.kel").read_text(encoding="utf-8").splitlines()) == 8
