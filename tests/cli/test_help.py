"""Help fits a terminal, man pages match it, and the scripts explain themselves."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.cli.manual import escaped, page, root, with_those_below

BIN = Path(__file__).parents[2] / "bin"
SCRIPTS = sorted(path.name for path in BIN.iterdir() if path.stat().st_mode & 0o100)
TERMINAL = 80  # columns
needs_man = pytest.mark.skipif(not shutil.which("man"), reason="no man to read man pages")


def test_help_fits_a_terminal() -> None:
    for context in with_those_below(root(terminal_width=TERMINAL)):
        wide = [line for line in context.get_help().splitlines() if len(line) > TERMINAL]
        assert wide == [], context.command_path


def rendered(source: str) -> str:
    """Return a page as `man` shows it on a wide terminal, without the first and last line."""
    environment = {"MANWIDTH": "1000", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    command = ["man", "--warnings", "--local-file", "-"]
    done = subprocess.run(command, input=source, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return "\n".join(done.stdout.splitlines()[1:-1])


@needs_man
def test_man_pages_match_the_help() -> None:
    for context in with_those_below(root(terminal_width=1000)):
        context.max_content_width = 1000
        if context.info_name in ("train", "significance", "challenge", "run"):
            help_text = re.sub(r"(Usage|Examples?( of a FILE)?):", "", context.get_help())
            headings = re.findall(r"^(\S.*):$", help_text, re.MULTILINE)
            shown = rendered(page(context))
            assert all(heading.upper() in shown for heading in headings)
            words = re.sub(r"^\S.*:$", "", help_text, flags=re.MULTILINE).split()
            assert set(words) <= set(shown.split()), context.command_path


@needs_man
@settings(max_examples=10)
@given(st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1), min_size=1, max_size=50))
def test_escaped_characters_are_printed_literally(texts: list[str]) -> None:
    paragraphs = "".join(f".PP\n{escaped(text)}\n" for text in texts)
    shown = rendered(f'.TH X 1 "" ""\n.nh\n.ad l\n.SH A\n{paragraphs}')
    assert [line.strip() for line in shown.splitlines() if line.startswith("  ")] == texts


def test_every_command_has_a_man_page(tmp_path: Path) -> None:
    subprocess.run(["python", "-m", "synmt.cli.manual", tmp_path / "man1"], check=True)
    names = {context.command_path.replace(" ", "-") for context in with_those_below(root())}
    assert {path.stem for path in (tmp_path / "man1").iterdir()} == names > {"synmt", "synmt-bpe-learn"}


@pytest.mark.parametrize("script", [name for name in SCRIPTS if name != "bench"])  # its -h needs all libraries
def test_scripts_have_help(script: str) -> None:
    done = subprocess.run([BIN / script, "-h"], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert f"bin/{script}" in done.stdout and all(len(line) < TERMINAL for line in lines)


def test_scripts_without_arguments_are_wrong_usage() -> None:
    done = subprocess.run([BIN / "train-parsers", "trees"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "train-parsers: too few arguments (train-parsers -h)\n")
