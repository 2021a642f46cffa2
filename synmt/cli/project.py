"""`synmt project`"""

from pathlib import Path
from typing import Any

import click

from synmt.cli.options import input_files, on_error, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, in_section, options_of
from synmt.options import config_of
from synmt.projection.config import DOUBTFUL, MarkupConfig, ProjectionConfig
from synmt.streams import OnError

EPILOG = """
\b
Examples:
  paste parsed.jsonl test.de test.links | synmt project --target-language de
  paste parsed.jsonl test.de | synmt project --aligner aligner > test.de.jsonl
  paste page.en test.de | synmt project --markup --aligner aligner > page.de
"""

of_links = in_section("Links")


@click.command("project", cls=SectionCommand, epilog=EPILOG)
@input_files
@of_links(
    "--aligner",
    metavar="MODEL",
    type=Reads(),
    unless="--strip",
    help="Find the links with this MODEL of `synmt align`.",
)
@options_of(MarkupConfig, "Markup")
@options_of(ProjectionConfig, "Trees")
@on_error
def command(files: tuple[str, ...], aligner: str | None, on_error: OnError, **settings: Any) -> None:
    """Project the trees or the inline markup of sources to their translations.

    The input is `source TAB target TAB links` lines: a parse record, a record or text, and the output of `synmt align`
    (0-0 1-2, or JSON lines). More sources can follow, each with its links: `source TAB links`.

    The output records have heads, relations, parts of speech, a confidence from 0 to 1 per head, and the phrases that
    the links allow. Words without links are attached to neighbours with confidence 0.

    With --markup, sources have inline HTML or XLIFF tags, and the output is the targets with these tags. Each tag is
    written once, unchanged.
    """
    with usage():
        config, markup = config_of(ProjectionConfig, settings), config_of(MarkupConfig, settings)
    linker = None
    if aligner:
        from synmt.alignment.linking import linker_of

        linker = linker_of(Path(aligner), "auto", DOUBTFUL if markup.markup else config.threshold)
    if markup.markup:
        from synmt.projection.markup import markup_stream

        return markup_stream(files, markup, config, linker, on_error)
    from synmt.projection.stream import project_stream

    project_stream(files, config, linker, on_error)
