"""`synmt significance`: whether systems differ by more than chance."""

from typing import Any

import click

from synmt.cli.metric_options import metric_options, output_format, references, scope_of_metrics
from synmt.cli.options import bad_input, or_stdin, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, options_of
from synmt.metrics.config import MetricConfig, SignificanceConfig
from synmt.options import config_of
from synmt.streams import WrongUsage, read_lines, write_lines

EPILOG = """
\b
Examples:
  synmt significance base.de mask.de --references test.de
  synmt significance base.de mask.de -r test.de --test randomization
  synmt significance --test sign scores.tsv
"""


@click.command(cls=SectionCommand, epilog=EPILOG, scope=scope_of_metrics)
@click.argument("systems", nargs=-1, metavar="[BASELINE SYSTEM...]", type=Reads())
@references(required=False)
@options_of(SignificanceConfig, "Test", short={"test": "-t"})
@metric_options
@output_format("A table")
def command(
    systems: tuple[str, ...], references: tuple[str, ...], metrics: list[str], form: str, **settings: Any
) -> None:
    """Test whether systems are better or worse than a baseline by more than chance.

    Systems and references are files as for synmt score, one sentence a line, and the first system is the baseline.
    The same resamples serve all systems and metrics. p is:

    bootstrap-wins: the share of resamples, drawn with replacement, in which the better system is not better (paired
    bootstrap, Koehn 2004).

    bootstrap-shifted: the share of those resamples whose difference, less the mean of all, is as large as the observed
    one.

    bootstrap-sacrebleu: that of the sizes of differences, (1 + count) / (1 + resamples), as sacreBLEU's --paired-bs.

    randomization: (1 + count) / (1 + trials) of trials that swap outputs at random and make a difference of the
    observed size (approximate randomization, two-sided). Unlike sacreBLEU's --paired-ar, it also counts trials whose
    difference equals the observed one.

    sign: the chance of as many wins over test sets, of those without ties. It reads no hypotheses but tables of scores,
    one or several after each other, as synmt score --format tsv writes them.
    """
    with usage():
        config = config_of(SignificanceConfig, settings)
    is_sign = config.test == "sign"
    if not is_sign and not (references and len(systems) > 1):
        raise WrongUsage("a test needs the files of two systems or more, and --references")

    from synmt.metrics.comparisons import compare_files, compare_tables
    from synmt.metrics.reading import Files

    with bad_input():
        if is_sign:
            lines = compare_tables(read_lines(or_stdin(systems)), form)
        else:
            files = Files(systems, references)
            lines = compare_files(metrics, files, config_of(MetricConfig, settings), config, form)
    write_lines(lines)
