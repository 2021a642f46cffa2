"""A component's name occurs only in its own file, which imports the contract and nothing else of its room."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from tests.test_imports import PACKAGE, imported

NAMES = sorted({*ENCODER_COMPONENTS, *DECODER_COMPONENTS})
COMPONENTS = PACKAGE / "components"
REGISTRY = COMPONENTS / "__init__.py"
SIDES = COMPONENTS / "encoder", COMPONENTS / "decoder"
# A component may import only the contract, and the rooms for trees and text, which do not import torch.
ALLOWED = {"components.contract", "components.linearization", "components.output", "components.arcs", "trees", "text"}
# Other places that use a name, or where the word means something else.
EXCEPTIONS = {
    "distance": {"challenge/contrast.py": "a column", "runs/report.py": "the same column"},
    "label-features": {"components/encoder/pascal.py": "the systems of a paper's experiments"},
    "lisa": {"components/encoder/pascal.py": "the systems of a paper's experiments"},
    "mask": {"cli/cite.py": "an example in the help", "cli/train.py": "an example in the help"},
    "multitask": {"components/encoder/pascal.py": "the systems of a paper's experiments"},
    "parent": {
        "components/encoder/supervised_heads.py": "a pattern that heads are taught",
        "trees/linearization.py": "a relation of nodes",
    },
    "tags": {
        "cli/parse.py": "parts of speech",
        "metrics/parses.py": "parts of speech",
        "parsers/stream.py": "parts of speech",
        "projection/grammar.py": "parts of speech",
    },
    "transitions": {"cli/program.py": "a command", "trees/transitions.py": "a function"},
}


@dataclass(frozen=True)
class Source:
    """A file of synmt. modules: the names of its imports, split at dots; strings: its strings with their lines."""

    text: str
    modules: list[list[str]]
    strings: list[tuple[int, str]]


@cache
def source_of(file: Path) -> Source:
    text = file.read_text(encoding="utf-8")
    constants = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    strings = [(node.lineno, node.value) for node in constants if isinstance(node.value, str)]
    return Source(text, list(imported(file)), strings)


@cache
def own_files(name: str) -> set[Path]:
    return {(side / name.replace("-", "_")).with_suffix(".py") for side in SIDES}


def mentions(file: Path, name: str) -> Iterator[str]:
    """Yield the mentions of a component in a file: its module; its name as a string, alone or joined to others by +;
    and, in other rooms, its name in a text as that of code or of a system."""
    own, source = own_files(name), source_of(file)
    for parts in source.modules:
        module = PACKAGE.joinpath(*parts[1:])
        if own & {module.with_suffix(".py"), module / "__init__.py"}:
            yield ".".join(parts)
    for line, string in source.strings:
        if name in string.split("+"):
            yield f"line {line}: {string!r}"
    if not file.is_relative_to(COMPONENTS):
        yield from re.findall(rf"`{name}`|--model {name}\b", source.text)


@pytest.mark.parametrize("name", NAMES)
def test_components_are_named_only_in_their_own_file(name: str) -> None:
    """Only the registry and the EXCEPTIONS may mention it; no exception is out of date."""
    files = set(PACKAGE.rglob("*.py")) - own_files(name) - {REGISTRY}
    found = {str(file.relative_to(PACKAGE)): list(mentions(file, name)) for file in sorted(files)}
    assert {file for file, where in found.items() if where} == set(EXCEPTIONS.get(name, {})), found


@pytest.mark.parametrize(
    "file", sorted(file for side in SIDES for file in side.glob("*.py")), ids=lambda file: file.stem
)
def test_a_component_imports_the_contract_and_no_other_component(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    modules = [each.module for each in tree.body if isinstance(each, ast.ImportFrom) and each.module]
    own = [module.removeprefix("synmt.") for module in modules if module.startswith("synmt.")]
    assert {module for module in own if module not in ALLOWED and module.split(".")[0] not in ALLOWED} == set()
    assert "torch" not in {module.split(".")[0] for module in modules}
