"""`synmt make-masks`: parse records to mask records."""

import click

from synmt.cli.options import convert_files, input_files, on_error
from synmt.streams import OnError
from synmt.text.bpe import Bpe
from synmt.trees.record import read_tree
from synmt.trees.subwords import split_leaves

EPILOG = """
\b
Legend (row: query, column: what the key is to the query):
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


@click.command(epilog=EPILOG)
@input_files
@click.option("--bpe", metavar="CODES", help="Split the words by the BPE codes of this file.")
@on_error
def command(files: tuple[str, ...], bpe: str | None, on_error: OnError) -> None:
    """Parse records to mask records.

    A mask record holds the nodes of the tree in preorder, the index of each node's parent, and the relation
    of each node to each other: {"tokens": [...], "parents": [...], "relations": ["=CDD...", ...]}. A record
    without a sentence gives {}.
    """
    from synmt.trees.masks import write_mask_record

    codes = Bpe.load(bpe) if bpe else None

    def make_mask(line: str) -> str:
        tree = read_tree(line)
        if tree is None:
            return "{}"
        return write_mask_record(split_leaves(tree, codes.segment) if codes else tree)

    convert_files("make-masks", files, on_error, make_mask, blank="{}")
