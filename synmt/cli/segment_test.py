"""`synmt segment-test`"""

from typing import Any

import click

from synmt.cli.metric_options import output_format
from synmt.cli.options import bad_input, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, in_section, options_of
from synmt.metrics.config import SignificanceConfig
from synmt.options import config_of
from synmt.streams import read_lines, write_lines

EPILOG = """
\b
Examples:
  synmt segment-test comet.tsv
  synmt segment-test comet.tsv --test randomization --against best
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@click.argument("table", default="-", type=Reads())
@in_section("Input")("--lower-is-better", is_flag=True, help="Lower scores are better.")
@options_of(SignificanceConfig, "Test", short={"test": "-t"})
@output_format("How to print the table")
def command(table: str, lower_is_better: bool, form: str, **settings: Any) -> None:
    """Test whether sentence scores of another program, such as COMET's, differ significantly.

    TABLE has the names of the systems, between tabs, then one row of scores per sentence. The first system is the
    baseline. `synmt significance --help` describes the tests.
    """
    with usage():
        config = config_of(SignificanceConfig, settings)

    from synmt.metrics.comparisons import report_findings
    from synmt.metrics.segments import read_segments
    from synmt.metrics.significance import compare

    with bad_input():
        given = read_segments(read_lines([table]), not lower_is_better)
        found = compare(given, config.test, config.resamples, config.seed, config.against)
    write_lines(report_findings(found, config.level, form))
