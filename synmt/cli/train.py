"""`synmt train`"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synmt.cli.options import usage
from synmt.cli.paths import Reads, Writes
from synmt.cli.sections import SectionCommand, in_section, options_of, options_of_ideas
from synmt.model.config import ModelConfig
from synmt.nn.config import TransformerConfig
from synmt.options import MOST_JOBS, Scope
from synmt.streams import OnError
from synmt.systems import SOURCE_IDEAS, TARGET_IDEAS, systems
from synmt.text.tokenization import TextConfig, with_languages
from synmt.training.config import OTHER_IDEAS, SPELLED_ARCS, VALIDATION, TrainingConfig
from synmt.training.presets import PRESETS, model_and_training, scope_of
from synmt.training.start import model_and_training_of

if TYPE_CHECKING:
    from synmt.model.folder import ModelFolder

EPILOG = """
\b
Examples:
  synmt train --model mask --source train.en --target train.de --out model
  synmt train --init base --source new.en --target new.de --out model
  paste parsed.jsonl train.de | synmt train --model mask --tsv - --out model
"""


INIT, DEV = "--init", ("--dev-source", "--dev-tsv")
of_model, of_data, of_output = in_section("Model"), in_section("Data"), in_section("Output")


def _opened(context: click.Context, parameter: click.Parameter, path: str | None) -> "ModelFolder[ModelConfig] | None":
    if path is None:
        return None
    from synmt.model.folder import ModelFolder

    return ModelFolder.open(Path(path), ModelConfig)


def _scope(given: Mapping[str, Any]) -> Scope:
    start = given.get("init")  # of --help, it is no more than a path
    return scope_of(given, None if start is None or isinstance(start, str) else start.config)


@click.command("train", cls=SectionCommand, epilog=EPILOG, scope=_scope)
@of_model(
    "--model", metavar="SYSTEM", type=click.Choice(list(systems())), unless=(INIT, OTHER_IDEAS),
    help=f"One of {', '.join(systems())}; `synmt train --model SYSTEM --help` shows its options. Without it, sequence.",
)  # fmt: skip
@of_model(
    "--source-syntax", metavar="IDEA+IDEA", unless=INIT,
    help=f"Ideas at work in the encoder instead: {', '.join(SOURCE_IDEAS)}.",
)  # fmt: skip
@of_model(
    "--target-syntax", metavar="IDEA+IDEA", unless=INIT,
    help=f"Ideas at work in the decoder, with any encoder: {', '.join(TARGET_IDEAS)}.",
)  # fmt: skip
@of_model(
    "--preset", type=click.Choice(list(PRESETS)), metavar="NAME", default="paper",
    help=f"Settings by name: {', '.join(PRESETS)}; `synmt train --preset NAME --help` shows them.",
)  # fmt: skip
@of_model(
    "--init",
    metavar="MODEL",
    type=Reads(),
    callback=_opened,
    help="Begin with this model, and learn from other data what it lacks.",
)
@of_model(
    "--split-arcs",
    is_flag=True,
    needs=SPELLED_ARCS,
    unless=INIT,
    default=None,
    help="Have the decoder write an arc as two tokens: direction, relation.",
)
@of_model(
    "--root-arc",
    is_flag=True,
    needs=SPELLED_ARCS,
    unless=INIT,
    default=None,
    help="Have the decoder write an arc for the root as well, at the end.",
)
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
    help="Keep the training pairs here as ids, and take them from here once they are here.",
)  # fmt: skip
@of_data(
    "--jobs", metavar="N", type=click.IntRange(1, MOST_JOBS), default=1,
    help="Processes that prepare the training pairs.",
)  # fmt: skip
@of_data("--codes", metavar="FILE", type=Reads(), unless=INIT, help="BPE codes to use, instead of learning some.")
@of_output("--out", type=Writes(path_type=Path), required=True, help="The model folder to make.")
@of_output("--resume", is_flag=True, help="Continue the run in --out, with the same command.")
@of_output("--device", default="auto", help="auto, cpu, cuda or cuda:N.")
@options_of(TrainingConfig, "Training", preset=True, means={VALIDATION: DEV})
@options_of(TransformerConfig, "Network", preset=True)
@options_of_ideas(SOURCE_IDEAS)
@options_of_ideas(TARGET_IDEAS)
def command(
    dev_source: str | None,
    dev_target: str | None,
    dev_tsv: str | None,
    tsv: str | None,
    on_error: OnError,
    out: Path,
    resume: bool,
    device: str,
    prepared: Path | None,
    jobs: int,
    **asked: Any,
) -> None:
    """Train a translation model on sentence pairs.

    The folder holds the best model so far, the log and what --resume needs. Under torchrun all processes
    share the work. Raw text is parsed on the way where the system needs trees.
    """
    with usage():
        model, training = configs_of(**asked)
    from synmt.training.run import pair_files, train

    data = pair_files(asked["source"], asked["target"], tsv)
    dev = pair_files(dev_source, dev_target, dev_tsv) if dev_source or dev_target or dev_tsv else None
    train(out, data, dev, model, training, asked["codes"], resume, device, on_error, asked["init"], prepared, jobs)


def configs_of(
    source: str | None, target: str | None, preset: str, init: "ModelFolder[ModelConfig] | None", **settings: Any
) -> tuple[ModelConfig, TrainingConfig]:
    """Return what these options of the command ask for. Raises ValueError."""
    given = {name: value for name, value in settings.items() if value is not None}
    given = with_languages(given, source, target)
    if init:
        return model_and_training_of(init.config, PRESETS[preset], given)
    return model_and_training(PRESETS[preset], given)
