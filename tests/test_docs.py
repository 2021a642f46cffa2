"""The pages in docs/ show what the commands print, and their links and quoted scores are correct."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from synmt.runs.figures import data_of
from tests import cli_page, curve_picture
from tests.cli.commands import COLD, HANGS, shell

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
PICTURE = DOCS / "img" / "links.svg"
PAGES = sorted([*DOCS.glob("**/*.md"), README])
RESULTS = sorted((DOCS / "results").iterdir())
HOMES = [*RESULTS, *(DOCS / "lab-notes").iterdir(), DOCS / "parsers.md"]  # pages with our measurements
LONGEST_LINE = 120
CODE = re.compile(r"^```.*?^```$|^ {4}.*?$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CONSOLE_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def short(path: Path) -> str:
    return f"{path.relative_to(DOCS.parent)}"


def session(page: str) -> list[tuple[str, str]]:
    """Return the commands in a page's console blocks, each with its output. `$ ` starts a command, `> ` continues
    it."""
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


@pytest.mark.parametrize("path", sorted(DOCS.glob("**/*.md")), ids=short)
def test_pages_show_the_output_of_their_commands(path: Path, tmp_path: Path) -> None:
    for command, shown in session(path.read_text(encoding="utf-8")):
        done = shell(f"{{\n{command}\n}} 2>&1", tmp_path)
        assert done.stdout == shown, command


def test_readme_shows_the_output_of_its_commands(tmp_path: Path) -> None:
    """Each `synmt` is a separate Python process; notes on standard error are not shown."""
    steps = session(README.read_text(encoding="utf-8"))
    assert len(steps) > 3
    for command, shown in steps:
        start = f'python() {{ {COLD.removesuffix(" -m synmt")} "$@"; }}\nsynmt() {{ {COLD} "$@"; }}'
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{start}\n{command}"],
            cwd=tmp_path, capture_output=True, text=True, timeout=HANGS, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, shown), (command, done.stderr)


def test_the_formats_page_is_a_session() -> None:
    assert len(session((DOCS / "formats.md").read_text(encoding="utf-8"))) > 10


def test_the_commands_page_matches_the_help() -> None:
    shown = cli_page.PAGE.read_text(encoding="utf-8")
    assert shown == cli_page.page(), "write it anew: python -m tests.cli_page"


def prose(path: Path) -> str:
    """Return a page without its code."""
    return CODE.sub("", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=short)
def test_lines_are_short(path: Path) -> None:
    lines = [line for line in prose(path).splitlines() if not line.startswith("|") and "://" not in line]
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


def anchors(path: Path) -> set[str]:
    """Return the fragments that GitHub makes from the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=short)
def test_links_lead_to_existing_pages_and_headings(path: Path) -> None:
    for link in LINK.findall(prose(path)):
        if "://" not in link:
            page, _, heading = link.partition("#")
            goal = path.parent / page if page else path
            assert goal.exists(), link
            assert not heading or heading in anchors(goal), link


SCORE = re.compile(r"\b(AER|BLEU|chrF|UAS|LAS|ECE|UPOS|nats)\b")
FIGURE = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+|(?=\s?%|%))")
QUOTED = re.compile(r"\]\((?:docs/|\.\./)*((?:results/|lab-notes/)[\w-]+\.md|parsers\.md)#([\w-]+)\)")
CITED = re.compile(r"\]\(https?://|\b(?:19|20)\d\d\b")


def sections(path: Path) -> dict[str, str]:
    """Return by fragment the text under each heading of a page, up to the next heading of the same or a higher
    level."""
    text = path.read_text(encoding="utf-8")
    found = {}
    for heading in re.finditer(r"^(#+) (.*)$", text, re.MULTILINE):
        end = re.compile(rf"^#{{1,{len(heading[1])}}} ", re.MULTILINE).search(text, heading.end())
        body = text[heading.end() : end.start() if end else None]
        found[re.sub(r"[^\w\- ]", "", heading[2].lower()).replace(" ", "-")] = body
    return found


def passages(path: Path) -> list[tuple[str, str]]:
    """Return the paragraphs, lists and tables of a page, each with the heading above it. A table belongs to the
    paragraph before it."""
    heading = ""
    found: list[tuple[str, str]] = []
    for block in re.split(r"\n{2,}", prose(path)):
        if block.startswith("#"):
            heading = block.strip("# ").splitlines()[0]
        if block.startswith("|") and found:
            _, before = found.pop()
            block = f"{before}\n{block}"
        found.append((heading, block))
    return found


OTHERS = [path for path in PAGES if path not in (*HOMES, DOCS / "cli.md")]


@pytest.mark.parametrize("path", OTHERS, ids=short)
def test_quoted_figures_match_the_linked_page(path: Path) -> None:
    """A passage that links to a section with measurements quotes its decimals and percentages exactly."""
    for _, passage in passages(path):
        homes = [sections(DOCS / page)[heading] for page, heading in QUOTED.findall(passage)]
        if homes:
            known = {figure for home in homes for figure in FIGURE.findall(home)}
            assert set(FIGURE.findall(QUOTED.sub("", passage))) <= known, passage


@pytest.mark.parametrize("path", OTHERS, ids=short)
def test_our_scores_link_to_their_measurement(path: Path) -> None:
    """All other scores are published ones, with a citation or under a heading that says so."""
    for heading, passage in passages(path):
        if SCORE.search(passage) and FIGURE.search(passage):
            published = "ublished" in heading + passage or CITED.search(passage)
            assert QUOTED.search(passage) or published, passage


@pytest.mark.parametrize(("path", "heading"), [(path, each) for path in RESULTS for each in [*sections(path)][1:]])
def test_each_result_has_a_table_conclusion_command_and_date(path: Path, heading: str) -> None:
    """This way, each system has one score per section. The page of conclusions links to each."""
    body = sections(path)[heading]
    assert f"](results/{path.name}#{heading})" in (DOCS / "results.md").read_text(encoding="utf-8")
    conclusion, *blocks = body.strip().split("\n\n")
    tables = [block for block in blocks if block.startswith("|")]
    assert conclusion.startswith("**")
    assert len(tables) == 1
    rows = Counter(re.findall(r"^(\|.*?\|.*?\|)", tables[0], re.MULTILINE))
    assert [row for row, number in rows.items() if number > 1] == []
    assert re.search(r"^```\n(synmt|bin/|paste)", body, re.MULTILINE)
    assert re.search(r"^Measured 20\d\d-\d\d-\d\d\b", body, re.MULTILINE)


def test_the_picture_in_readme_comes_from_its_command() -> None:
    """The test compares the text in the picture; its position depends on matplotlib's version."""
    done = shell("synmt inspect alignment found.jsonl gold.links --format svg", DOCS / "img")
    drawn, kept = (re.findall(r"<text[^>]*>([^<]*)<", each) for each in (done.stdout, PICTURE.read_text("utf-8")))
    assert "abgelehnt" in kept
    assert drawn == kept


def test_the_curve_shows_the_table_of_results() -> None:
    picture, table = curve_picture.PICTURE.read_text("utf-8"), curve_picture.gains()
    assert re.findall(r'<g id="(\d+:[^"]*)"', picture) == [*map(data_of, table.values())]
    assert len(table) == 5 and all(f">{name}</text>" in picture for name in table)


@pytest.mark.parametrize("path", PAGES, ids=short)
def test_files_named_on_pages_exist(path: Path) -> None:
    named = re.findall(r"(?<![\w/.-])(?:bin|docs|synmt|tests)/[\w./-]*\w", path.read_text(encoding="utf-8"))
    assert [name for name in named if not (DOCS.parent / name).exists()] == []
