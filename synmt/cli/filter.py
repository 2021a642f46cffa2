"""`synmt filter`"""

from functools import partial
from pathlib import Path
from typing import Any

import click

from synmt.cli.options import input_files, on_error, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import Finite, SectionCommand, in_section, options_of
from synmt.options import config_of
from synmt.streams import OnError
from synmt.text.tokenization import TextConfig

EPILOG = """
\b
Examples:
  synmt filter aligner noisy.tsv > kept.tsv
  synmt filter aligner memory.tmx --min-confidence 0.6 > kept.tmx
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@click.argument("model", type=Reads(path_type=Path))
@input_files
@in_section("Options")(
    "--min-confidence", metavar="X", type=Finite(0, 1), default=0.5,
    help="Keep pairs with at least this confidence.",
)  # fmt: skip
@options_of(TextConfig, "Text")
@in_section("Options")("--device", metavar="NAME", default="auto", help="auto, cpu, cuda or cuda:N.")
@on_error
def command(
    model: Path, files: tuple[str, ...], min_confidence: float, device: str, on_error: OnError, **settings: Any
) -> None:
    """Keep the sentence pairs whose links have enough confidence.

    The confidence of a pair is that of `synmt link MODEL --scores`. The input is as for `synmt link`; the output is
    `source TAB target` lines. Of a TMX file, the output is the file without the other units, and otherwise unchanged.
    """
    from synmt.alignment.aligner import load_aligner
    from synmt.alignment.stream import filter_stream
    from synmt.data.records import BitextFiles

    pairs = BitextFiles.open(files, settings)
    with usage():
        text = config_of(TextConfig, pairs.with_languages_inside(settings))
    filter_stream(partial(load_aligner, model, None, device), pairs, min_confidence, text, on_error)
