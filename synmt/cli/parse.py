"""`synmt parse`: sentences to parse records."""

import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import TypeVar, get_args

import click

from synmt.cli.options import input_files, on_error, or_stdin
from synmt.parsers import ModelError, ParserChoice, ParserName, open_parser, parse_texts
from synmt.parsers.pool import ParserPool, one_thread
from synmt.parsers.tokenization import Input
from synmt.streams import BadInput, BadLines, Line, LineWriter, OnError, convert_lines, read_lines
from synmt.trees.dependency import conllu_blocks, conllu_of_record, read_conllu
from synmt.trees.record import ParseRecord, brackets_of_record, read_record, record_of_brackets, write_record

READERS: dict[str, Callable[[str], ParseRecord]] = {
    "ptb": record_of_brackets,
    "conllu": read_conllu,
    "records": read_record,
}
WRITERS: dict[str, Callable[[ParseRecord], str]] = {
    "records": write_record,
    "ptb": brackets_of_record,
    "conllu": conllu_of_record,
}
BLANKS = {"records": "{}", "ptb": "", "conllu": ""}
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
    type=click.Choice(["text", "tokens", "ptb", "conllu", "records"]),
    default="text",
    show_default=True,
    help="Raw text, tokens between spaces, or finished trees: brackets or parse records one a line, CoNLL-U.",
)
@click.option(
    "--parser",
    type=click.Choice(get_args(ParserName)),
    default="benepar",
    show_default=True,
    help="Constituency trees (benepar), dependency trees (udpipe) or both, for text and tokens.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME|PATH",
    help="A benepar model's name (benepar_en3), checkpoint or folder; a .udpipe file. "
    "Default: a small model that is part of synmt.",
)
@click.option(
    "--language", default="en", show_default=True, help="Of the model that is part of synmt: en, de (udpipe)."
)
@click.option("--strip", is_flag=True, help="Take traces and function tags out of ptb trees.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["records", "ptb", "conllu"]),
    default="records",
    show_default=True,
    help="Parse records; only the constituency trees, one a line; only the dependency trees, as CoNLL-U.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Parser processes.")
@click.option("--trust-pickle", is_flag=True, help="Load a benepar model that is a pickle, which can run code.")
@click.option("--device", default="cpu", show_default=True, help="Of benepar: auto, cpu, cuda or cuda:N.")
@on_error
def command(
    files: tuple[str, ...],
    kind: str,
    parser: ParserName,
    models: tuple[str, ...],
    language: str,
    strip: bool,
    form: str,
    jobs: int,
    trust_pickle: bool,
    device: str,
    on_error: OnError,
) -> None:
    """Sentences to parse records.

    One line in, one record out; where a line holds several sentences, their trees stand under one root.
    A sentence too long for the parser gets a flat tree, and is counted on stderr.
    """
    bad = BadLines(on_error)
    lines: Iterable[Line] = read_lines(or_stdin(files), on_error)
    if kind in READERS:
        lines = conllu_blocks(lines) if kind == "conllu" else lines
        read = partial(record_of_brackets, strip=strip) if kind == "ptb" else READERS[kind]
        with LineWriter() as output:
            convert_lines(lines, lambda text: WRITERS[form](read(text)), output.write, bad, BLANKS[form])
    else:
        needed = {"ptb": "benepar", "conllu": "udpipe"}.get(form, "")
        if needed not in parser:
            raise click.UsageError(f"--format {form} needs --parser {needed} or benepar+udpipe")
        split: Callable[[str], Input] = str.split if kind == "tokens" else str
        texts = (bad.read(line, split, split("")) for line in lines)
        write_parses(texts, ParserChoice(parser, models, device, language, trust_pickle), jobs, WRITERS[form])
    bad.report("parse")


def write_parses(
    texts: Iterable[Input], choice: ParserChoice, jobs: int, write: Callable[[ParseRecord], str]
) -> None:
    """Writes what the parser makes of each line, and says on stderr how many sentences were too long to parse."""
    one_thread()
    with LineWriter() as output, ExitStack() as stack:
        try:
            parser = open_parser(choice) if jobs == 1 else stack.enter_context(ParserPool(choice, jobs))
            for record in progress(parse_texts(texts, parser)):
                output.write(write(record))
                output.flush()  # the next stage should not wait for a full buffer
        except ModelError as error:
            raise BadInput(str(error)) from None
    if parser.flattened:
        sentences = "1 sentence" if parser.flattened == 1 else f"{parser.flattened} sentences"
        print(f"synmt parse: {sentences} too long to parse got a flat tree", file=sys.stderr)


def progress(items: Iterable[T]) -> Iterable[T]:
    """The items, with a progress line on stderr if it is a terminal."""
    if not sys.stderr.isatty():
        return items
    from tqdm import tqdm

    watched: Iterable[T] = tqdm(items, unit=" sentences")
    return watched
