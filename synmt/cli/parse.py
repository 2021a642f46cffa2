"""`synmt parse`: sentences to parse records."""

from typing import Any, get_args

import click

from synmt.cli.options import input_files, on_error
from synmt.cli.sections import OneOf, SectionCommand, given_in, in_section, options_of
from synmt.options import MOST_JOBS, config_of
from synmt.parsers.config import RULES, ParserConfig, language_from
from synmt.parsers.stream import Again, parses_of_lines, parses_of_trees, write_records
from synmt.streams import BadLines, OnError, WrongUsage, count_lines, read_lines
from synmt.trees.formats import FORMATS, reader, sentences

EPILOG = """
\b
Examples:
  synmt parse --jobs 2 train.en > train.jsonl
  echo 'He is my father.' | synmt parse --parser udpipe
  synmt parse --input records --again trees train.jsonl > again.jsonl
"""


HINTS = {"--strip": "`synmt convert --input ptb --strip` removes traces and function tags"}
TREES = tuple(f"--input {kind}" for kind in FORMATS)


@click.command(cls=SectionCommand, epilog=EPILOG, rules=RULES, hints=HINTS)
@input_files
@in_section("Input")(
    "--input", "kind", type=OneOf(["text", "tokens", *FORMATS]), default="text",
    help="Raw text, tokens separated by spaces, or trees to parse again.",
)  # fmt: skip
@in_section("Input")(
    "--again", type=OneOf(get_args(Again)), needs=TREES,
    help="What to replace in existing trees: trees and tags, or only tags. Keeps all other fields.",
)  # fmt: skip
@options_of(ParserConfig, "Parser")
@in_section("Parser")("--jobs", type=click.IntRange(1, MOST_JOBS), default=1, metavar="N", help="Parser processes.")
@click.option(
    "--format",
    "form",
    type=OneOf(FORMATS),
    default="records",
    help="Parse records, constituency trees or dependency trees.",
)
@on_error
def command(
    files: tuple[str, ...], kind: str, again: Again | None, jobs: int, form: str, on_error: OnError, **settings: Any
) -> None:
    """Parse sentences and write parse records.

    Each line gives one record; the trees of several sentences in a line share one root. If a sentence is too long for
    the parser, its line gets a record without a tree, and stderr reports how many there were.
    """
    bad = BadLines(on_error)
    if kind in FORMATS and again is None:
        raise WrongUsage(f"--input {kind} needs --again; `synmt convert --input {kind}` only converts trees")
    config = config_of(ParserConfig, settings | language_from(files, given_in(click.get_current_context())))
    needed = "udpipe" if again == "tags" else {"ptb": "benepar", "conllu": "udpipe"}.get(form, "")
    if needed not in config.parser:
        asked = "--again tags" if again == "tags" else f"--format {form}"
        raise WrongUsage(f"{asked} needs --parser {needed} or benepar+udpipe")
    if again is None:
        parse = parses_of_lines(files, kind == "tokens", bad)
        write_records(parse, config, jobs, form, lambda: count_lines(files))
    else:
        trees = sentences(read_lines(files, on_error), kind)
        write_records(parses_of_trees(trees, reader(kind, partial=True), again, form, bad), config, jobs, form)
    bad.report()
