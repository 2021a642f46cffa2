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
    help="Link the words by this folder of synmt align; lines have no links.",
)
@options_of(MarkupConfig, "Markup")
@options_of(ProjectionConfig, "Trees")
@on_error
def command(files: tuple[str, ...], aligner: str | None, on_error: OnError, **settings: Any) -> None:
    """Carry the trees of sources, or their inline markup, over links to the targets.

    Lines are `source TAB target TAB links`: a parse record, a record or text, and links as synmt align writes them,
    such as 0-0 1-2, or JSON with scores. Further sources follow, each with its links: `source TAB links`.

    Records have heads, relations, parts of speech and how much speaks for each head, 0 to 1; of constituency trees
    those phrases that links allow. Words that no link tells of hang on near ones, with the confidence 0.

    With --markup, sources are text with inline HTML or XLIFF tags, targets are text without, and the output is the
    targets with the tags. Each tag is written once, and unchanged.
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
