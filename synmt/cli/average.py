"""`synmt average`"""

from pathlib import Path

import click

from synmt.cli.sections import SectionCommand
from synmt.streams import Notes

EPILOG = """
\b
Examples:
  synmt average model tuned --out mean
  synmt average tuned tuned tuned model --out mean
"""


@click.command("average", cls=SectionCommand, epilog=EPILOG)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The model folder to make.")
def command(models: tuple[Path, ...], out: Path) -> None:
    """Make one model whose parameters are the mean of those of several.

    They are of one kind, size and vocabulary, and begin with the same parameters: with `synmt train --init` of one
    model, on other data or with other seeds. A MODEL that is named twice counts twice. Of one training, the option
    --average of `synmt train` takes the mean as it goes.
    """
    from synmt.model.average import average

    notes = Notes("average")
    average(models, out, notes)
    notes.say()
