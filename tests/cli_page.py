"""`python -m tests.cli_page`: writes docs/cli.md, the help of all commands.

A test compares the page with the help.
"""

from pathlib import Path
from textwrap import fill

from synmt.cli.manual import root, with_those_below
from synmt.cli.program import COMMANDS

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
WIDTH = 100
HEAD = """\
# Commands

{links}

For `synmt align` and `synmt train`, this page lists the options of all methods and systems. `synmt align --method
METHOD --help-all` and `synmt train --model SYSTEM --help-all` show the options that one of them uses, with its
defaults.

`python -m tests.cli_page` writes this page from the commands themselves.
"""


def page() -> str:
    """Return docs/cli.md."""
    contexts = list(with_those_below(root(terminal_width=WIDTH)))
    links = ", ".join(f"[{name}](#synmt-{name})" for name in COMMANDS)
    blocks = (f"\n## {each.command_path}\n\n```text\n{each.get_help().rstrip()}\n```\n" for each in contexts)
    return HEAD.format(links=fill(f"The help of every command: {links}.", 120, break_on_hyphens=False)) + "".join(
        blocks
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
