"""`synmt run`"""

from pathlib import Path

import click

from synmt.cli.metric_options import output_format
from synmt.cli.paths import Reads, Writes
from synmt.cli.sections import SectionCommand, in_section
from synmt.metrics.config import TableForm
from synmt.options import MOST_JOBS
from synmt.streams import write_lines

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
  synmt run systems.toml --against mask --report report.html
  synmt run systems.toml --list > steps.sh
"""


@click.command("run", cls=SectionCommand, epilog=EPILOG)
@click.argument("file", type=Reads(path_type=Path))
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of the data files.  [default: the folder of FILE]"
)
@click.option(
    "--out", type=Writes(folder=True, path_type=Path), help="Folder for all output.  [default: FILE without its suffix]"
)
@in_section("Options")(
    "--jobs", type=click.IntRange(1, MOST_JOBS), default=1, metavar="N",
    help="Do N steps at a time, and parse with N processes.",
)  # fmt: skip
@in_section("Options", unless=("--list", "--task"))(
    "--against", metavar="SYSTEM",
    help="Compare the systems below SYSTEM in FILE with it.  [default: the first]",
)  # fmt: skip
@output_format("How to print the table", unless=("--list", "--task"))
@in_section("Options", unless=("--list", "--task"))(
    "--report", "page", type=Writes(folder=False, path_type=Path), metavar="FILE",
    help="Also write an HTML page with tables, curves and sentences.",
)  # fmt: skip
@in_section("Options")("--list", "is_list", is_flag=True, help="Print the steps as a shell script instead.")
@in_section("Options")(
    "--task", type=click.IntRange(1, 10**6), metavar="N", unless="--list",
    help="Do only step N of --list, and the steps that it needs.",
)  # fmt: skip
def command(
    file: Path,
    data: Path | None,
    out: Path | None,
    jobs: int,
    against: str | None,
    form: TableForm,
    page: Path | None,
    is_list: bool,
    task: int | None,
) -> None:
    """Train, test and compare the systems of a run file, with all its seeds and data sizes.

    Scores are averages over the seeds, and each system is compared with the first. Run the command again to resume a
    run that was stopped; synmt refuses if the data or the options have changed.

    --list prints a shell script. Each line does one step, and the steps that it needs unless they are done; a comment
    shows its command. The lines can run in any order and at the same time, on any machines that share the folder.
    """
    from synmt.runs.run import Run

    run = Run.open(file, out, data, jobs, against)
    if is_list:
        write_lines(run.listed())
    elif task:
        run.do(task)
    else:
        write_lines(run.table(form, page))
