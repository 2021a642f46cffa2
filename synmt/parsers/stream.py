"""A stream of lines through a parser: bounded windows, input order, one record a line."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack

from synmt.parsers.config import ParserConfig, open_parser
from synmt.parsers.parser import ModelError, Parser
from synmt.parsers.pool import ParserPool
from synmt.parsers.tokenization import ParserInput
from synmt.pool import one_thread
from synmt.streams import BadInput, BadLines, Latest, Line, LineWriter, never, windows
from synmt.trees.parses import WRITERS
from synmt.trees.record import ParseRecord

FIRST_WINDOW = 8  # lines; small, so that the first record comes soon
LAST_WINDOW = 256


def parse_texts(
    texts: Iterable[ParserInput], parser: Parser | ParserPool, pauses: Callable[[], bool] = never
) -> Iterator[ParseRecord]:
    """Yield one record for each line of raw text, or for each list of tokens, in order.

    Reads ahead by some windows of at most LAST_WINDOW lines, until the input pauses. A BadInput of `texts` is raised
    after the records of all lines before it.
    """
    lines = windows(texts, LAST_WINDOW, FIRST_WINDOW, pauses)
    parsed = parser.parse_windows(lines, pauses) if isinstance(parser, ParserPool) else map(parser.parse, lines)
    for records in parsed:
        yield from records


def write_parses(
    lines: Iterable[Line], tokenized: bool, config: ParserConfig, jobs: int, form: str, bad: BadLines
) -> None:
    """Write what the parser makes of each line, and say on stderr how many sentences were too long to parse.

    tokenized: the tokens of a line stand between its spaces; jobs: processes; form: one of WRITERS.
    """
    one_thread()
    latest = Latest()
    texts: Iterator[ParserInput] = (
        bad.read(line, str.split, []) if tokenized else bad.read(line, str, "") for line in latest.follow(lines)
    )
    with LineWriter() as output, ExitStack() as stack:
        try:
            parser = open_parser(config) if jobs == 1 else stack.enter_context(ParserPool(config, jobs))
            for record in _with_progress(parse_texts(texts, parser, latest.pauses)):
                output.write(WRITERS[form](record))
                output.flush()  # the next stage should not wait for a full buffer
        except ModelError as error:
            raise BadInput(str(error)) from None
    if parser.flattened:
        sentences = "1 sentence" if parser.flattened == 1 else f"{parser.flattened} sentences"
        print(f"synmt parse: {sentences} too long to parse got a flat tree", file=sys.stderr)


def _with_progress(records: Iterator[ParseRecord]) -> Iterable[ParseRecord]:
    """Return the records, with a progress line on stderr if it is a terminal."""
    if not sys.stderr.isatty():
        return records
    from tqdm import tqdm

    watched: Iterable[ParseRecord] = tqdm(records, unit=" sentences")
    return watched
