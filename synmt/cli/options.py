"""Options that stream commands share."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from synmt.cli.paths import Reads
from synmt.cli.sections import OneOf, in_section
from synmt.streams import BadInput, WrongUsage
from synmt.text.bpe import Bpe, Segment

LEXICON = "`synmt lexicon LINKS FILE` makes the table of linked words"

STDIN = ("-",)  # where to read if no file is named

input_files = click.argument("files", nargs=-1, metavar="[FILE]...", type=Reads(), default=STDIN)

on_error = click.option(
    "--on-error",
    type=OneOf(["fail", "blank"]),
    default="fail",
    help="At a bad line, stop; or write a blank and count it.",
)


def _segmenter(context: click.Context, parameter: click.Parameter, codes: str | None) -> Segment | None:
    return Bpe.load(codes).segment if codes else None


of_aligner = in_section("Links")(
    "--aligner", metavar="MODEL", type=Reads(), help="Find the links with this MODEL of `synmt align`."
)

bpe = in_section("Options")(
    "--bpe",
    "segment",
    metavar="CODES",
    type=Reads(),
    callback=_segmenter,
    help="Split words into subwords with these BPE codes.",
)


@contextmanager
def usage() -> Iterator[None]:
    """Turn a ValueError about the arguments into WrongUsage."""
    try:
        yield
    except ValueError as error:
        raise WrongUsage(str(error)) from None


@contextmanager
def bad_input() -> Iterator[None]:
    """Turn a ValueError about the input as a whole into BadInput."""
    try:
        yield
    except WrongUsage:
        raise
    except ValueError as error:
        raise BadInput(str(error)) from None
