"""`synmt strip-markup`"""

import click

from synmt.cli.options import input_files, on_error
from synmt.cli.sections import Language, SectionCommand
from synmt.options import REGIONAL
from synmt.streams import BadLines, OnError, WrongUsage, convert_files, write_lines
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
@click.option("--source-language", type=Language(REGIONAL), help="Which language of a TMX file to write.")
@on_error
def command(files: tuple[str, ...], source_language: str | None, on_error: OnError) -> None:
    """Remove inline markup from text, for translation.

    Lines can be HTML, XLIFF or TMX. Content that must not be translated, such as <code>, is removed, too, and character
    references such as &amp; become characters.

    Of a TMX or XLIFF file, the output has the source of each segment.
    """
    from synmt.text.markup import read_markup

    if files[0].endswith(EXCHANGE):
        from synmt.text.exchange import open_exchange

        bad, opened = BadLines(on_error), open_exchange(files, source_language, needs_target=False)
        write_lines(source.text for each in opened for source, _ in each.columns(bad))
        return bad.report()

    if source_language:
        raise WrongUsage("--source-language has no effect on lines: it chooses a language of a TMX file")
    convert_files(files, lambda line: read_markup(line).text, BadLines(on_error))
