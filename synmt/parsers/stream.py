"""A stream of lines through a parser: bounded windows, input order, one record a line."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import tee
from typing import Literal

from synmt.parsers.config import ParserConfig, open_parser
from synmt.parsers.parser import ModelError, Parser
from synmt.parsers.pool import ParserPool
from synmt.parsers.tokenization import ParserInput, Tokenized
from synmt.pool import one_thread
from synmt.streams import (
    BadInput,
    BadLines,
    Latest,
    Line,
    LineWriter,
    count_lines,
    never,
    read_lines,
    windows,
    with_progress,
)
from synmt.trees.dependency import write_conllu
from synmt.trees.parses import WRITERS, blank
from synmt.trees.record import ParseRecord

FIRST_WINDOW = 8  # lines; small, so that the first record comes soon
LAST_WINDOW = 256
Again = Literal["trees", "tags"]  # what the tokens of finished trees are parsed again for


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


def parse_again(
    records: Iterable[ParseRecord], again: Again, parser: Parser | ParserPool, pauses: Callable[[], bool] = never
) -> Iterator[ParseRecord]:
    """Yield what the parser makes of the tokens of each record: trees and parts of speech, or parts of speech beside
    the old trees. New trees leave lemmas, XPOS and features as they are, if the record has them."""
    copies, records = tee(records)
    parses = parse_texts(map(Tokenized.of, copies), parser, pauses)
    for parsed, record in zip(parses, records, strict=True):
        if again == "tags":
            yield replace(record, upos=parsed.upos, feats=parsed.feats)
        else:
            kept = {name: getattr(record, name) or getattr(parsed, name) for name in ("lemmas", "xpos", "feats")}
            yield replace(parsed, sent_id=record.sent_id, conllu=record.conllu, **kept)


def write_parses(
    files: Sequence[str], tokenized: bool, config: ParserConfig, jobs: int, form: str, bad: BadLines
) -> None:
    """Write what the parser makes of each line of files.

    tokenized: the tokens of a line stand between its spaces; jobs, form: as for `write_records`.
    """
    latest = Latest()
    read: Callable[[str], ParserInput] = str.split if tokenized else str
    nothing: ParserInput = ""
    texts = (bad.read(line, read, nothing) for line in latest.follow(read_lines(files, bad.on_error)))
    write_records(
        lambda parser: parse_texts(texts, parser, latest.pauses), config, jobs, form, lambda: count_lines(files)
    )


def write_parses_again(
    lines: Iterable[Line],
    read: Callable[[str], ParseRecord],
    again: Again,
    config: ParserConfig,
    jobs: int,
    form: str,
    bad: BadLines,
) -> None:
    """Write what the parser makes of the tokens of finished trees, one a line, or a block of CoNLL-U as one line.

    jobs, form: as for `write_records`.
    """
    latest = Latest()
    records = (bad.read(line, read, ParseRecord()) for line in latest.follow(lines))
    write_records(lambda parser: parse_again(records, again, parser, latest.pauses), config, jobs, form)


def write_records(
    parse: Callable[[Parser | ParserPool], Iterator[ParseRecord]],
    config: ParserConfig,
    jobs: int,
    form: str,
    count: Callable[[], int | None] = lambda: None,
) -> None:
    """Write what comes of a parser, and say on stderr how many sentences were too long to parse: records, and columns
    of CoNLL-U, have no tree of these, and a line of brackets is empty.

    jobs: processes; form: one of WRITERS; count: of sentences to come, if it is known.
    """
    one_thread()
    with LineWriter() as output, ExitStack() as stack:
        try:
            parser = open_parser(config) if jobs == 1 else stack.enter_context(ParserPool(config, jobs))
            for record in with_progress(parse(parser), "sentences", count):
                output.write(_written(record, form))
                output.flush()  # the next stage should not wait for a full buffer
        except ModelError as error:
            raise BadInput(str(error)) from None
    if parser.unparsed:
        sentences = "1 sentence" if parser.unparsed == 1 else f"{parser.unparsed} sentences"
        print(f"synmt parse: {sentences} too long to parse, without a tree", file=sys.stderr)


def _written(record: ParseRecord, form: str) -> str:
    if form == "conllu" and record.tokens and not record.heads:
        return write_conllu(record) + "\n"
    if form == "ptb" and record.tree is None:
        return blank(form)
    return WRITERS[form](record)
