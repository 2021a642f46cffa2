"""Options that every stream command shares."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from synmt.cli.paths import Reads
from synmt.cli.sections import in_section
from synmt.streams import BadInput, WrongUsage
from synmt.text.bpe import Bpe

Command = Callable[..., None]
Segment = Callable[[str], list[str]]  # a word to its subwords

input_files = click.argument(
    "files", nargs=-1, metavar="[FILE]...", type=Reads(), callback=lambda context, parameter, files: or_stdin(files)
)

on_error = click.option(
    "--on-error",
    type=click.Choice(["fail", "blank"]),
    default="fail",
    help="A bad line stops the command, or becomes an empty record and is counted.",
)


def _segmenter(context: click.Context, parameter: click.Parameter, codes: str | None) -> Segment | None:
    return Bpe.load(codes).segment if codes else None


bpe = in_section("Options")(
    "--bpe",
    "segment",
    unless="--invert",
    metavar="CODES",
    type=Reads(),
    callback=_segmenter,
    help="Split the words by the BPE codes of this file.",
)


def or_stdin(files: tuple[str, ...]) -> tuple[str, ...]:
    return files or ("-",)


@contextmanager
def usage() -> Iterator[None]:
    """Make WrongUsage of a ValueError inside, which says what is wrong with the arguments."""
    try:
        yield
    except ValueError as error:
        raise WrongUsage(str(error)) from None


@contextmanager
def bad_input() -> Iterator[None]:
    """Make BadInput of a ValueError inside, which says what is wrong with the input as a whole."""
    try:
        yield
    except WrongUsage:
        raise
    except ValueError as error:
        raise BadInput(str(error)) from None


def max_tokens(default: int, help_text: str) -> Callable[[Command], Command]:
    return click.option("--max-tokens", type=click.IntRange(1, 10**6), default=default, metavar="N", help=help_text)
