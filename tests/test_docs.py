"""What the pages in docs/ show is what the commands print."""

import re
from pathlib import Path

import pytest

from tests.cli.commands import shell

DOCS = Path(__file__).parents[1] / "docs"
CONSOLE_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def session(page: str) -> list[tuple[str, str]]:
    """The commands of a page's console blocks, each with what it prints. `$ ` starts one, `> ` continues it."""
    steps: list[tuple[str, str]] = []
    for block in CONSOLE_BLOCK.findall(page):
        for line in block.splitlines(keepends=True):
            if line.startswith("$ "):
                steps.append((line[2:], ""))
            elif line.startswith(("> ", ">\n")):
                command, _ = steps.pop()
                steps.append((command + line[1:].removeprefix(" "), ""))
            else:
                command, output = steps.pop()
                steps.append((command, output + line))
    return steps


@pytest.mark.parametrize("path", sorted(DOCS.glob("**/*.md")), ids=lambda path: path.name)
def test_the_session_of_a_page_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    for command, shown in session(path.read_text(encoding="utf-8")):
        done = shell(f"{{\n{command}\n}} 2>&1", tmp_path)
        assert done.stdout == shown, command


def test_the_page_of_formats_is_a_session() -> None:
    assert len(session((DOCS / "formats.md").read_text(encoding="utf-8"))) > 10
