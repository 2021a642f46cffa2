"""A component is a leaf: without its file and its line in the registry, everything else still works."""

import ast
import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

import pytest

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from tests.test_imports import PACKAGE

TESTS = PACKAGE.parent / "tests"
FOR_ALL = ("test_contract.py",)  # they name components, and skip those that do not exist
# Options, presets, citations and help of what is left, without torch.
OPTIONS = """
import sys
from synmt.cli.main import main
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.training.start import choose, owners
assert all(each.cites for known in (ENCODER_COMPONENTS, DECODER_COMPONENTS) for each in known.values())
choose({}), owners("tree-dropout"), owners("prefixes")
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


ROOMS = "components", "nn", "model", "data"  # of tests that must hold without any one component


def without(names: Collection[tuple[str, str]], place: Path) -> None:
    """Make a copy of synmt that lacks components, each given by its side and name."""
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


def run(arguments: Sequence[str], place: Path) -> str:
    """Run Python on the copy, and return its output."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=place, env={"PYTHONPATH": str(place), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


ALL = [("encoder", name) for name in ENCODER_COMPONENTS] + [("decoder", name) for name in DECODER_COMPONENTS]
LEAVES = [(side, name) for side, name in ALL if name != "sequence"]  # without components, a model is `sequence`


@pytest.mark.parametrize(("side", "name"), LEAVES)
def test_the_options_need_no_other_component(side: str, name: str, tmp_path: Path) -> None:
    without([(side, name)], tmp_path)
    run(["-c", OPTIONS], tmp_path)


def test_a_component_works_without_all_others(tmp_path: Path) -> None:
    without([each for each in LEAVES if each not in (("encoder", "lisa"), ("decoder", "gcn"))], tmp_path)
    run(["-c", LAWS], tmp_path)


@cache
def loaded(file: Path) -> frozenset[Path]:
    """Return the files of tests and components that a file of tests imports when it is loaded, itself included."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    names = [f"{node.module}.{each.name}" for node in body if isinstance(node, ast.ImportFrom) for each in node.names]
    parts = [name.split(".") for name in names if name.startswith(("tests.", "synmt.components."))]
    places = [PACKAGE.parent.joinpath(*each) for each in parts]
    found = {each for place in places for each in (place.with_suffix(".py"), place.parent.with_suffix(".py"))}
    ours = {each for each in found if each.exists()}
    return frozenset({file}.union(ours, *(loaded(each) for each in ours if each.is_relative_to(TESTS))))


def uses(file: Path, side: str, name: str) -> bool:
    """Return whether a file of tests is also about a component: it imports the component or has its name in a
    string."""
    module = f"{name.replace('-', '_')}.py"
    text = file.read_text(encoding="utf-8")
    strings = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    named = re.compile(rf"(?<![\w-]){name}(?![\w-])|\b{name.replace('-', '_')}_").search
    return PACKAGE / "components" / side / module in loaded(file) or any(
        isinstance(each, str) and named(each) for each in strings
    )


def others(side: str, name: str) -> list[Path]:
    """Return the files of tests that are not about a component."""
    files = [file for room in ROOMS for file in sorted((TESTS / room).glob("test_*.py"))]
    return [file for file in files if file.name in FOR_ALL or not uses(file, side, name)]


@pytest.mark.parametrize(("side", "name"), LEAVES)
def test_other_tests_load_no_file_of_a_component(side: str, name: str) -> None:
    """So these tests can run without the component; tests.tiny takes its systems from the registry."""
    file = PACKAGE / "components" / side / f"{name.replace('-', '_')}.py"
    assert [each for each in others(side, name) if file in loaded(each)] == []


def some_leaves() -> list[tuple[str, str]]:
    """Return one component of each side, chosen by the content of all: each change of a component chooses anew."""
    files = sorted((PACKAGE / "components").rglob("*.py"))
    number = int.from_bytes(hashlib.sha256(b"".join(file.read_bytes() for file in files)).digest())
    sides = [[each for each in LEAVES if each[0] == side] for side in ("encoder", "decoder")]
    return [each[number % len(each)] for each in sides]


@pytest.mark.parametrize("side", [0, 1])
def test_other_tests_hold_without_a_component(side: int, tmp_path: Path) -> None:
    leaf = some_leaves()[side]
    without([leaf], tmp_path)
    shutil.copytree(TESTS, tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("docs", "pyproject.toml"):
        (tmp_path / name).symlink_to(PACKAGE.parent / name)
    files = [str(tmp_path / "tests" / file.relative_to(TESTS)) for file in others(*leaf)]
    run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", *files], tmp_path)
    laws = [f"tests/components/{name}" for name in FOR_ALL]
    assert "passed" in run(["-m", "pytest", "-p", "no:cacheprovider", *laws], tmp_path)
