"""`synmt linearize`: parse records to token lines."""

import click

from synmt.cli.options import convert_files, input_files, on_error
from synmt.streams import OnError
from synmt.text.bpe import Bpe
from synmt.trees.linearization import LINEARIZATIONS
from synmt.trees.record import read_tree
from synmt.trees.subwords import split_leaves

EPILOG = """
\b
Examples:
  synmt linearize train.jsonl > train.brackets
  gzip -dc train.jsonl.gz | synmt linearize --format preorder --bpe codes.bpe
"""


@click.command(epilog=EPILOG)
@input_files
@click.option(
    "--format",
    "form",
    type=click.Choice(list(LINEARIZATIONS)),
    default="brackets",
    show_default=True,
    help="brackets: '(NP (PRP He ) )'; preorder: 'NP PRP He'; labels: '(NP (PRP ) )'.",
)
@click.option("--bpe", metavar="CODES", help="Split the words by the BPE codes of this file.")
@on_error
def command(files: tuple[str, ...], form: str, bpe: str | None, on_error: OnError) -> None:
    """Parse records to token lines.

    Words are bracket-escaped: ( is written -LRB-. A record without a sentence gives an empty line.
    """
    tokens = LINEARIZATIONS[form]
    codes = Bpe.load(bpe) if bpe else None

    def linearize(line: str) -> str:
        tree = read_tree(line)
        if tree is None:
            return ""
        return " ".join(tokens(split_leaves(tree, codes.segment) if codes else tree))

    convert_files("linearize", files, on_error, linearize)
