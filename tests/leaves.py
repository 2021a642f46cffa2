"""Copies of synmt without some of its files, and the tests that can run on them."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

from tests.test_imports import PACKAGE

ROOT = PACKAGE.parent
TESTS = ROOT / "tests"


def without(leaves: Iterable[Path], registry: Path, lines: Collection[str], place: Path) -> None:
    """Make a copy of synmt that lacks files or folders, and the lines of a registry that start with these texts."""
    copy = place / "synmt"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for leaf in leaves:
        path = copy / leaf.relative_to(PACKAGE)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    file = copy / registry.relative_to(PACKAGE)
    known = file.read_text(encoding="utf-8").splitlines(keepends=True)
    assert all(any(line.startswith(start) for line in known) for start in lines)
    file.write_text("".join(line for line in known if not line.startswith(tuple(lines))), encoding="utf-8")


def with_tests(place: Path) -> None:
    """Add the tests, and the files that they read, to a copy."""
    shutil.copytree(TESTS, place / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("docs", "pyproject.toml"):
        (place / name).symlink_to(ROOT / name)


def run(arguments: Sequence[str], place: Path) -> str:
    """Run Python on a copy, and return its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
    environment = {"PYTHONPATH": str(place), "PATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *arguments], cwd=place, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@cache
def loaded(file: Path) -> frozenset[Path]:
    """Return the files of tests and of synmt that a file of tests imports when it is loaded, itself included, with the
    imports of other tests."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    names = [f"{node.module}.{each.name}" for node in body if isinstance(node, ast.ImportFrom) for each in node.names]
    places = [ROOT.joinpath(*name.split(".")) for name in names if name.startswith(("tests.", "synmt."))]
    found = {each for place in places for each in (place.with_suffix(".py"), place.parent.with_suffix(".py"))}
    ours = {each for each in found if each.exists()}
    return frozenset({file}.union(ours, *(loaded(each) for each in ours if each.is_relative_to(TESTS))))


def strings(file: Path) -> list[str]:
    """Return the texts in a file's code."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
