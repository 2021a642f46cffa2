"""The files by which the project is built, tested, published and cited fit each other and the code."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from synmt import __version__
from synmt.demo.corpus import write_corpus
from tests import smoke
from tests.cli.commands import synmt
from tests.test_imports import FLOORS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CITATION = ROOT / "CITATION.cff"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())
FORMS = [path for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").iterdir()) if path.name != "config.yml"]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps_of(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def test_the_version_and_title_are_the_same_everywhere() -> None:
    citation, readme = read(CITATION), (ROOT / "README.md").read_text(encoding="utf-8")
    assert {PROJECT["project"]["version"], str(citation["version"])} == {__version__}
    assert citation["title"] in readme and f"version = {{{__version__}}}" in readme
    assert citation["license"] == PROJECT["project"]["license"]
    assert [each["name"] for each in citation["authors"]] == [each["name"] for each in PROJECT["project"]["authors"]]
    assert f"{__version__}\n" in (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8")


def test_the_citation_file_has_what_its_format_requires() -> None:
    citation = read(CITATION)
    assert {"cff-version", "message", "title", "authors"} <= set(citation) and citation["cff-version"] == "1.2.0"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows(path: Path) -> None:
    """Each job has a system and steps, waits for jobs that exist, and gets no rights that it does not declare."""
    workflow = read(path)
    assert workflow[True] and workflow["permissions"] == {"contents": "read"}  # YAML reads the key `on` as true
    for job in workflow["jobs"].values():
        assert job["runs-on"] and job["steps"]
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(workflow["jobs"])
    for step in steps_of(path):
        assert ("run" in step) != ("uses" in step)
        assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@(v\d[\d.]*|release/v1)", step["uses"])
        named = re.findall(r"(?<![\w./])(?:bin|tests)/[\w.]+", step.get("run", ""))
        assert all((ROOT / name).exists() for name in named), named


def test_tests_and_wheels_cover_the_versions_of_python_that_the_package_names() -> None:
    of_package = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    matrix = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == of_package and PROJECT["project"]["requires-python"] == f">={of_package[0]}"
    builds = PROJECT["tool"]["cibuildwheel"]["build"].split()
    assert builds == [f"cp{version.replace('.', '')}-*" for version in of_package]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_issue_forms(path: Path) -> None:
    form = read(path)
    assert form["name"] and form["description"] and form["body"]
    ids = [each["id"] for each in form["body"]]
    assert len(ids) == len(set(ids)) and all(each["attributes"]["label"] for each in form["body"])


def test_the_source_distribution_is_the_whole_checkout() -> None:
    lines = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    named = {name for line in lines if line.startswith(("graft", "include")) for name in line.split()[1:]}
    assert all((ROOT / name).exists() for name in named)
    added = {"pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in", "synmt"}  # by setuptools itself
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    shown = {path.name for path in ROOT.iterdir() if not path.name.startswith(".") and f"{path.name}/" not in ignored}
    assert shown - {"shared"} <= named | added | {path.name for path in ROOT.glob("*.egg-info")}


def test_all_data_files_are_in_the_package() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["synmt"]
    package = ROOT / "synmt"
    packed = {path for pattern in patterns for path in package.glob(pattern)}
    data = {path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc", ".so", ".c")}
    assert data - packed == set()


def test_the_architecture_page_has_the_floors_of_the_imports() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", page.split("## Four paths")[0], re.MULTILINE)
    shown = [re.findall(r"`(\w+)`", row) for row in reversed(rows)]
    assert [sorted(each) for each in shown] == [sorted(each) for each in FLOORS if each != ["__main__"]]


def test_the_smoke_test_of_builds_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path, smoke.SENTENCES, smoke.HELD_OUT, seed=1)

    def run(*arguments: str) -> bytes:
        done = synmt(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.encode()

    smoke.try_all(tmp_path, run)
