"""`python -m tests.cli_page`: writes docs/cli.md, the help of all commands.

A test compares the page with the help.
"""

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

import click

from synmt.cli.main import COMMANDS, cli
from synmt.cli.sections import SHOW_ALL

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
WIDTH = 100
HEAD = """\
# Commands

What `--help` says of every command, and `--help-all` of those that have it:
{links}.

`python -m tests.cli_page` writes this page from the commands themselves.
"""


def root() -> click.Context:
    """Return a context of `synmt` whose help shows all options, as wide on every machine."""
    context = cli.make_context("synmt", [], resilient_parsing=True, terminal_width=WIDTH)
    context.meta[SHOW_ALL] = True
    return context


def with_those_below(context: click.Context) -> Iterator[click.Context]:
    """Yield the context of a command, and those of the commands below it."""
    context.command._help_option = None  # which click keeps, -h or not, from the first context that asked
    yield context
    if isinstance(group := context.command, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command
            yield from with_those_below(click.Context(command, context, name))


def page() -> str:
    """Return docs/cli.md."""
    contexts = list(with_those_below(root()))
    links = ", ".join(f"[{name}](#synmt-{name})" for name in COMMANDS)
    blocks = (f"\n## {each.command_path}\n\n```text\n{each.get_help().rstrip()}\n```\n" for each in contexts)
    return HEAD.format(links=fill(links, 120, break_on_hyphens=False)) + "".join(blocks)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
