"""`synmt parse`: sentences to parse records."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TypeVar

import click

from synmt.cli.options import convert_files, input_files, on_error, or_stdin, report_failures
from synmt.parsers import ModelError, ParserName, open_parser, parse_texts
from synmt.parsers.pool import ParserPool, one_thread
from synmt.streams import BadInput, Line, LineWriter, OnError, convert_lines, read_lines
from synmt.trees.dependency import conllu_blocks, read_conllu
from synmt.trees.record import record_of_brackets, write_record

EMPTY = "{}"
T = TypeVar("T")


EPILOG = """
\b
Examples:
  synmt parse --jobs 2 train.en > train.jsonl
  echo 'He is my father.' | synmt parse --parser udpipe
"""


@click.command(epilog=EPILOG)
@input_files
@click.option(
    "--input",
    "kind",
    type=click.Choice(["text", "tokens", "ptb", "conllu"]),
    default="text",
    show_default=True,
    help="Raw text, tokens between spaces, or finished trees: brackets one a line, CoNLL-U sentences.",
)
@click.option(
    "--parser",
    type=click.Choice(["benepar", "udpipe"]),
    default="benepar",
    show_default=True,
    help="Constituency trees (benepar) or dependency trees (udpipe), for text and tokens.",
)
@click.option(
    "--model",
    metavar="NAME|PATH",
    help="A benepar model's name (benepar_en3), checkpoint or folder; a .udpipe file. "
    "Default: a small English model that is part of synmt.",
)
@click.option("--strip", is_flag=True, help="Take traces and function tags out of ptb trees.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Parser processes.")
@on_error
def command(
    files: tuple[str, ...],
    kind: str,
    parser: ParserName,
    model: str | None,
    strip: bool,
    jobs: int,
    on_error: OnError,
) -> None:
    """Sentences to parse records.

    One line in, one record out; where a line holds several sentences, their trees stand under one root.
    A sentence too long for the parser gets a flat tree, and is counted on stderr.
    """
    if kind == "ptb":
        convert_files("parse", files, on_error, lambda line: write_record(record_of_brackets(line, strip)), EMPTY)
        return
    lines = read_lines(or_stdin(files), on_error)
    with LineWriter() as output:
        if kind == "conllu":
            sentences = conllu_blocks(lines)
            failures = convert_lines(
                sentences, lambda block: write_record(read_conllu(block)), output.write, on_error, EMPTY
            )
        else:
            failures = parse_lines(lines, kind == "tokens", parser, model, jobs, output)
    report_failures("parse", failures)


def parse_lines(
    lines: Iterable[Line], tokenized: bool, name: ParserName, model: str | None, jobs: int, output: LineWriter
) -> int:
    """Writes the record of each line, and says on stderr how many sentences were too long to parse.

    Returns the number of lines that hold no text because of a fault.
    """
    faults = 0

    def inputs() -> Iterator[str | list[str]]:
        nonlocal faults
        for line in lines:
            faults += bool(line.fault)
            yield line.text.split() if tokenized else line.text

    one_thread()
    with ExitStack() as stack:
        try:
            parser = open_parser(name, model) if jobs == 1 else stack.enter_context(ParserPool(name, model, jobs))
            for record in progress(parse_texts(inputs(), parser)):
                output.write(write_record(record))
                output.flush()  # the next stage should not wait for a full buffer
        except ModelError as error:
            raise BadInput(str(error)) from None
    if parser.flattened:
        sentences = "1 sentence" if parser.flattened == 1 else f"{parser.flattened} sentences"
        print(f"synmt parse: {sentences} too long to parse got a flat tree", file=sys.stderr)
    return faults


def progress(items: Iterable[T]) -> Iterable[T]:
    """The items, with a progress line on stderr if it is a terminal."""
    if not sys.stderr.isatty():
        return items
    from tqdm import tqdm

    watched: Iterable[T] = tqdm(items, unit=" sentences")
    return watched
