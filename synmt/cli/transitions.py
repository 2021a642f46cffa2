"""`synmt transitions`"""

from collections.abc import Callable
from functools import partial

import click

from synmt.cli.options import Segment, bpe, input_files, on_error
from synmt.cli.sections import Language, OneOf, SectionCommand, in_section
from synmt.streams import BadLines, OnError, convert_files, counted, note
from synmt.text.tokenization import Tokenizer, open_tokenizer
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.formats import reader, sentences
from synmt.trees.transitions import write_string

EPILOG = """
\b
Examples:
  synmt parse --parser udpipe train.en | synmt transitions --bpe codes.bpe
  synmt transitions --words en train.jsonl > train.arcs.en
"""
HINTS = dict.fromkeys(("--invert", "--repair", "--format"), "`synmt read-transitions` reads target strings")
Command = Callable[..., None]


def string_options(words: str, moses: str) -> Callable[[Command], Command]:
    """Make the options that writing and reading strings share. words, moses: the help of these options."""
    of_strings = in_section("Strings")

    def add(command: Command) -> Command:
        command = of_strings("--root-arc", is_flag=True, help="Strings end with RIGHT-ARC:root.")(command)
        command = of_strings("--split-arcs", is_flag=True, help="LEFT-ARC ARC:nsubj, not LEFT-ARC:nsubj.")(command)
        command = of_strings("--moses", type=Language(), help=moses)(command)
        return of_strings("--words", type=Language(), unless="--moses", help=words)(command)

    return add


def tokenizer_of(words: str | None, moses: str | None) -> Tokenizer | None:
    return open_tokenizer("words", words) if words else open_tokenizer("moses", moses) if moses else None


@click.command(cls=SectionCommand, epilog=EPILOG, hints=HINTS)
@input_files
@in_section("Trees")(
    "--input",
    "kind",
    type=OneOf(["records", "conllu"]),
    default="records",
    help="Parse records with dependencies, or CoNLL-U.",
)
@string_options(
    words="Move the trees to the marked words that models of this language learn.",
    moses="Move the trees to Moses tokens of this language.",
)
@bpe
@on_error
def command(
    files: tuple[str, ...],
    kind: str,
    words: str | None,
    moses: str | None,
    segment: Segment | None,
    split_arcs: bool,
    root_arc: bool,
    on_error: OnError,
) -> None:
    """Write dependency trees as target strings: words and the arcs between them.

    Each word is followed by the arcs that it completes: the coals LEFT-ARC:det. Crossing arcs are lifted: a word moves
    to an ancestor of its head, with a relation such as obj↑xcomp, and `synmt read-transitions` moves it back. A tree
    with several roots gives an empty line, and stderr reports how many there were.
    """
    style, bad, tokenizer = ArcStyle(split_arcs, root_arc), BadLines(on_error), tokenizer_of(words, moses)
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
