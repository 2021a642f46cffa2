"""`synmt strip-markup`"""

import click

from synmt.cli.options import input_files, on_error
from synmt.cli.sections import SectionCommand
from synmt.streams import BadLines, OnError, convert_files, write_lines
from synmt.streams.inputs import EXCHANGE

EPILOG = """
\b
Examples:
  synmt strip-markup page.en > test.en
  synmt strip-markup page.xlf > page.en
  synmt strip-markup page.en | synmt translate model > test.de
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@input_files
@on_error
def command(files: tuple[str, ...], on_error: OnError) -> None:
    """Remove inline markup from text, for translation.

    Lines can be HTML, XLIFF or TMX. Content that must not be translated, such as <code>, is removed, too, and character
    references such as &amp; become characters.

    Of a TMX or XLIFF file, the output has the source of each segment.
    """
    from synmt.text.markup import read_markup

    if files[0].endswith(EXCHANGE):
        from synmt.text.exchange import open_exchange

        bad = BadLines(on_error)
        write_lines(source.text for each in open_exchange(files) for source, _ in each.columns(bad))
        return bad.report()

    convert_files(files, lambda line: read_markup(line).text, BadLines(on_error))
