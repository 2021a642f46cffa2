"""`synmt train`"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synmt.cli.options import usage
from synmt.cli.paths import Reads, Writes
from synmt.cli.sections import SectionCommand, defaults_of_presets, in_section, options_of, options_of_ideas
from synmt.model.config import ModelConfig
from synmt.nn.config import TransformerConfig
from synmt.options import MOST_JOBS
from synmt.streams import OnError
from synmt.systems import SOURCE_IDEAS, TARGET_IDEAS, systems
from synmt.text.tokenization import TextConfig, with_languages
from synmt.training.config import TrainingConfig
from synmt.training.presets import PRESETS, model_and_training
from synmt.training.start import model_and_training_of

if TYPE_CHECKING:
    from synmt.model.folder import ModelFolder

SHOWN = {name: PRESETS[name] for name in ("paper", "small", "medium", "large")}
EPILOG = """
\b
Examples:
  synmt train --model mask --source train.en --target train.de --out model
  synmt train --init base --source new.en --target new.de --out model
  paste parsed.jsonl train.de | synmt train --model mask --tsv - --out model
"""


of_model, of_data, of_output = in_section("Model"), in_section("Data"), in_section("Output")


def _opened(context: click.Context, parameter: click.Parameter, path: str | None) -> "ModelFolder[ModelConfig] | None":
    if path is None:
        return None
    from synmt.model.folder import ModelFolder

    return ModelFolder.open(Path(path), ModelConfig)


@click.command("train", cls=SectionCommand, epilog=EPILOG)
@of_model(
    "--model", metavar="SYSTEM", type=click.Choice(list(systems())),
    help=f"One of {', '.join(systems())}.  [sequence]",
)  # fmt: skip
@of_model(
    "--source-syntax", metavar="IDEA+IDEA", help=f"Ideas at work in the encoder instead: {', '.join(SOURCE_IDEAS)}."
)
@of_model(
    "--target-syntax", metavar="IDEA+IDEA", help=f"Those of the decoder, with any encoder: {', '.join(TARGET_IDEAS)}."
)
@of_model(
    "--preset", type=click.Choice(list(PRESETS)), metavar="NAME", default="paper",
    help=f"Settings by name: {', '.join(PRESETS)}.  [paper]",
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
    default=None,
    common=False,
    help="Have the decoder write an arc as two tokens: direction, relation.",
)
@of_model(
    "--root-arc",
    is_flag=True,
    default=None,
    common=False,
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
    help="A bad line stops the command, or its pair is left out and counted.  [fail]",
)  # fmt: skip
@of_data(
    "--prepared", metavar="FOLDER", type=Writes(path_type=Path), common=False,
    help="Keep the training pairs here as ids, and take them from here once they are here.",
)  # fmt: skip
@of_data(
    "--jobs", metavar="N", type=click.IntRange(1, MOST_JOBS), default=1, common=False,
    help="Processes that prepare the training pairs.  [1]",
)  # fmt: skip
@of_data("--codes", metavar="FILE", type=Reads(), help="BPE codes to use, instead of learning some.")
@of_output("--out", type=Writes(path_type=Path), required=True, help="The model folder to make.")
@of_output("--resume", is_flag=True, help="Go on with the run in --out, with the same command.")
@of_output("--device", default="auto", help="auto, cpu, cuda or cuda:N.  [auto]")
@options_of(TrainingConfig, "Training", defaults=defaults_of_presets(TrainingConfig, SHOWN))
@options_of(TransformerConfig, "Network", defaults=defaults_of_presets(TransformerConfig, SHOWN))
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
