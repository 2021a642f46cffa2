"""`synmt significance`"""

from typing import Any

import click

from synmt.cli.metric_options import RULES, metric_options, output_format, references
from synmt.cli.options import bad_input, or_stdin, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, in_section, options_of
from synmt.metrics.config import MetricConfig, SignificanceConfig
from synmt.options import config_of
from synmt.streams import WrongUsage, read_lines, write_lines

EPILOG = """
\b
Examples:
  synmt significance base.de mask.de --references test.de
  synmt significance base.de mask.de -r test.de --test randomization
  synmt significance --test sign scores.tsv
  synmt significance --segments comet.tsv
"""


COMMON = "references segments test resamples seed against level metric format"


@click.command(cls=SectionCommand, epilog=EPILOG, rules=RULES, common=COMMON)
@click.argument("systems", nargs=-1, metavar="[BASELINE SYSTEM...]", type=Reads())
@references(required=False)
@in_section("Input", unless="--test sign")(
    "--segments", is_flag=True, help="Read a table of sentence scores, such as COMET's.",
)  # fmt: skip
@in_section("Input", needs="--segments")("--lower-is-better", is_flag=True, help="Lower scores are better.")
@options_of(SignificanceConfig, "Test", short={"test": "-t"})
@metric_options
@output_format("How to print the table")
def command(
    systems: tuple[str, ...],
    references: tuple[str, ...],
    segments: bool,
    lower_is_better: bool,
    metrics: list[str],
    form: str,
    **settings: Any,
) -> None:
    """Test whether systems differ significantly from a baseline.

    Files are as for `synmt score`; the first system is the baseline. All systems and metrics share resamples. p is,
    for each test:

    bootstrap-wins: the share of resamples, drawn with replacement, in which the better system does not win (paired
    bootstrap, Koehn 2004).

    bootstrap-shifted: the share of resamples whose difference, minus the mean difference, is at least the observed
    difference.

    bootstrap-sacrebleu: bootstrap-shifted with absolute differences and (1 + count) / (1 + resamples), as sacreBLEU's
    --paired-bs.

    randomization: (1 + count) / (1 + trials), counting trials with random swaps of outputs whose absolute difference is
    at least the observed one (approximate randomization, two-sided). sacreBLEU's --paired-ar does not count equal
    differences.

    sign: the probability of at least as many wins over test sets, without ties. Reads tables from `synmt score
    --format tsv` instead of hypotheses.

    With --segments, the input is a table of sentence scores: the names of the systems, then one row per sentence.
    """
    with usage():
        config = config_of(SignificanceConfig, settings)
    is_sign = config.test == "sign"
    if segments and len(systems) > 1:
        raise WrongUsage("--segments reads one table")
    if not is_sign and not segments and not (references and len(systems) > 1):
        raise WrongUsage("give the files of two or more systems, and --references")

    from synmt.metrics.comparisons import compare_settings, read_settings, report_findings, report_signs
    from synmt.metrics.reading import Files, open_input
    from synmt.metrics.segments import read_segments
    from synmt.metrics.significance import compare

    with bad_input():
        if is_sign:
            tables = read_settings(read_lines(or_stdin(systems)))
            return write_lines(report_signs(compare_settings(*tables), form))
        if segments:
            given = read_segments(read_lines(or_stdin(systems)), not lower_is_better)
        else:
            given = open_input(metrics, Files(systems, references), config_of(MetricConfig, settings))
        found = compare(given, config.test, config.resamples, config.seed, config.against)
    write_lines(report_findings(found, config.level, form))
