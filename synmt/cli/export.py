"""`synmt export`"""

from pathlib import Path
from typing import Literal

import click

from synmt.cli.paths import Reads, Writes
from synmt.cli.sections import OneOf, SectionCommand

EPILOG = """
\b
Examples:
  synmt export plain --out plain.exported
  synmt export plain --out plain.int8 --precision int8
"""


@click.command("export", cls=SectionCommand, epilog=EPILOG)
@click.argument("model", metavar="MODEL", type=Reads(path_type=Path))
@click.option(
    "--out", metavar="FOLDER", type=Writes(folder=True, path_type=Path), required=True, help="Folder to write."
)
@click.option(
    "--precision", type=OneOf(["fp32", "int8"]), default="fp32",
    help="Precision of the stored weights.",
)  # fmt: skip
def command(model: Path, out: Path, precision: Literal["fp32", "int8"]) -> None:
    """Convert a model for CTranslate2, which translates faster.

    MODEL must be a plain Transformer: the decoder sequence, and the encoder sequence,
    linearized or multitask, also with components for training alone. `synmt translate` takes
    FOLDER, and CTranslate2 itself takes FOLDER/ctranslate2. Needs the package ctranslate2.
    """
    from synmt.model.export import export

    export(model, out, precision)
