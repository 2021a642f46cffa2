"""`synmt markup`"""

from pathlib import Path
from typing import Any

import click

from synmt.cli.options import input_files, of_aligner, on_error
from synmt.cli.sections import SectionCommand, options_of
from synmt.options import config_of
from synmt.projection.config import DOUBTFUL, MarkupConfig
from synmt.streams import OnError

EPILOG = """
\b
Examples:
  paste page.en test.de | synmt markup --aligner aligner > page.de
  paste page.en test.de test.links | synmt markup --tokenizer none > page.de
"""


@click.command("markup", cls=SectionCommand, epilog=EPILOG)
@input_files
@of_aligner
@options_of(MarkupConfig, "Text")
@on_error
def command(files: tuple[str, ...], aligner: str | None, on_error: OnError, **settings: Any) -> None:
    """Carry the inline markup of sources to their translations.

    The input is `source TAB target TAB links` lines: a line with HTML, XLIFF or TMX tags, its translation without tags,
    and the output of `synmt align` (0-0 1-2, or JSON lines). With --aligner, the lines are `source TAB target`.

    The output is the translations with these tags. Each tag is written once, unchanged.
    """
    linker = None
    if aligner:
        from synmt.alignment.linking import linker_of

        linker = linker_of(Path(aligner), "auto", DOUBTFUL)
    from synmt.projection.markup import markup_stream

    markup_stream(files, config_of(MarkupConfig, settings), linker, on_error)
