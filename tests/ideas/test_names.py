"""An idea's name occurs only in its own files."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from synmt.ideas import SOURCE_IDEAS, TARGET_IDEAS
from tests.test_imports import PACKAGE, imported

NAMES = sorted({*SOURCE_IDEAS, *TARGET_IDEAS})
IDEAS, PRESETS = PACKAGE / "ideas", PACKAGE / "training" / "presets.py"
REGISTRY = IDEAS / "__init__.py"
SIDES = (IDEAS, IDEAS / "source", IDEAS / "target")  # ideas of both sides are outside both folders
# Other places that use a name, or where the word means something else.
EXCEPTIONS = {
    "label-features": {"ideas/source/pascal/__init__.py": "the systems of a paper's experiments"},
    "lisa": {"ideas/source/pascal/__init__.py": "the systems of a paper's experiments"},
    "mask": {
        "inspection/strengths.py": "a picture of the parameters of this idea",
        "ideas/source/label_masks/attention.py": "masks of labels are masks",
        "ideas/source/named_masks/attention.py": "masks of the user's own are masks",
        "cli/cite.py": "an example in the help",
        "cli/train.py": "an example in the help",
    },
    "multitask": {"ideas/source/pascal/__init__.py": "the systems of a paper's experiments"},
    "parent": {
        "ideas/source/supervised_heads/patterns.py": "a pattern that heads are taught",
        "trees/linearization.py": "a relation of nodes",
    },
    "tags": {
        "cli/parse.py": "parts of speech",
        "metrics/parses.py": "parts of speech",
        "parsers/stream.py": "parts of speech",
        "projection/grammar.py": "parts of speech",
    },
    "transitions": {"cli/main.py": "a command", "trees/transitions.py": "a function"},
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
    places = [side / name.replace("-", "_") for side in SIDES]
    return {file for place in places for file in (*place.rglob("*.py"), place.with_suffix(".py"))}


def mentions(file: Path, name: str) -> Iterator[str]:
    """Yield the mentions of an idea in a file: its module; its name as a string, alone or joined to others by +; and in
    texts of files that belong to no idea, its name as the name of code or of a system."""
    own, source = own_files(name), source_of(file)
    for parts in source.modules:
        module = PACKAGE.joinpath(*parts[1:])
        if own & {module.with_suffix(".py"), module / "__init__.py"}:
            yield ".".join(parts)
    for line, string in source.strings:
        if name in string.split("+"):
            yield f"line {line}: {string!r}"
    if not file.is_relative_to(IDEAS):
        yield from re.findall(rf"`{name}`|--model {name}\b", source.text)


@pytest.mark.parametrize("name", NAMES)
def test_ideas_are_named_only_in_their_own_place(name: str) -> None:
    """Only the registry, the presets and the EXCEPTIONS may mention it; no exception is out of date."""
    files = set(PACKAGE.rglob("*.py")) - own_files(name) - {REGISTRY, PRESETS}
    found = {str(file.relative_to(PACKAGE)): list(mentions(file, name)) for file in sorted(files)}
    assert {file for file, where in found.items() if where} == set(EXCEPTIONS.get(name, {})), found


def test_presets_import_ideas_without_naming_them() -> None:
    assert not [where for name in NAMES for where in mentions(PRESETS, name) if not where.startswith("synmt.ideas.")]
