"""`synmt project`"""

from pathlib import Path
from typing import Any

import click

from synmt.cli.options import input_files, of_aligner, on_error, usage
from synmt.cli.sections import SectionCommand, options_of
from synmt.options import config_of
from synmt.projection.config import ProjectionConfig
from synmt.streams import OnError

EPILOG = """
\b
Examples:
  paste parsed.jsonl test.de test.links | synmt project --target-language de
  paste parsed.jsonl test.de | synmt project --aligner aligner > test.de.jsonl
"""
HINTS = {
    **dict.fromkeys(("--markup", "--source-language"), "`synmt markup` carries inline markup to translations"),
    "--strip": "`synmt strip-markup` removes inline markup",
}


@click.command("project", cls=SectionCommand, epilog=EPILOG, hints=HINTS)
@input_files
@of_aligner
@options_of(ProjectionConfig, "Trees")
@on_error
def command(files: tuple[str, ...], aligner: str | None, on_error: OnError, **settings: Any) -> None:
    """Project the trees of sources to their translations.

    The input is `source TAB target TAB links` lines: a parse record, a record or text, and the output of `synmt align`
    (0-0 1-2, or JSON lines). More sources can follow, each with its links: `source TAB links`.

    The output records have heads, relations, parts of speech, a confidence from 0 to 1 per head, and the phrases that
    the links allow. Words without links are attached to neighbours with confidence 0.
    """
    with usage():
        config = config_of(ProjectionConfig, settings)
    linker = None
    if aligner:
        from synmt.alignment.linking import linker_of

        linker = linker_of(Path(aligner), "auto", config.threshold)
    from synmt.projection.stream import project_stream

    project_stream(files, config, linker, on_error)
