"""What the pages in docs/ show is what the commands print."""

import re
from pathlib import Path

import pytest

from tests import cli_page
from tests.cli.commands import shell

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted([*DOCS.glob("**/*.md"), DOCS.parent / "README.md"])
LONGEST_LINE = 120
CODE = re.compile(r"^```.*?^```$|^ {4}.*?$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
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


def test_the_page_of_commands_is_what_they_say() -> None:
    shown = cli_page.PAGE.read_text(encoding="utf-8")
    assert shown == cli_page.page(), "write it anew: python -m tests.cli_page"


def prose(path: Path) -> str:
    """Return a page without its code."""
    return CODE.sub("", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_lines_are_short(path: Path) -> None:
    lines = [line for line in prose(path).splitlines() if not line.startswith("|") and "://" not in line]
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


def anchors(path: Path) -> set[str]:
    """Return the fragments by which GitHub reaches the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_to_pages_and_their_headings(path: Path) -> None:
    for link in LINK.findall(prose(path)):
        if "://" not in link:
            page, _, heading = link.partition("#")
            goal = path.parent / page if page else path
            assert goal.exists(), link
            assert not heading or heading in anchors(goal), link
