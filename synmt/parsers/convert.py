"""`python -m synmt.parsers.convert MODEL OUT`: a benepar model without pickle.

MODEL: a released model's name, an export's folder, or a checkpoint over a character LSTM. To convert is to trust:
loading a pickle can run code, even though only tensors are asked for.
"""

import sys
from pathlib import Path

import click

from synmt.parsers.benepar_models import convert
from synmt.parsers.parser import ModelError
from synmt.streams import complain


@click.command()
@click.argument("model")
@click.argument("out", type=click.Path(path_type=Path))
def command(model: str, out: Path) -> None:
    """Write OUT, a folder for an export or a released MODEL, OUT.safetensors and OUT.json for a checkpoint."""
    try:
        convert(model, out)
    except (ModelError, OSError) as error:
        sys.exit(complain("synmt.parsers.convert", " ".join(str(error).split())))


if __name__ == "__main__":
    command()
