"""An idea's name occurs only in its own files."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from synmt.systems import SOURCE_IDEAS, TARGET_IDEAS
from tests.test_imports import PACKAGE, imported

NAMES = sorted({*SOURCE_IDEAS, *TARGET_IDEAS})
REGISTRY, PRESETS = PACKAGE / "systems" / "__init__.py", PACKAGE / "training" / "presets.py"
# Where a name is used by another place, or is a word that means something else there.
EXCEPTIONS = {
    "label-features": {"systems/pascal/__init__.py": "the systems of a paper's experiments"},
    "linearized": {"systems/mixed.py": "the sentences of mixed are linearized, or they are not"},
    "lisa": {"systems/pascal/__init__.py": "the systems of a paper's experiments"},
    "mask": {
        "inspection/strengths.py": "a picture of the parameters of this idea",
        "systems/label_masks/attention.py": "masks of labels are masks",
        "systems/named_masks/attention.py": "masks of the user's own are masks",
        "cli/cite.py": "an example in the help",
        "cli/train.py": "an example in the help",
    },
    "mixed": {
        "metrics/config.py": "the case of letters",
        "metrics/translations.py": "the case of letters",
        "systems/lisa/attention.py": "parents that are right for some words alone",
        "systems/lisa/__init__.py": "parents that are right for some words alone",
    },
    "multitask": {"systems/pascal/__init__.py": "the systems of a paper's experiments"},
    "parent": {
        "systems/supervised_heads/patterns.py": "a pattern that heads are taught",
        "trees/linearization.py": "a relation of nodes",
    },
    "tags": {
        "cli/parse.py": "parts of speech",
        "metrics/parses.py": "parts of speech",
        "parsers/stream.py": "parts of speech",
        "projection/grammar.py": "parts of speech",
    },
    "transitions": {
        "cli/main.py": "a command",
        "cli/transitions.py": "a command",
        "trees/transitions.py": "a function",
    },
}


def own_files(name: str) -> set[Path]:
    place = PACKAGE / "systems" / name.replace("-", "_")
    return {*place.rglob("*.py"), place.with_suffix(".py")}


def mentions(file: Path, name: str) -> Iterator[str]:
    """Yield what names an idea in a file: its module, its name as a string, alone or joined with others by +, and, in
    texts of files that are no idea's, its name as that of code or of a system."""
    module, text = ["synmt", "systems", name.replace("-", "_")], file.read_text(encoding="utf-8")
    yield from (".".join(parts) for parts in imported(file) if parts[:3] == module)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and name in node.value.split("+"):
            yield f"line {node.lineno}: {node.value!r}"
    if not file.is_relative_to(PACKAGE / "systems"):
        yield from re.findall(rf"`{name}`|--model {name}\b", text)


@pytest.mark.parametrize("name", NAMES)
def test_an_idea_is_named_in_its_own_place_alone(name: str) -> None:
    """But for the registry, the presets, and what EXCEPTIONS explains, of which none is out of date."""
    files = set(PACKAGE.rglob("*.py")) - own_files(name) - {REGISTRY, PRESETS}
    found = {str(file.relative_to(PACKAGE)): list(mentions(file, name)) for file in sorted(files)}
    assert {file for file, where in found.items() if where} == set(EXCEPTIONS.get(name, {})), found


def test_presets_name_no_idea_but_import_theirs() -> None:
    assert not [where for name in NAMES for where in mentions(PRESETS, name) if not where.startswith("synmt.systems.")]
