"""`synmt make-masks`: parse records to mask records."""

import click

from synmt.cli.options import convert_files, input_files, max_tokens, on_error, report_too_long
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
@max_tokens(5000, "A tree of more nodes gets {} and is counted: its relations grow with the square.")
@on_error
def command(files: tuple[str, ...], bpe: str | None, max_tokens: int, on_error: OnError) -> None:
    """Parse records to mask records.

    A mask record holds the nodes of the tree in preorder, the index of each node's parent, and the relation
    of each node to each other: {"tokens": [...], "parents": [...], "relations": ["=CDD...", ...]}. A record
    without a sentence gives {}.
    """
    from synmt.trees.masks import write_mask_record

    codes = Bpe.load(bpe) if bpe else None
    too_long = 0

    def make_mask(line: str) -> str:
        nonlocal too_long
        tree = read_tree(line)
        if tree and codes:
            tree = split_leaves(tree, codes.segment)
        if tree and len(tree) > max_tokens:
            too_long += 1
            tree = None
        return write_mask_record(tree) if tree else "{}"

    convert_files("make-masks", files, on_error, make_mask, blank="{}")
    report_too_long("make-masks", too_long, max_tokens)
