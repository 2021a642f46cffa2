"""`synmt run`: several systems, seeds and sizes from one file, to the table of a paper."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synmt.cli.metric_options import output_format
from synmt.cli.sections import SectionCommand
from synmt.model.config import ModelConfig
from synmt.streams import BadInput, WrongUsage, write_lines

if TYPE_CHECKING:
    from synmt.runs.file import RunFile

EPILOG = """
\b
Example of a FILE:
  seeds = [1, 2, 3]
  [data]
  train = ["train.en", "train.de"]
  dev = ["val.en", "val.de"]
  [tests]
  flickr = ["test.en", "test.de"]
  [train]
  preset = "small"
  [systems]
  sequence = {}
  mask = {}
  "mask+pascal" = { pascal-heads = 1 }

\b
Examples:
  synmt run systems.toml
  synmt run systems.toml --jobs 2 --format latex > table.tex
"""


@click.command("run", cls=SectionCommand, epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of the data that FILE names, if not that of FILE."
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder of all that is made, if not FILE without its suffix."
)
@click.option(
    "--jobs", type=click.IntRange(1), default=1, metavar="N", help="Models that are trained at a time, and parsers."
)
@output_format("Tables")
def command(file: Path, data: Path | None, out: Path | None, jobs: int, form: str) -> None:
    """Train, translate with and score all systems of a run file, with all seeds and sizes of the data.

    What is done is kept in the folder, and a run that was stopped goes on from there. Each score is a mean over the
    seeds, and the systems are compared with the first one.
    """
    from synmt.runs.file import read_run
    from synmt.runs.plan import plan
    from synmt.runs.table import report, results
    from synmt.runs.translations import check_dev, translate_all
    from synmt.runs.work import Workplace, train_all

    run = read_run(file, data)
    check_translate(run, file)
    check_dev(run)
    planned = plan(run, model_of)
    place = Workplace(out or file.with_suffix(""), run)
    with place.opened():
        ready = place.prepare(planned, jobs)
        trained = train_all(place, planned, ready, jobs)
        chosen = translate_all(place, planned, ready, jobs)
        found = list(results(place, planned, ready, chosen))
    write_lines(report(found, trained, form))


def check_translate(run: "RunFile", file: Path) -> None:
    """Raise BadInput for options that `synmt translate` does not take."""
    from synmt.cli.translate import command as translate
    from synmt.runs.file import arguments

    for own in run.tuned.choices if run.tuned else [{}]:
        try:
            translate.make_context("translate", ["model", *arguments({**run.options["translate"], **own})])
        except (click.ClickException, WrongUsage) as error:
            raise BadInput(f"translate: {_cause(error)}", str(file)) from None


def model_of(arguments: Sequence[str]) -> ModelConfig:
    """Return the model that `synmt train` makes of arguments. Raises ValueError."""
    from synmt.cli.train import command as train
    from synmt.cli.train import configs_of

    try:
        context = train.make_context("train", [*arguments, "--dev-tsv", os.devnull, "--out", os.devnull])
    except click.ClickException as error:
        raise ValueError(_cause(error)) from None
    model, _ = configs_of(**context.params)
    return model


def _cause(error: Exception) -> str:
    return error.format_message() if isinstance(error, click.ClickException) else str(error)
