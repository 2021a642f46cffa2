"""Scores of a constituency model on treebanks: gold tokens, predicted tags, labelled bracketing F1."""

from pathlib import Path

import click

from synmt.metrics.bracketing import Bracketing
from synmt.metrics.metric import corpus_score
from synmt.parsers.benepar_parser import BeneparParser
from synmt.parsers.stream import parse_texts
from synmt.parsers.training.treebank import read_trees
from synmt.trees.constituency import Tree


def predicted_trees(parser: BeneparParser, gold: list[Tree]) -> list[Tree]:
    """Return the parser's trees over the words of the gold trees, one bracket over those that are too many."""
    records = parse_texts((tree.leaves() for tree in gold), parser)
    return [record.tree or Tree(["X", *record.tokens], [-1, *[0] * len(record.tokens)]) for record in records]


@click.command()
@click.option("--model", help="Default: the embedded model.")
@click.argument("treebanks", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(model: str | None, treebanks: tuple[Path, ...]) -> None:
    """Print evalb's scores of each PTB file."""
    parser = BeneparParser(model)
    for path in treebanks:
        gold = list(read_trees(path))
        print(f"{path.name}\t{corpus_score(Bracketing(), predicted_trees(parser, gold), [gold]).line}", flush=True)
    if parser.unparsed:
        print(f"{parser.unparsed} sentences were too long to parse")


if __name__ == "__main__":
    main()
