"""`synmt markup`"""

from pathlib import Path
from typing import Any

import click

from synmt.cli.options import input_files, of_aligner, on_error
from synmt.cli.sections import SectionCommand, options_of
from synmt.options import config_of
from synmt.projection.config import DOUBTFUL, MarkupConfig
from synmt.streams import OnError, WrongUsage
from synmt.streams.inputs import EXCHANGE

EPILOG = """
\b
Examples:
  paste page.en test.de | synmt markup --aligner aligner > page.de
  paste page.en test.de test.links | synmt markup --tokenizer none > page.de
  synmt markup --aligner aligner page.xlf test.de > page.de.xlf
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

    After a TMX or XLIFF file, name a file of translations, `target TAB links` lines or, with --aligner, `target` lines,
    one for each segment. The output is the TMX or XLIFF file with these targets. Without translations, targets of the
    file that lack the tags of their sources get them. All other bytes stay as they are.
    """
    linker = None
    if aligner:
        from synmt.alignment.linking import linker_of

        linker = linker_of(Path(aligner), "auto", DOUBTFUL)
    from synmt.projection.markup import markup_file, markup_stream

    config = config_of(MarkupConfig, settings)
    if files[0].endswith(EXCHANGE):
        if len(files) > 2:
            raise WrongUsage("a TMX or XLIFF file takes one file of translations")
        if len(files) == 1 and not aligner:
            raise WrongUsage("to link the targets of a TMX or XLIFF file, add --aligner; or give new ones with links")
        return markup_file(files[0], files[1] if len(files) == 2 else None, config, linker, on_error)
    markup_stream(files, config, linker, on_error)
