"""`synmt transitions`"""

from functools import partial

import click

from synmt.cli.options import Segment, bpe, input_files, on_error
from synmt.cli.sections import Language, SectionCommand, in_section
from synmt.streams import BadLines, OnError, convert_files, counted, note
from synmt.text.tokenization import open_tokenizer
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.formats import WRITERS, blank, reader, sentences
from synmt.trees.transitions import read_string, write_string

EPILOG = """
\b
Examples:
  synmt parse --parser udpipe train.en | synmt transitions --bpe codes.bpe
  synmt transitions --invert --words en --format conllu < train.arcs.en
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@input_files
@in_section("Trees")(
    "--input",
    "kind",
    type=click.Choice(["records", "conllu"]),
    default="records",
    unless="--invert",
    help="Parse records with dependencies, or CoNLL-U.",
)
@in_section("Trees")("--invert", is_flag=True, help="Read target strings and write their trees.")
@in_section("Trees")(
    "--repair", is_flag=True, needs="--invert", help="Turn every string into a tree, and count repairs."
)
@in_section("Trees")(
    "--format",
    "form",
    type=click.Choice(["text", "records", "conllu"]),
    default="text",
    needs="--invert",
    help="Write only the words, parse records, or CoNLL-U.",
)
@in_section("Strings")(
    "--words",
    type=Language(),
    unless="--moses",
    help="Move the trees to the marked words that models of this language learn; with --invert, join them.",
)
@in_section("Strings")(
    "--moses", type=Language(), help="Move the trees to Moses tokens of this language; with --invert, detokenize."
)
@bpe
@in_section("Strings")("--split-arcs", is_flag=True, help="Write LEFT-ARC ARC:nsubj, not LEFT-ARC:nsubj.")
@in_section("Strings")("--root-arc", is_flag=True, help="End strings with RIGHT-ARC:root.")
@on_error
def command(
    files: tuple[str, ...],
    kind: str,
    words: str | None,
    moses: str | None,
    segment: Segment | None,
    split_arcs: bool,
    root_arc: bool,
    invert: bool,
    repair: bool,
    form: str,
    on_error: OnError,
) -> None:
    """Write dependency trees as target strings: words and the arcs between them.

    Each word is followed by the arcs that it completes: the coals LEFT-ARC:det. Crossing arcs are lifted: a word moves
    to an ancestor of its head, with a relation such as obj↑xcomp, and --invert moves it back. A tree with several roots
    gives an empty line, and stderr reports how many there were.

    --repair skips arcs that lack two words, and attaches the remaining words to the first of them as dep.
    """
    style, bad = ArcStyle(split_arcs, root_arc), BadLines(on_error)
    tokenizer = open_tokenizer("words", words) if words else open_tokenizer("moses", moses) if moses else None
    if invert:
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
        return
    read, crossings = reader(kind), list[bool]()
    convert_files(
        files,
        lambda text: write_string(read(text), style, tokenizer, segment, bad, crossings),
        bad,
        group=partial(sentences, kind=kind),
    )
    if crossings:
        trees = counted(len(crossings), "tree")
        lost = f", {crossings.count(False)} irreversibly" if not all(crossings) else ""
        note(f"lifted the crossing arcs of {trees}{lost}")
