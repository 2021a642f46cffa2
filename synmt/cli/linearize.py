"""`synmt linearize`"""

import click

from synmt.cli.options import Segment, bpe, input_files, on_error
from synmt.cli.sections import OneOf, SectionCommand
from synmt.streams import BadLines, OnError, convert_files
from synmt.trees.linearization import LINEARIZATIONS, linearized

EPILOG = """
\b
Examples:
  synmt linearize train.jsonl > train.brackets
  gzip -dc train.jsonl.gz | synmt linearize --format preorder --bpe codes.bpe
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@input_files
@click.option(
    "--format",
    "form",
    type=OneOf(list(LINEARIZATIONS)),
    default="brackets",
    help="brackets: '(NP (PRP He ) )'; preorder: 'NP PRP He'; labels: '(NP (PRP ) )'.",
)
@bpe
@on_error
def command(files: tuple[str, ...], form: str, segment: Segment | None, on_error: OnError) -> None:
    """Write parse records as bracketed token lines.

    Parentheses are escaped: ( becomes -LRB-. A record without a sentence gives an empty line.
    """
    convert_files(files, lambda line: linearized(line, form, segment), BadLines(on_error))
