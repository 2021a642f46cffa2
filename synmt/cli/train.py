"""`synmt train`"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from synmt.cli.paths import Reads, Writes
from synmt.cli.sections import SectionCommand, in_section, options_of, options_of_ideas
from synmt.model.config import ModelConfig
from synmt.nn.config import TransformerConfig
from synmt.options import MOST_JOBS, Scope
from synmt.systems import SOURCE_IDEAS, TARGET_IDEAS
from synmt.text.tokenization import TextConfig
from synmt.training.config import VALIDATION, TrainingConfig
from synmt.training.presets import scope_of
from synmt.training.start import DEV, SystemConfig

EPILOG = """
\b
Examples:
  synmt train --model mask --source train.en --target train.de --out model
  synmt train --init base --source new.en --target new.de --out model
  paste parsed.jsonl train.de | synmt train --model mask --tsv - --out model
"""


of_data, of_output = in_section("Data"), in_section("Output")


def _scope(given: Mapping[str, Any]) -> Scope:
    if "init" not in given:
        return scope_of(given)
    from synmt.model.folder import read_folder_config

    return scope_of(given, read_folder_config(Path(given["init"]), ModelConfig)[0])


@click.command("train", cls=SectionCommand, epilog=EPILOG, scope=_scope)
@options_of(SystemConfig, "Model", preset=True)
@of_data("--source", metavar="FILE", type=Reads(), help="Source sentences: text, parse records or mask records.")
@of_data(
    "--target",
    metavar="FILE",
    type=Reads(),
    help="Target sentences: text, parse records or lines of synmt transitions.",
)
@of_data("--tsv", metavar="FILE", type=Reads(), help="Both as `source TAB target` lines, instead; - is standard input.")
@of_data("--dev-source", metavar="FILE", type=Reads(), help="Validation sources.")
@of_data("--dev-target", metavar="FILE", type=Reads(), help="Validation targets.")
@of_data("--dev-tsv", metavar="FILE", type=Reads(), help="Both as `source TAB target` lines, instead.")
@options_of(TextConfig, "Data")
@of_data(
    "--on-error", type=click.Choice(["fail", "blank"]), default="fail",
    help="A bad line stops the command, or its pair is left out and counted.",
)  # fmt: skip
@of_data(
    "--prepared", metavar="FOLDER", type=Writes(path_type=Path),
    help="Save the prepared training pairs here and look for them here, instead of ~/.cache/synmt/columns.",
)  # fmt: skip
@of_data(
    "--jobs", metavar="N", type=click.IntRange(1, MOST_JOBS), default=1,
    help="Processes that prepare the training pairs, unless an earlier run has.",
)  # fmt: skip
@of_output("--out", type=Writes(path_type=Path), required=True, help="The model folder to make.")
@of_output("--resume", is_flag=True, help="Continue the run in --out, with the same command.")
@of_output("--device", default="auto", help="auto, cpu, cuda or cuda:N.")
@options_of(TrainingConfig, "Training", preset=True, means={VALIDATION: DEV})
@options_of(TransformerConfig, "Network", preset=True)
@options_of_ideas(SOURCE_IDEAS)
@options_of_ideas(TARGET_IDEAS)
def command(
    source: str | None,
    target: str | None,
    tsv: str | None,
    dev_source: str | None,
    dev_target: str | None,
    dev_tsv: str | None,
    **asked: Any,
) -> None:
    """Train a translation model on sentence pairs.

    The folder holds the best model so far, the log and what --resume needs. Under torchrun all processes
    share the work. Raw text is parsed on the way where the system needs trees.
    """
    from synmt.api.training import train
    from synmt.training.run import pair_files

    dev = pair_files(dev_source, dev_target, dev_tsv) if dev_source or dev_target or dev_tsv else None
    train(pair_files(source, target, tsv), dev, **asked)
