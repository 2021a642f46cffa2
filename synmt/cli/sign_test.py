"""`synmt sign-test`"""

import click

from synmt.cli.metric_options import output_format
from synmt.cli.options import bad_input, input_files
from synmt.cli.sections import SectionCommand
from synmt.streams import read_lines, write_lines

EPILOG = """
\b
Examples:
  synmt sign-test scores.tsv
  synmt score base.de mask.de -r test.de --format tsv | synmt sign-test
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@input_files
@output_format("How to print the table")
def command(files: tuple[str, ...], form: str) -> None:
    """Test whether systems win more test sets than a baseline.

    The input is tables of `synmt score --format tsv`, one after the other, with the same systems or, under other names,
    as many in the same order; the first system is the baseline. A setting is a row of a table, such as a test set with
    a metric, but not the row `all` of --by-length. p is the probability of at least as many wins, without ties, if both
    systems were equal (sign test).
    """
    from synmt.metrics.comparisons import compare_settings, read_settings, report_signs

    with bad_input():
        tables = read_settings(read_lines(files))
    write_lines(report_signs(compare_settings(*tables), form))
