"""`synmt strip-markup`"""

import click

from synmt.cli.options import input_files, on_error
from synmt.cli.sections import SectionCommand
from synmt.streams import BadLines, OnError, convert_files

EPILOG = """
\b
Examples:
  synmt strip-markup page.en > test.en
  synmt strip-markup page.en | synmt translate model > test.de
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@input_files
@on_error
def command(files: tuple[str, ...], on_error: OnError) -> None:
    """Remove inline markup from text, for translation.

    Lines can be HTML, XLIFF or TMX. Content that must not be translated, such as <code>, is removed, too, and character
    references such as &amp; become characters.
    """
    from synmt.text.markup import read_markup

    convert_files(files, lambda line: read_markup(line).text, BadLines(on_error))
