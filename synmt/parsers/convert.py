"""`python -m synmt.parsers.convert MODEL OUT`: writes a benepar model without pickle.

MODEL is the name of a released model, the folder of an export, or a checkpoint over a character LSTM. Only convert
models that you trust: loading a pickle can run code, even if torch restricts it to tensors.
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
    """Write OUT: a folder for an export or a released MODEL, or OUT.safetensors and OUT.json for a checkpoint."""
    try:
        convert(model, out)
    except (ModelError, OSError) as error:
        sys.exit(complain("synmt.parsers.convert", " ".join(str(error).split())))


if __name__ == "__main__":
    command()
