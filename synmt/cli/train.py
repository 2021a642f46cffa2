"""`synmt train`"""

from pathlib import Path
from typing import Any

import click

from synmt.cli.paths import Reads, Writes
from synmt.cli.sections import OneOf, SectionCommand, in_section, options_of, options_of_components
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.nn.config import TransformerConfig
from synmt.options import MOST_JOBS
from synmt.streams import OnError
from synmt.text.tokenization import TextConfig
from synmt.training.config import TrainingConfig
from synmt.training.start import RULES, SystemConfig

EPILOG = """
\b
Examples:
  synmt train --model mask --source train.en --target train.de --out model
  synmt train --init base --source new.en --target new.de --out model
  paste parsed.jsonl train.de | synmt train --model mask --tsv - --out model
"""


COMMON = """
source target tsv dev-source dev-target source-language target-language out resume device
model preset init batch-tokens learning-rate epochs minutes patience seed
width encoder-layers decoder-layers dropout
"""
of_data, of_output = in_section("Data"), in_section("Output")


@click.command("train", cls=SectionCommand, epilog=EPILOG, rules=RULES, common=COMMON)
@of_data("--source", metavar="FILE", type=Reads(), help="Source text, parse records or mask records.")
@of_data("--target", metavar="FILE", type=Reads(), help="Target text, parse records or `synmt transitions`.")
@of_data("--tsv", metavar="FILE", type=Reads(), help="Or both, as `source TAB target` lines.")
@of_data("--dev-source", metavar="FILE", type=Reads(), help="Validation sources.")
@of_data("--dev-target", metavar="FILE", type=Reads(), help="Validation targets.")
@of_data("--dev-tsv", metavar="FILE", type=Reads(), help="Or both, as `source TAB target` lines.")
@options_of(TextConfig, "Data")
@of_data(
    "--on-error", type=OneOf(["fail", "blank"]), default="fail",
    help="At a bad line, stop; or skip and count its pair.",
)  # fmt: skip
@of_data(
    "--prepared", metavar="FOLDER", type=Writes(folder=True, path_type=Path),
    help="Folder for the columns of the training pairs, instead of the cache.",
)  # fmt: skip
@of_data(
    "--jobs", metavar="N", type=click.IntRange(1, MOST_JOBS), default=1,
    help="Processes that prepare the training pairs, unless an earlier run has.",
)  # fmt: skip
@of_output(
    "--out",
    metavar="FOLDER",
    type=Writes(folder=True, path_type=Path),
    required=True,
    help="Folder for the best model and its log.",
)
@of_output("--resume", is_flag=True, help="Resume the run in --out; repeat its command.")
@of_output("--device", metavar="NAME", default="auto", help="auto, cpu, cuda or cuda:N.")
@options_of(SystemConfig, "Model", preset=True)
@options_of(TrainingConfig, "Training", preset=True)
@options_of(TransformerConfig, "Network", preset=True)
@options_of_components(ENCODER_COMPONENTS)
@options_of_components(DECODER_COMPONENTS)
def command(
    source: str | None,
    target: str | None,
    tsv: str | None,
    dev_source: str | None,
    dev_target: str | None,
    dev_tsv: str | None,
    out: Path,
    resume: bool,
    device: str,
    on_error: OnError,
    prepared: Path | None,
    jobs: int,
    **settings: Any,
) -> None:
    """Train a translation model on sentence pairs.

    Raw text is parsed first if the system needs trees. Under torchrun, all processes share the work.
    """
    from synmt.training.run import pair_files, train_with

    dev = pair_files(dev_source, dev_target, dev_tsv, "dev-") if dev_source or dev_target or dev_tsv else None
    train_with(settings, pair_files(source, target, tsv), dev, out, resume, device, on_error, prepared, jobs)
