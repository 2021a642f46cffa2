"""`synmt run`: several systems, seeds and sizes from one file, to the table of a paper."""

from pathlib import Path

import click

from synmt.cli.metric_options import output_format
from synmt.cli.paths import Reads, Writes, check_apart
from synmt.cli.sections import SectionCommand, in_section
from synmt.options import MOST_JOBS
from synmt.streams import WrongUsage, write_lines

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
  synmt run systems.toml --task 1
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
@output_format("Tables", unless=("--list", "--task"))
@in_section("Options")("--list", "is_list", is_flag=True, help="Print the tasks of the run instead, one per line.")
@in_section("Options")(
    "--task", type=click.IntRange(1, 10**6), metavar="N", unless="--list",
    help="Do only task N of --list. Several processes can do tasks at once, in any order in which each finds what it"
    " needs.",
)  # fmt: skip
def command(
    file: Path, data: Path | None, out: Path | None, jobs: int, form: str, is_list: bool, task: int | None
) -> None:
    """Train, translate with and score all systems of a run file, with all seeds and sizes of the data.

    Finished work is saved in the folder, and a run that was stopped resumes from there; it is refused where it began
    with other data or options. Each score is a mean over the seeds, and the systems are compared with the first one.

    A line of --list has, between tabs, the number of a task, `done`, `ready` or `waiting`, its name, and the numbers of
    the tasks that it needs.
    """
    from synmt.runs.run import Run

    folder = out or file.with_suffix("")
    if folder == file:
        raise WrongUsage(f"{file} has no suffix, and would be its own folder: give --out")
    run = Run.open(file, folder, data, jobs)
    check_apart([("--out", str(folder))], [str(file), *map(str, run.files())])
    if is_list:
        write_lines(run.listed())
    elif task:
        run.do(task)
    else:
        write_lines(run.table(form))
