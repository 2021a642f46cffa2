"""`synmt make-masks`"""

import click

from synmt.cli.options import Segment, bpe, input_files, on_error
from synmt.cli.sections import SectionCommand
from synmt.streams import BadLines, OnError, convert_files

EPILOG = """
\b
Legend (row: query, column: relation of the key to the query):
  = self            A ancestor, but not the parent
  P parent          D descendant, but not a child
  C child           < elsewhere to the left
  l left sibling    > elsewhere to the right
  r right sibling
\b
Examples:
  synmt make-masks train.jsonl > train.masks
  synmt make-masks --bpe codes.bpe train.jsonl.gz | gzip > train.masks.gz
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@input_files
@bpe
@click.option(
    "--max-tokens", type=click.IntRange(1, 10**6), default=5000, metavar="N",
    help="Write {} for a tree with more nodes, and count it: size is quadratic.",
)  # fmt: skip
@on_error
def command(files: tuple[str, ...], segment: Segment | None, max_tokens: int, on_error: OnError) -> None:
    """Write the attention masks of parse records.

    A mask record holds the nodes of the tree in preorder, the index of each node's parent, and the relation of each
    node to every other node: {"tokens": [...], "parents": [...], "relations": ["=CDD...", ...]}. A record without a
    sentence gives {}.
    """
    from synmt.trees.linearization import mask_record

    bad = BadLines(on_error)
    convert_files(files, lambda line: mask_record(line, segment, max_tokens, bad), bad, blank="{}")
