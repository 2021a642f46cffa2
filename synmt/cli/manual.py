"""`python -m synmt.cli.manual [FOLDER]`: writes a man page per command, from its help.

The default FOLDER is where `man` finds the pages of this Python's programs. Afterwards: `man synmt-train`.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from synmt import __version__
from synmt.cli.program import cli
from synmt.cli.sections import SHOW_ALL

SECTION = "man1"  # of the manual: programs


class Manual(click.HelpFormatter):
    """Writes a help as roff source, and leaves line breaks to roff."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.write(f".SH SYNOPSIS\n.B {escaped(prog)}\n{escaped(args)}\n.SH DESCRIPTION\n")

    def write_heading(self, heading: str) -> None:
        self.write(f".SH {escaped(heading.upper())}\n")

    def write_paragraph(self) -> None:
        """Write nothing: each text starts with its own separator."""

    def write_text(self, text: str) -> None:
        r"""Write paragraphs; \b keeps the lines of one, and makes a first line that ends in a colon a heading."""
        for paragraph in text.split("\n\n"):
            lines = paragraph.splitlines()
            if lines and lines[0].strip() == "\b":
                if lines[1].endswith(":"):
                    self.write_heading(lines.pop(1).removesuffix(":"))
                self.write("\n".join([".PP", ".nf", *map(escaped, lines[1:]), ".fi", ""]))
            else:
                self.write(f".PP\n{escaped(' '.join(paragraph.split()))}\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        for term, text in rows:
            self.write(f".TP\n.B {escaped(term)}\n{escaped(text)}\n")


def escaped(text: str) -> str:
    """Return a line whose characters roff prints as they are."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def root(**settings: Any) -> click.Context:
    """Return a context of `synmt` whose help shows all options."""
    context = cli.make_context("synmt", [], resilient_parsing=True, **settings)
    context.meta[SHOW_ALL] = True
    return context


def with_those_below(context: click.Context) -> Iterator[click.Context]:
    """Yield the context of a command and of all its subcommands."""
    context.command._help_option = None  # click caches it from the first context, with -h or without
    yield context
    if isinstance(group := context.command, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command
            yield from with_those_below(command.context_class(command, context, name))


def page(context: click.Context) -> str:
    """Return the man page of a command."""
    context.formatter_class = Manual
    name = context.command_path.replace(" ", "-")
    about = context.command.get_short_help_str(limit=200).removesuffix(".")
    head = f'.TH "{escaped(name.upper())}" 1 "" "synmt {__version__}"\n.SH NAME\n{escaped(name)} \\- {escaped(about)}\n'
    return f".nh\n.ad l\n{head}{context.get_help()}\n"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", required=False, type=click.Path(path_type=Path))
def main(folder: Path | None) -> None:
    """Write the man pages of all commands into FOLDER, or where `man` finds the pages of this Python."""
    folder = folder or Path(sys.prefix) / "share" / "man" / SECTION
    folder.mkdir(parents=True, exist_ok=True)
    for context in with_those_below(root()):
        path = folder / f"{context.command_path.replace(' ', '-')}.1"
        path.write_text(page(context), encoding="utf-8")


if __name__ == "__main__":
    main()
