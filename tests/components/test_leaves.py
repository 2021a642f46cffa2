"""A component is a leaf: without its file and its line in the registry, everything else still works."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from tests.leaves import TESTS, loaded, run, strings, with_tests, without
from tests.test_imports import PACKAGE

FOR_ALL = ("test_contract.py",)  # they name components, and skip those that do not exist
# Options, presets, citations and help of what is left, without torch.
OPTIONS = """
import sys
from synmt.cli.main import main
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.training.start import choose, of_components, owners
assert all(each.cites for known in (ENCODER_COMPONENTS, DECODER_COMPONENTS) for each in known.values())
choose({}), [owners(option) for options in of_components().values() for option in options]
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


def without_components(names: Iterable[tuple[str, str]], place: Path) -> None:
    """Make a copy of synmt that lacks components, each given by its side and name."""
    folder, known = PACKAGE / "components", list(names)
    lines = [f'        "{name}": "synmt.components.{side}.' for side, name in known]
    without(
        [folder / side / f"{name.replace('-', '_')}.py" for side, name in known], folder / "__init__.py", lines, place
    )


ALL = [("encoder", name) for name in ENCODER_COMPONENTS] + [("decoder", name) for name in DECODER_COMPONENTS]
LEAVES = [(side, name) for side, name in ALL if name != "sequence"]  # without components, a model is `sequence`


@pytest.mark.parametrize(("side", "name"), LEAVES)
def test_the_options_need_no_other_component(side: str, name: str, tmp_path: Path) -> None:
    without_components([(side, name)], tmp_path)
    run(["-c", OPTIONS], tmp_path)


def test_a_component_works_without_all_others(tmp_path: Path) -> None:
    without_components([each for each in LEAVES if each not in (("encoder", "lisa"), ("decoder", "gcn"))], tmp_path)
    run(["-c", LAWS], tmp_path)


def uses(file: Path, side: str, name: str) -> bool:
    """Return whether a file of tests is also about a component: it imports the component or has its name in a
    string."""
    module = f"{name.replace('-', '_')}.py"
    named = re.compile(rf"(?<![\w-]){name}(?![\w-])|\b{name.replace('-', '_')}_").search
    return PACKAGE / "components" / side / module in loaded(file) or any(map(named, strings(file)))


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
    without_components([leaf], tmp_path)
    with_tests(tmp_path)
    files = [str(tmp_path / "tests" / file.relative_to(TESTS)) for file in others(*leaf)]
    run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", *files], tmp_path)
    laws = [f"tests/components/{name}" for name in FOR_ALL]
    assert "passed" in run(["-m", "pytest", "-p", "no:cacheprovider", *laws], tmp_path)
