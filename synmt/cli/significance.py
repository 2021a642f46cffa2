"""`synmt significance`: whether systems differ by more than chance."""

from typing import Any

import click

from synmt.cli.metric_options import metric_options, output_format, references
from synmt.cli.options import or_stdin
from synmt.streams import BadInput, LineWriter, read_lines

TESTS = ("bootstrap-wins", "bootstrap-shifted", "bootstrap-sacrebleu", "randomization", "sign")

EPILOG = """
\b
Examples:
  synmt significance base.de mask.de --references test.de
  synmt significance base.de mask.de -r test.de --metric bleu,ribes --test randomization
  synmt score base.de mask.de -r test.de --format tsv | synmt significance --test sign
"""


@click.command(epilog=EPILOG)
@click.argument("systems", nargs=-1, metavar="[BASELINE SYSTEM...]")
@references(required=False)
@click.option(
    "-t", "--test", type=click.Choice(TESTS), default="bootstrap-wins", show_default=True, help="See above."
)
@click.option("--resamples", type=click.IntRange(1), default=10_000, show_default=True, help="Or random trials.")
@click.option("--seed", type=click.IntRange(0), default=12345, show_default=True)
@click.option(
    "--against",
    type=click.Choice(["first", "best"]),
    default="first",
    show_default=True,
    help="Compare systems with the first one, or by each metric with the best one.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Differences are marked below this p.",
)
@metric_options
@output_format("A table")
def command(
    systems: tuple[str, ...],
    references: tuple[str, ...],
    test: str,
    resamples: int,
    seed: int,
    against: Any,
    level: float,
    metrics: list[str],
    form: str,
    **choices: Any,
) -> None:
    """Whether systems are better or worse than a baseline by more than chance.

    Systems and references are files as for synmt score, one sentence a line, and the first system is the baseline.
    The same resamples serve all systems and metrics. p is:

    \b
    bootstrap-wins       the share of resamples, drawn with replacement, in which the better system is not better
                         (paired bootstrap, Koehn 2004)
    bootstrap-shifted    the share of those resamples whose difference, less the mean of all, is as large as the
                         observed one
    bootstrap-sacrebleu  that of the sizes of differences, (1 + count) / (1 + resamples): sacreBLEU's --paired-bs
    randomization        (1 + count) / (1 + trials) of trials that swap outputs at random and make a difference of
                         the observed size (approximate randomization, two-sided: sacreBLEU's --paired-ar)
    sign                 the chance of as many wins over test sets, of those without ties. Reads no hypotheses but
                         tables of scores, one or several after each other, as synmt score --format tsv writes them
    """
    if test == "sign" and (references or against == "best"):
        raise click.UsageError("--test sign reads tables of scores: they have no references, and no best system")
    if test != "sign" and not (references and len(systems) > 1):
        raise click.UsageError("a test needs the files of two systems or more, and --references")

    from synmt.metrics.opening import Choices
    from synmt.metrics.reading import Files, open_input
    from synmt.metrics.significance import compare
    from synmt.metrics.significance_report import FORMATS, SIGN_FORMATS
    from synmt.metrics.signs import compare_settings, read_settings

    try:
        if test == "sign":
            lines = SIGN_FORMATS[form](compare_settings(*read_settings(read_lines(or_stdin(systems)))))
        else:
            given = open_input(metrics, Files(systems, references), Choices(**choices))
            lines = FORMATS[form](compare(given, test, resamples, seed, against), level)
    except ValueError as error:
        raise BadInput(str(error)) from None
    with LineWriter() as output:
        for line in lines:
            output.write(line)
