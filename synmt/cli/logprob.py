"""`synmt logprob`"""

from pathlib import Path
from typing import Any

import click

from synmt.cli.options import input_files, on_error
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, in_section, options_of
from synmt.options import config_of
from synmt.search.config import LogprobConfig
from synmt.streams import OnError

EPILOG = """
\b
Examples:
  synmt logprob model test.en test.de > test.nats
  paste test.en test.de | synmt logprob model --format jsonl
  paste test.en test.de | synmt logprob model --sum-trees 8
"""


@click.command("logprob", cls=SectionCommand, epilog=EPILOG)
@click.argument("model", type=Reads(path_type=Path))
@input_files
@options_of(LogprobConfig)
@in_section("Options")("--device", metavar="NAME", default="auto", help="auto, cpu, cuda or cuda:N.")
@on_error
def command(model: Path, files: tuple[str, ...], device: str, on_error: OnError, **settings: Any) -> None:
    """Write the log-probability, in nats, of each given translation.

    The input is `source TAB target` or `source ||| target` lines, or two parallel files, of raw text, tokens or parse
    records. Line n of the output has the log-probability of pair n.

    A model that writes arcs adds two numbers after tabs: the log-probability of the words and that of the arcs. In
    JSON, each token has its own.
    """
    from synmt.search.scores import logprob_stream

    logprob_stream(model, files, config_of(LogprobConfig, settings), device, on_error)
