"""A component is a leaf: without its file and its line in the registry, everything else still works."""

import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from tests.test_imports import PACKAGE

# Options, presets, citations and help of what is left, without torch.
OPTIONS = """
import sys
from synmt.cli.main import main
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.training.presets import bringing, owners
assert all(each.cites for known in (ENCODER_COMPONENTS, DECODER_COMPONENTS) for each in known.values())
owners(), bringing()
sys.argv = ["synmt", "train", "--help-all"]
main()
"""
LAWS = """
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.testing import check_component
assert len(ENCODER_COMPONENTS) == 2 and len(DECODER_COMPONENTS) == 2
check_component("lisa")
check_component("gcn")
"""


def run_without(names: Collection[tuple[str, str]], code: str, place: Path) -> None:
    """Run code with a copy of synmt that lacks components, each given by its side and name."""
    copy = place / "synmt"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    registry = copy / "components" / "__init__.py"
    text = registry.read_text(encoding="utf-8")
    for side, name in names:
        (copy / "components" / side / f"{name.replace('-', '_')}.py").unlink()
        start = f'        "{name}": "synmt.components.{side}.'
        kept = [line for line in text.splitlines(keepends=True) if not line.startswith(start)]
        text = "".join(kept)
    registry.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, env={"PYTHONPATH": str(place), "PATH": ""},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


ALL = [("encoder", name) for name in ENCODER_COMPONENTS] + [("decoder", name) for name in DECODER_COMPONENTS]
LEAVES = [(side, name) for side, name in ALL if name != "sequence"]  # without components, a model is `sequence`


@pytest.mark.parametrize(("side", "name"), LEAVES)
def test_the_options_need_no_other_component(side: str, name: str, tmp_path: Path) -> None:
    run_without([(side, name)], OPTIONS, tmp_path)


def test_a_component_works_without_all_others(tmp_path: Path) -> None:
    run_without([each for each in LEAVES if each not in (("encoder", "lisa"), ("decoder", "gcn"))], LAWS, tmp_path)
