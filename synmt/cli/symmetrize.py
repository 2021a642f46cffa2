"""`synmt symmetrize`"""

from collections.abc import Mapping
from typing import Any

import click

from synmt.alignment.config import JSON, SymmetrizeConfig
from synmt.cli.options import LEXICON, on_error, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, in_section, options_of
from synmt.options import Choice, Rules, config_of, option_names
from synmt.streams import OnError, WrongUsage
from synmt.text.tokenization import TextConfig

EPILOG = """
\b
Examples:
  synmt symmetrize de-en.links en-de.links > links
  synmt symmetrize de-en.links en-de.links --heuristic union > links
  synmt symmetrize de-en.links en-de.links old.links --threshold 0.5 > links
  synmt symmetrize test.links --pairs bitext.tsv --end-punctuation > links
  synmt symmetrize test.links --pairs test.de --pairs test.en --scores
"""
FILES = "name the files of links without an option: synmt symmetrize FORWARD BACKWARD"
HINTS = {"-i": FILES, "-j": FILES, "-c": "--heuristic names how the directions are merged", "--lexicon": LEXICON}
HOW = {"heuristic", "threshold"}
OF_WORDS = {"end-punctuation", "tree-links", "scores"}
OTHERS = {*option_names(SymmetrizeConfig)} - HOW - OF_WORDS


def _choose(given: Mapping[str, Any]) -> Choice:
    of_words = [*OF_WORDS, *option_names(TextConfig)]
    return Choice(needs={} if given.get("pairs") else dict.fromkeys(of_words, "--pairs"))


@click.command("symmetrize", cls=SectionCommand, epilog=EPILOG, rules=Rules(_choose), hints=HINTS)
@click.argument("links", nargs=-1, required=True, metavar="LINKS...", type=Reads())
@options_of(SymmetrizeConfig, "Links", only=HOW)
@options_of(SymmetrizeConfig, "Links", only=OTHERS)
@in_section("Words")(
    "--pairs", multiple=True, metavar="FILE", type=Reads(),
    help="The sentence pairs: a file of `source TAB target` lines or, given twice, two parallel files.",
)  # fmt: skip
@options_of(SymmetrizeConfig, "Words", only=OF_WORDS)
@options_of(TextConfig, "Words")
@on_error
def command(links: tuple[str, ...], pairs: tuple[str, ...], on_error: OnError, **settings: Any) -> None:
    """Merge files of links into one.

    LINKS are two files, forward and backward, or more files, which vote, in the formats Pharaoh, A3, JSON or numbered
    links. Line n of each file and of the output has the links of pair n.

    Words are needed only for the options below `--pairs` and for JSON. If you name the pairs, links to words that do
    not exist are refused.
    """
    with usage():
        config = config_of(SymmetrizeConfig, settings)
    if config.format in JSON and not pairs:
        raise WrongUsage(f"--format {config.format} needs --pairs")
    from synmt.alignment.stream import symmetrize_stream
    from synmt.data.records import BitextFiles

    files = BitextFiles.open(pairs, settings)
    with usage():
        text = config_of(TextConfig, files.with_languages(settings))
    symmetrize_stream(links, files, config, text, on_error)
