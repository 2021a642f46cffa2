"""Imports run one way, as synmt/__init__.py says."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "synmt"
# From the ground; those of one floor do not import each other.
FLOORS = [
    ["streams", "interruption", "options", "registry"],
    ["device", "weights"],
    ["text"],
    ["trees"],
    ["metrics", "demo"],
    ["nn"],
    ["challenge", "parsers"],
    ["systems"],
    ["decoding"],
    ["training"],
    ["alignment", "inspection"],
    ["cli"],
    ["__main__"],
]
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}


def files(name: str) -> list[Path]:
    path = PACKAGE / name
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def imported(name: str) -> Iterator[list[str]]:
    """The modules that the files of a room import, each as the parts of its name."""
    for file in files(name):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.split(".")
            elif isinstance(node, ast.Import):
                yield from (each.name.split(".") for each in node.names)


@pytest.mark.parametrize("name", FLOOR_OF)
def test_a_room_imports_from_lower_floors_alone(name: str) -> None:
    others = {parts[1] for parts in imported(name) if parts[0] == "synmt" and len(parts) > 1} - {name}
    assert {each for each in others if FLOOR_OF[each] >= FLOOR_OF[name]} == set()


def test_every_room_has_a_floor() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {"__init__"} == set(FLOOR_OF)


@pytest.mark.parametrize("name", ["streams", "text", "trees", "metrics", "challenge"])
def test_the_lower_floors_know_nothing_of_torch(name: str) -> None:
    assert "torch" not in {parts[0] for parts in imported(name)}
