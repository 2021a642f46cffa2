"""The extensions in docs/extending.md work from outside synmt."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.cli.commands import shell
from tests.packages import install
from tests.test_recipes import SMALLER, blocks_of

PAGE = "docs/extending.md"
CORPUS = """
python -m synmt.demo --sentences 40 --held-out 6 --out .
for part in train dev test; do synmt convert --input conllu $part.en.conllu > $part.both.jsonl; done
"""

# Searches with the model of the page. All hypotheses must end with a complete word and have the same score as in forced
# decoding, which reads whole targets as in training.
SEARCHED_AND_FORCED = """
from pathlib import Path
import torch
from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.scores import ForcedPair, force
from synmt.search.translation import Translator
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.trees.record import read_record

folder = ModelFolder.open(Path("inside"), ModelConfig)
translator = Translator.open(folder, torch.device("cpu"), SearchConfig(), TranslateConfig())
torch.nn.init.normal_(translator.model.decoder.parts["inside"].written.weight)
lines = Path("test.both.jsonl").read_text().splitlines()
sources = [translator.features(read_record(line, partial=True)) for line in lines]
compared = 0
for source, found in zip(sources, beam_search(
    translator.model, translator.batch(sources), SearchConfig(max_length_offset=3), translator.output
)):
    for each in found[:4]:
        entries = folder.vocabulary.decode(each.ids)
        assert entries and not entries[-1].endswith("@@")
        (forced,) = force(translator, [ForcedPair(source, entries)])
        either = forced.total(), sum(forced.log_probabilities[:-1])  # with an end, or cut at the limit
        assert min(abs(each.log_probability - total) for total in either) < 1e-3, (each, either)
        compared += 1
assert compared >= len(lines)
"""


def entry_points() -> str:
    """Return the entry points from all tables of the page, in the format of an installed package."""
    groups = [tomllib.loads(block)["project"]["entry-points"] for block in blocks_of(PAGE, "toml")]
    lines = []
    for group, names in (pair for each in groups for pair in each.items()):
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in names.items())]
    return "\n".join(lines) + "\n"


def test_extensions_work_from_outside(tmp_path: Path) -> None:
    path = install(tmp_path, "extension", "", entry_points())
    for code in blocks_of(PAGE, "python"):
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
    assert len((tmp_path / "test.linked.kel").read_text(encoding="utf-8").splitlines()) == 6
    assert len((tmp_path / "train.links").read_text(encoding="utf-8").splitlines()) == 40
    assert done.stdout.startswith("Exact|case:lower = ")
    assert len((tmp_path / "test.inside.kel").read_text(encoding="utf-8").splitlines()) == 6
    same = subprocess.run(
        [sys.executable, "-c", SEARCHED_AND_FORCED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert same.returncode == 0, same.stderr


def test_a_component_takes_fewer_than_sixty_lines() -> None:
    for name in ("linked", "upward", "inside"):
        (code,) = (block for block in blocks_of(PAGE, "python") if block.startswith(f"# synmt_{name}.py"))
        assert sum(bool(line.strip()) for line in code.splitlines()) < 60
