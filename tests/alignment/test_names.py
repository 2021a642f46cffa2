"""An aligner's name occurs only in its own files and in the registry, and in what `import synmt` provides."""

import ast
import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from synmt.alignment import ALIGNERS, PUBLISHED

PACKAGE = Path(__file__).parents[2] / "synmt"
REGISTRY = PACKAGE / "alignment" / "__init__.py"
WORDS = {"embeddings"}  # also English words, so they are names only in backticks, after --method and in imports
EXCEPT = {("eflomal", "cli/program.py"): "the package of this name, whose version `synmt --version` shows"}


def home(name: str) -> set[Path]:
    """Return the files of an aligner, and of the aligners that contain it or learn from its links."""
    users = [each for each, kind in ALIGNERS.items() if name in (*kind.parts, kind.guide)]
    files: set[Path] = set()
    for each in (name, *users):
        file = PACKAGE.parent / Path(*ALIGNERS[each].__module__.split(".")).with_suffix(".py")
        of_its_own = file.stem == "config"  # a folder of its own, not a file of several aligners
        files |= set(file.parent.glob("*.py")) if of_its_own else {file}
    return files


@cache
def without_examples(file: Path) -> str:
    """Return the text of a file without the examples in a command's help, which are documentation."""
    text = file.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EPILOG":
            text = text.replace(ast.get_source_segment(text, node) or "", "")
    return text


def pattern(name: str) -> re.Pattern[str]:
    module = ALIGNERS[name].__module__
    quoted = rf"`{name}`|--method {name}\b"
    imported = rf"\b{re.escape(module.removesuffix('.config'))}\.\w" if module.endswith(".config") else r"(?!)"
    return re.compile(f"{quoted}|{imported}" if name in WORDS else rf"(?<![\w-]){name}(?![\w-])|{imported}")


@pytest.mark.parametrize("name", [name for name in ALIGNERS if name != "auto"])  # also a device, a precision …
def test_names_of_aligners_occur_only_in_their_own_files(name: str) -> None:
    texts = {file: without_examples(file) for file in PACKAGE.rglob("*.py")}
    found = {file for file, text in texts.items() if pattern(name).search(text)}
    own = home(name)
    assert found & own, "its own files name it"
    listed = {REGISTRY} if name in PUBLISHED else {REGISTRY, PACKAGE / "__init__.py"}
    elsewhere = {str(file.relative_to(PACKAGE)) for file in found - own - listed}
    assert elsewhere == {file for each, file in EXCEPT if each == name}


def test_the_law_finds_all_kinds_of_names(tmp_path: Path) -> None:
    """It finds a name in a string, a comment, a docstring or an import, but not inside another name."""
    for name, text in product(ALIGNERS, ['"{}"', "`{}`", "--method {}"]):
        if name in WORDS and text == '"{}"':
            continue
        assert pattern(name).search(text.format(name))
        others = {each for each in ALIGNERS if pattern(each).search(text.format(name))}
        assert others == {name}
