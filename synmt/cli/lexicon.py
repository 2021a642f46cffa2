"""`synmt lexicon`"""

from typing import Any

import click

from synmt.alignment.config import LexiconConfig
from synmt.cli.options import input_files, on_error, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, options_of
from synmt.options import config_of
from synmt.streams import OnError
from synmt.text.tokenization import TextConfig

EPILOG = """
\b
Examples:
  synmt lexicon train.links train.de train.en > lexicon.tsv
  synmt align bitext.tsv | synmt lexicon - bitext.tsv --min-count 3 --phrases
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@click.argument("links", type=Reads())
@input_files
@options_of(LexiconConfig, "Terms")
@options_of(TextConfig, "Text")
@on_error
def command(links: str, files: tuple[str, ...], on_error: OnError, **settings: Any) -> None:
    """Write a table of linked words or terms, for terminology.

    LINKS are those of the sentence pairs in the files, which are as for `synmt align`. Each row has a source term and a
    target term; how often they are linked; the share of this count in all counts of the source term, and of the target
    term; and the shortest pair of sentences in which they are linked, with its line number.
    """
    from synmt.alignment.stream import lexicon_stream
    from synmt.data.records import BitextFiles

    pairs = BitextFiles.open(files, settings)
    text = pairs.with_languages(settings)
    with usage():
        lexicon_stream(links, pairs, config_of(LexiconConfig, settings), config_of(TextConfig, text), on_error)
