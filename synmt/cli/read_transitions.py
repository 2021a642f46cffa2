"""`synmt read-transitions`"""

import click

from synmt.cli.options import input_files, on_error
from synmt.cli.sections import OneOf, SectionCommand, in_section
from synmt.cli.transitions import string_options, tokenizer_of
from synmt.streams import BadLines, OnError, convert_files, counted, note
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.formats import WRITERS, blank
from synmt.trees.transitions import read_string

EPILOG = """
\b
Examples:
  synmt read-transitions --words en < train.arcs.en
  synmt read-transitions --words en --format conllu < train.arcs.en
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@input_files
@in_section("Trees")("--repair", is_flag=True, help="Turn every string into a tree, and count repairs.")
@in_section("Trees")(
    "--format",
    "form",
    type=OneOf(["text", "records", "conllu"]),
    default="text",
    help="Write only the words, parse records, or CoNLL-U.",
)
@string_options(words="Join the marked words that models of this language learn.", moses="Detokenize this language.")
@on_error
def command(
    files: tuple[str, ...],
    repair: bool,
    form: str,
    words: str | None,
    moses: str | None,
    split_arcs: bool,
    root_arc: bool,
    on_error: OnError,
) -> None:
    """Read target strings, as `synmt transitions` writes them, and write their words or trees.

    --repair skips arcs that lack two words, and attaches the remaining words to the first of them as dep.
    """
    style, bad, tokenizer = ArcStyle(split_arcs, root_arc), BadLines(on_error), tokenizer_of(words, moses)
    repairs: list[str] | None = [] if repair else None

    def inverted(line: str) -> str:
        record = read_string(line, style, tokenizer, repairs)
        if form != "text":
            record.check()
        return WRITERS[form](record)

    convert_files(files, inverted, bad, blank(form))
    if repairs:
        strings = counted(len(repairs), "string")
        note(f"repaired {strings}; the first was not a tree: {repairs[0]}")
