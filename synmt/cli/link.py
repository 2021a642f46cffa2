"""`synmt link`"""

from functools import partial
from pathlib import Path
from typing import Any

import click

from synmt.alignment import ALIGNERS
from synmt.alignment.choice import RULES_OF_LINK
from synmt.alignment.config import AlignConfig
from synmt.cli.options import LEXICON, input_files, on_error, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, SeveralOf, in_section, options_of
from synmt.options import MOST_JOBS, config_of
from synmt.streams import OnError
from synmt.text.tokenization import TextConfig

EPILOG = """
\b
Examples:
  synmt link aligner bitext.tsv > links
  paste test.de test.en | synmt link aligner --format jsonl --jobs 2
"""

COMMON = "symmetrize threshold format scores jobs method source-language target-language device"
of_aligner = in_section("Aligner")


@click.command(
    "link", cls=SectionCommand, epilog=EPILOG, rules=RULES_OF_LINK, hints={"--lexicon": LEXICON}, common=COMMON
)
@click.argument("model", type=Reads(path_type=Path))
@input_files
@options_of(AlignConfig, "Links")
@options_of(TextConfig, "Text")
@on_error
@of_aligner(
    "--method", metavar="METHOD", type=SeveralOf(list(ALIGNERS)),
    help="Read the links of the MODEL's networks by another method.",
)  # fmt: skip
@of_aligner("--device", metavar="NAME", default="auto", help="auto, cpu, cuda or cuda:N.")
@of_aligner(
    "--jobs", metavar="N", type=click.IntRange(1, MOST_JOBS), default=1,
    help="Processes, each with one thread and the MODEL in memory.",
)  # fmt: skip
def command(
    model: Path, files: tuple[str, ...], on_error: OnError, method: str | None, device: str, jobs: int, **settings: Any
) -> None:
    """Link the words of sentence pairs with a saved aligner.

    `synmt align --out MODEL` saves an aligner. The input is `source TAB target` or `source ||| target` lines, or two
    parallel files, of raw text, tokens or parse records. Line n of the output has the links of pair n.
    """
    from synmt.alignment.aligner import load_aligner
    from synmt.alignment.stream import link_stream
    from synmt.data.records import BitextFiles

    pairs = BitextFiles.open(files, settings)
    with usage():
        config, text = config_of(AlignConfig, settings), config_of(TextConfig, pairs.with_languages_inside(settings))

    link_stream(partial(load_aligner, model, method, device), pairs, config, text, on_error, jobs)
