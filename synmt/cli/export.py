"""`synmt export`"""

from pathlib import Path

import click

EPILOG = """
\b
Examples:
  synmt export model model.ctranslate2
"""


@click.command("export", epilog=EPILOG)
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("out", metavar="FOLDER", type=click.Path(path_type=Path))
def command(model: Path, out: Path) -> None:
    """Write a model for CTranslate2, which is faster and runs without Python.

    It must be a plain Transformer: its decoder sequence, its encoder sequence, linearized or multitask. The
    vocabulary of FOLDER has its tokens: subwords as the codes.bpe of MODEL make them, and labels and brackets
    after a space. Needs the package ctranslate2.
    """
    from synmt.model.export import export

    export(model, out)
