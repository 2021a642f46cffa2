"""`synmt export`"""

from pathlib import Path
from typing import Literal

import click

from synmt.cli.paths import Reads, Writes
from synmt.cli.sections import SectionCommand

EPILOG = """
\b
Examples:
  synmt export plain --out plain.ctranslate2
  synmt export plain --out plain.int8 --precision int8
"""


@click.command("export", cls=SectionCommand, epilog=EPILOG)
@click.argument("model", metavar="MODEL", type=Reads(path_type=Path))
@click.option("--out", metavar="FOLDER", type=Writes(path_type=Path), required=True, help="The folder to make.")
@click.option(
    "--precision", type=click.Choice(["fp32", "int8"]), default="fp32",
    help="Of the products, as they are stored; CTranslate2 can round them later.",
)  # fmt: skip
def command(model: Path, out: Path, precision: Literal["fp32", "int8"]) -> None:
    """Write a model for CTranslate2, which runs without PyTorch.

    It must be a plain Transformer: its decoder sequence, its encoder sequence, linearized or multitask. The
    vocabulary of FOLDER has its tokens: subwords as the codes.bpe of MODEL make them, and labels and brackets
    after a space. Needs the package ctranslate2.
    """
    from synmt.model.export import export

    export(model, out, precision)
