"""A published aligner is a leaf: without its file, its line in the registry and its pupils, everything else works."""

import hashlib
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from synmt.alignment import ALIGNERS, PUBLISHED
from tests.alignment.bitexts import bitext
from tests.alignment.embeddings.test_aligner import encoder
from tests.alignment.test_statistical import MODULES
from tests.leaves import ROOT, TESTS, loaded, run, strings, with_tests, without
from tests.test_imports import PACKAGE, imported

__all__ = ["encoder"]
ROOM = PACKAGE / "alignment"
FOLDER = ROOM / "published"
BASE = [FOLDER / "__init__.py", FOLDER / "presets.py", *(FOLDER / "attention").glob("*.py")]
ALL = list(PUBLISHED)
ROOMS = "alignment", "api", "inspection", "projection"  # of tests that must hold without any one aligner
LAWS = ["test_registry.py", "test_names.py", "published/test_laws.py"]  # over all methods that exist
# Options, presets, teachers, citations and help of what is left, without torch.
OPTIONS = """
import sys
from synmt.alignment import ALIGNERS
from synmt.alignment.choice import known, owners
from synmt.citations import cited
from synmt.cli.main import main
assert all(cited(ALIGNERS, [name]) for name in ALIGNERS)
assert all(each.guide in {"", *ALIGNERS} for each in ALIGNERS.values())
[owners(option) for option in known()]
sys.argv = ["synmt", "align", "--help-all"]
try:
    main()
finally:
    assert "torch" not in sys.modules
"""
# Links of the pairs by each method, in JSON.
LINKS = """
import json, sys
import synmt
from synmt.alignment import ALIGNERS
pairs, methods = json.loads(sys.argv[1])
text = synmt.TextConfig(tokenizer="none")
chosen = {name: ALIGNERS[name](**options) if options else name for name, options in methods.items()}
found = {name: synmt.align(pairs, method, text=text) for name, method in chosen.items()}
print(json.dumps({name: [str(each) for each in links] for name, links in found.items()}))
"""


def leaf(name: str) -> Path:
    """Return the file of a published aligner, or its folder."""
    path = FOLDER / PUBLISHED[name].partition(":")[0].split(".")[3]
    return path if path.is_dir() else path.with_suffix(".py")


def files(name: str) -> set[Path]:
    return set(leaf(name).glob("*.py")) if leaf(name).is_dir() else {leaf(name)}


def with_pupils(name: str) -> list[str]:
    """Return an aligner, and the aligners that learn from its links by default."""
    pupils = [each for each in PUBLISHED if ALIGNERS[each].guide == name]
    return [name, *(more for pupil in pupils for more in with_pupils(pupil))]


def without_aligners(names: list[str], place: Path) -> None:
    """Make a copy that lacks these aligners; if these are all, also their folder."""
    leaves = [FOLDER] if names == ALL else map(leaf, names)
    without(leaves, ROOM / "__init__.py", [f'    "{name}": "' for name in names], place)


def others(names: list[str]) -> list[Path]:
    """Return the files of tests that neither import these aligners nor have their names in a string."""
    gone = {*FOLDER.rglob("*.py")} if names == ALL else {file for name in names for file in files(name)}
    named = re.compile("|".join(rf"(?<![\w-]){name}(?![\w-])|\b{name.replace('-', '_')}_" for name in names)).search
    tests = [file for room in ROOMS for file in sorted((TESTS / room).rglob("test_*.py"))]
    return [each for each in tests if not gone & loaded(each) and not any(map(named, strings(each)))]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_leaf_imports_no_other_leaf(name: str) -> None:
    modules = {FOLDER.parents[1].joinpath(*parts[1:]) for file in files(name) for parts in imported(file)}
    found = {each.with_suffix(".py") for each in modules if each.is_relative_to(FOLDER)}
    assert found <= {*files(name), *BASE}


def test_nothing_else_imports_a_published_aligner_nor_their_base() -> None:
    elsewhere = [file for file in PACKAGE.rglob("*.py") if not file.is_relative_to(FOLDER)]
    found = [file for file in elsewhere for parts in imported(file) if parts[:3] == ["synmt", "alignment", "published"]]
    assert found == []
    leaves = {path for name in PUBLISHED for path in files(name)}
    assert {*FOLDER.rglob("*.py")} == leaves.union(BASE), "each file is of one aligner, or of all"


@pytest.mark.parametrize("gone", [*map(with_pupils, PUBLISHED), ALL], ids=[*PUBLISHED, "all"])
def test_the_options_need_no_other_aligner(gone: list[str], tmp_path: Path) -> None:
    """The pupils of an aligner learn from its links, so they are deleted, too."""
    without_aligners(gone, tmp_path)
    run(["-c", OPTIONS], tmp_path)


def one_leaf() -> list[str]:
    """Return an aligner with its pupils, chosen by the content of all: each change of an aligner chooses anew."""
    content = b"".join(file.read_bytes() for file in sorted(FOLDER.rglob("*.py")))
    number = int.from_bytes(hashlib.sha256(content).digest())
    return with_pupils(list(PUBLISHED)[number % len(PUBLISHED)])


@pytest.mark.parametrize("which", ["one", "all"])
def test_other_tests_hold_without_an_aligner(which: str, tmp_path: Path) -> None:
    gone = one_leaf() if which == "one" else ALL
    without_aligners(gone, tmp_path)
    with_tests(tmp_path)
    places = [str(tmp_path / each.relative_to(ROOT)) for each in others(gone)]
    assert len(places) > 20
    run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", *places], tmp_path)
    laws = [f"tests/alignment/{name}" for name in LAWS[: 2 if gone == ALL else 3]]
    assert "passed" in run(["-m", "pytest", "-p", "no:cacheprovider", *laws], tmp_path)


def test_other_methods_find_the_same_links_without_the_folder(encoder: Path, tmp_path: Path) -> None:
    """eflomal samples, so its links are only counted."""
    without_aligners(ALL, tmp_path)
    rest = [name for name in ALIGNERS if name not in PUBLISHED]
    methods = ["hmm+neural-hmm", *(name for name in rest if name not in MODULES or find_spec(MODULES[name]))]
    assert len(methods) > 3
    sentences = [(" ".join(pair.source.tokens), " ".join(pair.target.tokens)) for pair in bitext()[0]]
    own = {"embeddings": {"encoder": str(encoder), "layer": 1}}
    given = json.dumps([sentences, {name: own.get(name, {}) for name in methods}])
    found, expected = (json.loads(run(["-c", LINKS, given], place)) for place in (tmp_path, ROOT))
    assert found.keys() == set(methods) and all(len(lines) == len(sentences) for lines in found.values())
    for name in found.keys() - {"eflomal"}:
        assert found[name] == expected[name] and any(found[name]), name
    (tmp_path / "pairs").write_text("".join(f"{source}\t{target}\n" for source, target in sentences))
    command = ["-m", "synmt", "align", "--method", "hmm", "--tokenizer", "none", "pairs"]
    assert run(command, tmp_path).splitlines() == found["hmm"]
