"""`synmt transitions`: dependency trees to target strings with arcs, and back."""

import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import click

from synmt.cli.options import convert_files, input_files, on_error
from synmt.parsers.tokenization import spaces_after
from synmt.streams import OnError
from synmt.text.bpe import Bpe
from synmt.text.tokenization import MosesTokenizer
from synmt.trees.arc_tokens import ArcStyle, read_entries, write_entries
from synmt.trees.dependency import conllu_blocks, conllu_of_record, read_conllu, written
from synmt.trees.realignment import realigned
from synmt.trees.record import ParseRecord, read_record, write_record
from synmt.trees.transitions import TreeNotDerivable, read_transitions, transitions_of_record

READERS: dict[str, Callable[[str], ParseRecord]] = {"records": read_record, "conllu": read_conllu}
WRITERS: dict[str, Callable[[ParseRecord], str]] = {
    "text": lambda record: record.text,
    "records": write_record,
    "conllu": conllu_of_record,
}
BLANKS = {"text": "", "records": "{}", "conllu": ""}

EPILOG = """
\b
Examples:
  synmt parse --parser udpipe train.en | synmt transitions --moses en --bpe codes.bpe > train.arcs.en
  synmt transitions --invert --moses en --format conllu < train.arcs.en
"""


def language_code(context: click.Context, parameter: click.Parameter, code: str | None) -> str | None:
    if code and not re.fullmatch("[a-z]{2,3}", code):
        raise click.BadParameter(f"{code!r} is not a code such as en")
    return code


@click.command(epilog=EPILOG)
@input_files
@click.option(
    "--input",
    "kind",
    type=click.Choice(list(READERS)),
    default="records",
    show_default=True,
    help="Parse records with dependencies, one a line; CoNLL-U.",
)
@click.option(
    "--moses",
    metavar="LANGUAGE",
    callback=language_code,
    help="Put the trees on the Moses tokens of the text instead of the parser's; with --invert, detokenize.",
)
@click.option("--bpe", metavar="CODES", help="Split the words by the BPE codes of this file.")
@click.option("--split-arcs", is_flag=True, help="An arc is two tokens: LEFT-ARC ARC:nsubj, not LEFT-ARC:nsubj.")
@click.option("--root-arc", is_flag=True, help="Strings end in RIGHT-ARC:root; without it, the root has no arc.")
@click.option("--invert", is_flag=True, help="Target strings to trees.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(WRITERS)),
    default="text",
    show_default=True,
    help="What --invert writes: the words alone, parse records, or CoNLL-U.",
)
@on_error
def command(
    files: tuple[str, ...],
    kind: str,
    moses: str | None,
    bpe: str | None,
    split_arcs: bool,
    root_arc: bool,
    invert: bool,
    form: str,
    on_error: OnError,
) -> None:
    """Dependency trees to target strings: words and the arcs between them.

    Each word is followed by the arcs that it completes: the coals LEFT-ARC:det. A tree that is not projective, or
    has several roots, has no such string: its line stays empty, and is counted on stderr.
    """
    style = ArcStyle(split_arcs, root_arc)
    tokenizer = MosesTokenizer(moses) if moses else None
    if invert:
        convert_files(
            "transitions",
            files,
            on_error,
            lambda line: WRITERS[form](read_tree(line, style, tokenizer)),
            BLANKS[form],
        )
        return
    strings = TargetStrings(style, tokenizer, Bpe.load(bpe).segment if bpe else lambda word: [word])
    convert_files(
        "transitions",
        files,
        on_error,
        lambda text: strings.write(READERS[kind](text)),
        group=conllu_blocks if kind == "conllu" else iter,
    )
    strings.report_left_empty()


def read_tree(line: str, style: ArcStyle, tokenizer: MosesTokenizer | None) -> ParseRecord:
    """The record of a target string. Raises TransitionError."""
    record = read_transitions(read_entries(line), style)
    if tokenizer:
        record.text = tokenizer.detokenize(record.tokens)
        record.spaces = spaces_after(record.tokens, record.text) or []
    return record


@dataclass
class TargetStrings:
    """How records become lines. left_empty: how many trees had no string, by the reason."""

    style: ArcStyle
    tokenizer: MosesTokenizer | None
    segment: Callable[[str], list[str]]
    left_empty: Counter[str] = field(default_factory=Counter)

    def write(self, record: ParseRecord) -> str:
        """Raises ValueError for a record that cannot be used."""
        if self.tokenizer:
            record = realigned(record, self.tokenizer.tokenize(record.text or written(record)))
        try:
            return write_entries(transitions_of_record(record, self.segment, self.style))
        except TreeNotDerivable as error:
            self.left_empty[str(error)] += 1
            return ""

    def report_left_empty(self) -> None:
        if self.left_empty:
            sentences = "1 sentence" if self.left_empty.total() == 1 else f"{self.left_empty.total()} sentences"
            reasons = ", ".join(f"{reason} ({count})" for reason, count in self.left_empty.most_common())
            print(f"synmt transitions: {sentences} left empty: {reasons}", file=sys.stderr)
