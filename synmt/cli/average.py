"""`synmt average`"""

from pathlib import Path

import click

from synmt.cli.paths import Reads, Writes
from synmt.cli.sections import SectionCommand
from synmt.streams import Notes

EPILOG = """
\b
Examples:
  synmt average model tuned --out mean
  synmt average tuned tuned tuned model --out mean
"""


@click.command("average", cls=SectionCommand, epilog=EPILOG)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=Reads(path_type=Path))
@click.option("--out", type=Writes(folder=True, path_type=Path), required=True, help="Model folder to write.")
def command(models: tuple[Path, ...], out: Path) -> None:
    """Average the parameters of several models.

    The models need the same system, size and vocabulary, and must start from the same parameters: train them with
    `synmt train --init` from one model, on different data or with different seeds. A MODEL named twice counts twice.
    To average within one training run, use `synmt train --average`.
    """
    from synmt.model.average import average

    notes = Notes()
    average(models, out, notes)
    notes.say()
