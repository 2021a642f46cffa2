"""Imports run one way, as described in synmt/__init__.py, and have no cycles, even inside a folder."""

import ast
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path

import pytest

from synmt.api.given import RuntimeConfig
from synmt.options import option_names

PACKAGE = Path(__file__).parents[1] / "synmt"
# From the lowest floor to the highest. Folders on one floor do not import each other.
FLOORS = [
    ["streams", "registry"],
    ["citations", "options"],
    ["device", "parameters", "text"],
    ["trees", "nn"],
    ["metrics", "demo"],
    ["challenge", "parsers", "components"],
    ["model"],
    ["data"],
    ["projection", "search"],
    ["training"],
    ["alignment", "inspection"],
    ["api", "testing"],
    ["runs"],
    ["cli"],
    ["__main__"],
]
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}
FREE_OF_TORCH = ["streams", "citations", "options", "registry", "text", "trees", "metrics", "challenge"]


def files(name: str) -> list[Path]:
    path = PACKAGE / name
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def imported(file: Path, running: bool = False) -> Iterator[list[str]]:
    """Yield the modules that a file imports anywhere, each as the parts of its name. running: leave out imports for
    type checkers only."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    left_out = {inner for node in for_types if running for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if node in left_out:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")
        elif isinstance(node, ast.Import):
            yield from (each.name.split(".") for each in node.names)


def imported_files(file: Path) -> set[Path]:
    """Return the files of synmt that a file imports when it runs. A folder stands for its `__init__.py`."""
    places = [PACKAGE.joinpath(*parts[1:]) for parts in imported(file, running=True) if parts[0] == "synmt"]
    both = [each for place in places for each in (place.with_suffix(".py"), place / "__init__.py")]
    return {each for each in both if each.exists()}


@pytest.mark.parametrize("name", FLOOR_OF)
def test_folders_import_only_from_lower_floors(name: str) -> None:
    modules = (parts for file in files(name) for parts in imported(file))
    others = {parts[1] for parts in modules if parts[0] == "synmt" and len(parts) > 1} - {name}
    assert {each for each in others if FLOOR_OF[each] >= FLOOR_OF[name]} == set()


def test_every_folder_has_a_floor() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {"__init__"} == set(FLOOR_OF)


def test_no_name_of_a_class_is_defined_twice() -> None:
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in PACKAGE.rglob("*.py")}
    classes = [
        (node.name, file) for file, tree in trees.items() for node in ast.walk(tree) if type(node) is ast.ClassDef
    ]
    places = {name: [str(file) for each, file in classes if each == name] for name, _ in classes}
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_no_files_import_each_other_in_a_cycle() -> None:
    reached = {file: imported_files(file) for file in PACKAGE.rglob("*.py")}
    while True:
        further = {file: seen.union(*(reached[each] for each in seen)) for file, seen in reached.items()}
        if further == reached:
            break
        reached = further
    assert [str(file.relative_to(PACKAGE)) for file, seen in reached.items() if file in seen] == []


# Names by which a folder of columns records what it was made from: a message shows the one that differs.
NAMED_FROM_BELOW = {
    ("data", name) for name in ("codes", "init", "max-length", "merges", "subword-dropout", "tree-dropout")
}
OWN_OPTIONS = {("challenge", "format"), ("parsers", "minutes"), ("parsers", "min-confidence")}  # of the same name


def test_no_message_names_an_option_of_a_config_on_a_higher_floor() -> None:
    """Options that are not fields of a config, such as --out, and those of RuntimeConfig are keywords of functions."""
    rooms: dict[str, set[str]] = {}  # whose configs have an option
    below = [(room, file) for room in FLOOR_OF.keys() - {"cli"} for file in files(room) if file.stem != "__main__"]
    for room, file in below:
        for kind in vars(importlib.import_module(module_of(file))).values():
            if is_dataclass(kind) and isinstance(kind, type) and kind.__module__ == module_of(file):
                for option in option_names(kind):
                    rooms.setdefault(option, set()).add(room)
    shared, found = set(option_names(RuntimeConfig)), set()
    for name, file in below:
        for text in strings_in(file):
            options = set(re.findall(r"(?<![\w-])--([a-z][\w-]*)", text)) & rooms.keys() - shared
            found |= {
                (name, each) for each in options if min(FLOOR_OF[other] for other in rooms[each]) > FLOOR_OF[name]
            }
    assert found == NAMED_FROM_BELOW | OWN_OPTIONS


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def strings_in(file: Path) -> Iterator[str]:
    """Yield the strings of a file that are no docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    alone = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
            yield node.value


@pytest.mark.parametrize("name", FREE_OF_TORCH)
def test_lower_floors_do_not_import_torch(name: str) -> None:
    assert "torch" not in {parts[0] for file in files(name) for parts in imported(file)}


@pytest.mark.parametrize("given", [{}, {"GOMP_SPINCOUNT": "7"}])
def test_importing_synmt_sets_how_long_openmp_spins_unless_the_user_has(given: dict[str, str]) -> None:
    """This must happen before PyTorch loads."""
    names = "GOMP_SPINCOUNT", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
    environment = {name: value for name, value in os.environ.items() if name not in names} | given
    program = "import os, sys, synmt; print(os.environ['GOMP_SPINCOUNT'], 'torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [given.get("GOMP_SPINCOUNT", "2000"), "False"]
