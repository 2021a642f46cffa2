"""`synmt significance`"""

from typing import Any

import click

from synmt.cli.metric_options import RULES, metric_options, output_format, references
from synmt.cli.options import bad_input, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, options_of
from synmt.metrics.config import MetricConfig, SignificanceConfig
from synmt.options import config_of
from synmt.streams import WrongUsage, write_lines

EPILOG = """
\b
Examples:
  synmt significance base.de mask.de --references test.de
  synmt significance base.de mask.de -r test.de --test randomization
"""
HINTS = dict.fromkeys(("--segments", "--lower-is-better"), "`synmt segment-test` compares tables of sentence scores")
COMMON = "references test resamples seed against level metric format"


@click.command(cls=SectionCommand, epilog=EPILOG, rules=RULES, hints=HINTS, common=COMMON)
@click.argument("systems", nargs=-1, metavar="[BASELINE SYSTEM...]", type=Reads())
@references
@options_of(SignificanceConfig, "Test", short={"test": "-t"})
@metric_options
@output_format("How to print the table")
def command(
    systems: tuple[str, ...], references: tuple[str, ...], metrics: list[str], form: str, **settings: Any
) -> None:
    """Test whether systems differ significantly from a baseline.

    Files are as for `synmt score`; the first system is the baseline. All systems and metrics share resamples. p is,
    for each test:

    t-test: that of a two-sided t-test of the difference, whose variance comes from resamples of the sentences, drawn
    with replacement; `synmt run` prints it for systems with one seed.

    bootstrap-wins: the share of resamples in which the better system does not win (paired bootstrap, Koehn 2004).

    bootstrap-shifted: the share of resamples whose difference, minus the mean difference, is at least the observed
    difference.

    bootstrap-sacrebleu: bootstrap-shifted with absolute differences and (1 + count) / (1 + resamples), as sacreBLEU's
    --paired-bs.

    randomization: (1 + count) / (1 + trials), counting trials with random swaps of outputs whose absolute difference is
    at least the observed one (approximate randomization, two-sided). sacreBLEU's --paired-ar does not count equal
    differences.

    `synmt segment-test` compares scores of other programs, and `synmt sign-test` compares systems over test sets.
    """
    with usage():
        config = config_of(SignificanceConfig, settings)
    if len(systems) < 2:
        raise WrongUsage("give the files of two or more systems")

    from synmt.metrics.comparisons import report_findings
    from synmt.metrics.reading import Files, open_input
    from synmt.metrics.significance import compare

    with bad_input():
        given = open_input(metrics, Files(systems, references), config_of(MetricConfig, settings))
        found = compare(given, config.test, config.resamples, config.seed, config.against)
    write_lines(report_findings(found, config.level, form))
