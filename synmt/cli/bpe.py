"""`synmt bpe learn`, `apply` and `undo`"""

import click

from synmt.cli.options import bad_input, input_files, on_error
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionGroup
from synmt.streams import BadLines, OnError, convert_files, read_lines, write_lines
from synmt.text.bpe import MOST_MERGES, Bpe, join_subwords, learn_bpe

EPILOG = """
\b
Examples:
  synmt bpe learn --merges 8000 train.en train.de > codes.bpe
  synmt bpe apply --codes codes.bpe train.en > train.bpe.en
  synmt bpe apply --codes codes.bpe train.en | synmt bpe undo
"""


@click.group(cls=SectionGroup, epilog=EPILOG)
def command() -> None:
    """Learn, apply and undo byte pair encoding."""


@command.command(epilog=EPILOG)
@input_files
@click.option(
    "--merges", type=click.IntRange(1, MOST_MERGES), required=True, metavar="N", help="Maximum merges to learn."
)
def learn(files: tuple[str, ...], merges: int) -> None:
    """Learn codes from token lines.

    All files together give one list of codes, in the format of subword-nmt.
    """
    with bad_input():
        codes = learn_bpe((line.text for line in read_lines(files)), merges)
    write_lines([codes.removesuffix("\n")])


@command.command(epilog=EPILOG)
@input_files
@click.option("--codes", metavar="CODES", type=Reads(), required=True, help="Codes written by `synmt bpe learn`.")
@on_error
def apply(files: tuple[str, ...], codes: str, on_error: OnError) -> None:
    """Split the words of token lines into subwords.

    Each subword except the last of a word ends in @@. Only ASCII spaces separate words.
    """
    bpe = Bpe.load(codes)
    convert_files(files, lambda line: " ".join(bpe.apply(line.split(" "))), BadLines(on_error))


@command.command(epilog=EPILOG)
@input_files
@on_error
def undo(files: tuple[str, ...], on_error: OnError) -> None:
    """Join subwords into words.

    Joins each subword that ends in @@ to the next. Words that themselves end in @@ are not restored.
    """
    convert_files(files, lambda line: " ".join(join_subwords(line.split(" "))), BadLines(on_error))
