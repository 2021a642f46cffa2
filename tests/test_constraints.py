"""The tested versions in constraints.txt can be installed with the oldest Python that synmt allows."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
PINNED = re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
[OLDEST] = re.findall(
    r">=(\d+\.\d+)$", tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
)


@pytest.mark.parametrize(("name", "version"), PINNED)
def test_a_tested_version_allows_every_python_of_synmt(name: str, version: str) -> None:
    try:
        found = metadata(name)
    except PackageNotFoundError:
        pytest.skip("is not installed")
    if found["Version"].partition("+")[0] != version:
        pytest.skip(f"{found['Version']} is installed")
    assert f"{OLDEST}.0" in SpecifierSet(found["Requires-Python"] or "")
