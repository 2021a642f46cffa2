"""`synmt run`: several systems, seeds and sizes from one file, to the table of a paper."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synmt.cli.metric_options import output_format
from synmt.cli.paths import Reads, Writes, check_apart
from synmt.cli.sections import SectionCommand
from synmt.model.config import ModelConfig
from synmt.options import MOST_JOBS
from synmt.streams import BadInput, WrongUsage, write_lines

if TYPE_CHECKING:
    from synmt.runs.file import Options, RunFile

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
@click.argument("file", type=Reads(path_type=Path))
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of the data that FILE names.  [default: the folder of FILE]"
)
@click.option(
    "--out", type=Writes(path_type=Path), help="Folder to write everything to.  [default: FILE without its suffix]"
)
@click.option(
    "--jobs", type=click.IntRange(1, MOST_JOBS), default=1, metavar="N",
    help="Train this many models at a time, and parse with as many processes.",
)  # fmt: skip
@output_format("Tables")
def command(file: Path, data: Path | None, out: Path | None, jobs: int, form: str) -> None:
    """Train, translate with and score all systems of a run file, with all seeds and sizes of the data.

    Finished work is saved in the folder, and a run that was stopped resumes from there; it is refused where it began
    with other data or options. Each score is a mean over the seeds, and the systems are compared with the first one.
    """
    from synmt.runs.data import check_data
    from synmt.runs.file import read_run, safe_path
    from synmt.runs.plan import plan
    from synmt.runs.table import report, results
    from synmt.runs.translations import translate_all
    from synmt.runs.work import Workplace, train_all

    folder = out or file.with_suffix("")
    if folder == file:
        raise WrongUsage(f"{file} has no suffix, and would be its own folder: give --out")
    try:
        run = with_options(read_run(file, data))
    except ValueError as error:
        raise BadInput(str(error), str(file)) from None
    check_apart([("--out", str(folder))], [str(file), *map(str, run.files())])
    planned = plan(run, model_of)
    check_data(run, planned)
    place = Workplace(safe_path(folder), run)
    with place.opened():
        ready = place.prepare(planned, jobs)
        trained = train_all(place, planned, ready, jobs)
        chosen = translate_all(place, planned, ready, jobs)
        found = list(results(place, planned, ready, chosen))
    write_lines(report(found, trained, form))


def with_options(run: "RunFile") -> "RunFile":
    """Return the run with options as `checked` returns them. Raises ValueError."""
    from synmt.cli.parse import command as parse
    from synmt.cli.train import command as train
    from synmt.cli.translate import command as translate

    tables = {
        kind: checked(command, kind, kind, run.options.get(kind, {}))
        for kind, command in (("train", train), ("parse", parse), ("translate", translate))
    }
    systems = {name: checked(train, "train", f"system {name}", own) for name, own in run.systems.items()}
    make_context(parse, "parse", tables["parse"], ["text"])
    for own in run.tuned.choices if run.tuned else [{}]:
        options = {**tables["translate"], **checked(translate, "translate", "translate", own)}
        make_context(translate, "translate", options, ["model"])
    return replace(run, options=tables, systems=systems)


def checked(command: click.Command, kind: str, place: str, options: "Options") -> "Options":
    """Return options of a command, with a Path for each file that one names.

    kind: its name; place: where the options are in the run file. Raises ValueError for a name that is no option of the
    command or one that the run itself gives, for a value of an option that takes none, and the other way round.
    """
    from synmt.runs.file import OWN, safe_path

    known = {
        name.removeprefix("--"): each
        for each in command.params
        for name in [*each.opts, *each.secondary_opts]
        if isinstance(each, click.Option) and name.startswith("--")
    }
    checked: dict[str, object] = {}
    for name, value in options.items():
        if name in OWN[kind]:
            raise ValueError(f"{place}: {name} is up to the run itself")
        if name not in known:
            raise ValueError(f"{place}: No such option '--{name}'.")
        parameter = known[name]
        if (value is True) != parameter.is_flag:
            raise ValueError(f"{place}: {name} takes {'no' if parameter.is_flag else 'a'} value")
        is_file = isinstance(parameter.type, click.Path) and Path(str(value)).exists()
        if isinstance(parameter.type, click.Path) and not is_file and parameter.metavar != "NAME|PATH":
            raise ValueError(f"{place}: {name}: no file {value}")
        checked[name] = safe_path(Path(str(value))) if is_file else value
    return checked


def make_context(command: click.Command, place: str, options: "Options", words: list[str]) -> click.Context:
    """Return what a command makes of options and other words. Raises ValueError."""
    from synmt.runs.file import arguments

    try:
        return command.make_context(place, [*arguments(options), *words])
    except (click.ClickException, WrongUsage) as error:
        raise ValueError(f"{place}: {_cause(error)}") from None


def model_of(arguments: Sequence[str]) -> ModelConfig:
    """Return the model that `synmt train` makes of arguments. Raises ValueError."""
    from synmt.cli.train import command as train
    from synmt.cli.train import configs_of

    try:
        context = train.make_context("train", [*arguments, "--dev-tsv", os.devnull, "--out", os.devnull])
    except (click.ClickException, WrongUsage) as error:
        raise ValueError(_cause(error)) from None
    model, _ = configs_of(**context.params)
    return model


def _cause(error: Exception) -> str:
    return error.format_message() if isinstance(error, click.ClickException) else str(error)
