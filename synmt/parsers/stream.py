"""A stream of lines through one or several parsers: bounded windows, input order, one record per line."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, tee
from typing import Literal

from synmt.parsers.config import ParserConfig, open_parser
from synmt.parsers.parser import ModelError, Parser, ParserInput, Tokenized
from synmt.streams import (
    BadInput,
    BadLines,
    Latest,
    Line,
    LineWriter,
    counted,
    never,
    note,
    read_lines,
    windows,
    with_progress,
)
from synmt.streams.pool import Pool, one_thread
from synmt.text.tokenization import Separation
from synmt.trees.formats import WRITERS, blank, read_conllu, tree_form, write_conllu
from synmt.trees.record import ParseRecord

FIRST_WINDOW = 8  # lines; small, so that the first record comes soon
LAST_WINDOW = 256
Again = Literal["trees", "tags"]  # what to replace in parsed sentences
Parsed = tuple[list[ParseRecord], int]  # the records of a window, and the number of sentences too long to parse


class ParserPool(Pool[Sequence[ParserInput], Parsed]):
    """`jobs` processes that parse windows of lines."""

    def __init__(self, config: ParserConfig, jobs: int) -> None:
        super().__init__(jobs, _parsing, config)
        self.unparsed = 0

    def parse_windows(
        self, windows: Iterable[Sequence[ParserInput]], pauses: Callable[[], bool] = never
    ) -> Iterator[list[ParseRecord]]:
        """Yield the records of each window in order, and finish all windows when the input pauses.

        Raises ModelError, and as `Pool.map`.
        """

        def until_pauses() -> Iterator[Sequence[ParserInput] | None]:
            for window in windows:
                yield window
                if pauses():
                    yield None

        for records, unparsed in self.map(until_pauses()):
            self.unparsed += unparsed
            yield records


def _parsing(config: ParserConfig) -> Callable[[Sequence[ParserInput]], Parsed]:
    parser = open_parser(config)

    def parse(lines: Sequence[ParserInput]) -> Parsed:
        before = parser.unparsed
        return parser.parse(lines), parser.unparsed - before

    return parse


Parsing = Callable[[Parser | ParserPool], Iterator[ParseRecord]]


def parse_texts(
    texts: Iterable[ParserInput], parser: Parser | ParserPool, pauses: Callable[[], bool] = never
) -> Iterator[ParseRecord]:
    """Yield one record per line of raw text or list of tokens, in order.

    Reads ahead by a few windows of at most LAST_WINDOW lines, until the input pauses. A BadInput in `texts` is raised
    after the records of all lines before it.
    """
    lines = windows(texts, LAST_WINDOW, FIRST_WINDOW, pauses)
    parsed = parser.parse_windows(lines, pauses) if isinstance(parser, ParserPool) else map(parser.parse, lines)
    for records in parsed:
        yield from records


def parse_again(
    records: Iterable[ParseRecord], again: Again, parser: Parser | ParserPool, pauses: Callable[[], bool] = never
) -> Iterator[ParseRecord]:
    """Parse the tokens of each record again, or its text if it has no tokens, and replace its trees and parts of
    speech, or only its parts of speech.

    New trees leave the record's lemmas, XPOS, features, states and masks over words unchanged, if it has any.
    """
    copies, records = tee(records)
    inputs = (Tokenized.of(each) if each.tokens else each.text for each in copies)
    parses = parse_texts(inputs, parser, pauses)
    for parsed, record in zip(parses, records, strict=True):
        if again == "tags":
            whole = record if record.tokens else parsed
            yield replace(record, tokens=whole.tokens, spaces=whole.spaces, upos=parsed.upos, feats=parsed.feats)
        else:
            kept = {name: getattr(record, name) or getattr(parsed, name) for name in ("lemmas", "xpos", "feats")}
            conllu = record.conllu or parsed.conllu
            yield replace(
                parsed, sent_id=record.sent_id, conllu=conllu, masks=record.word_masks, states=record.states, **kept
            )


def parses_of_lines(files: Sequence[str], tokenized: bool, bad: BadLines) -> Parsing:
    """Parse each line of files. tokenized: lines are space-separated tokens. Raises BadInput for a file of trees."""
    latest = Latest()
    lines = _without_trees(latest.follow(read_lines(files, bad.on_error)))
    ahead: list[Line] = []
    for line in lines:  # before a parser is opened
        ahead.append(line)
        if line.text.strip() or line.pauses:
            break
    read: Callable[[str], ParserInput] = str.split if tokenized else str
    nothing: ParserInput = ""
    texts = (bad.read(line, read, nothing) for line in chain(ahead, lines))
    return lambda parser: parse_texts(texts, parser, latest.pauses)


def _without_trees(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines. Raises BadInput if the first one that is not empty is a line of trees."""
    rest = iter(lines)
    for line in rest:
        refuse_trees(line, "try synmt convert --input")
        yield line
        if line.text.strip():
            break
    yield from rest


def refuse_trees(line: Line, remedy: str = "") -> None:
    """Raise BadInput for a line of trees, not text. remedy: advice to follow the cause, before the form of the tree."""
    if form := tree_form(line.text):
        advice = f": {remedy} {form}" if remedy else ""
        raise line.error(f"looks like {form}, not text{advice}")


def parses_of_trees(
    lines: Iterable[Line], read: Callable[[str], ParseRecord], again: Again, form: str, bad: BadLines
) -> Parsing:
    """Parse the tokens of parsed sentences again.

    lines: one per sentence; a block of CoNLL-U counts as one line. form: as in `write_records`.
    """
    latest = Latest()

    def writable(text: str) -> ParseRecord:
        record = read(text)
        if form == "conllu" and record.conllu not in ("", text):
            read_conllu(record.conllu, partial=True)
        return record

    records = (bad.read(line, writable, ParseRecord()) for line in latest.follow(lines))
    return lambda parser: parse_again(records, again, parser, latest.pauses)


def write_records(
    parse: Parsing, config: ParserConfig, jobs: int, form: str, count: Callable[[], int | None] = lambda: None
) -> None:
    """Write a parser's records, and report on stderr how many sentences were too long to parse.

    Such sentences have no tree in records and CoNLL-U, and an empty line instead of brackets.

    jobs: number of processes; form: one of WRITERS; count: returns the number of sentences to come, if known.
    """
    one_thread()
    separation = Separation()
    with LineWriter() as output, ExitStack() as stack:
        try:
            parser = open_parser(config) if jobs == 1 else stack.enter_context(ParserPool(config, jobs))
            for record in with_progress(parse(parser), "sentences", count):
                separation.see(record.tokens)
                if (written := _written(record, form) or blank(form)) is not None:
                    output.write(written)
                output.flush()  # the next stage should not wait for a full buffer
        except ModelError as error:
            raise BadInput(str(error)) from None
    if warning := separation.warning():
        note(f"the text {warning}")
    if parser.unparsed:
        note(f"{counted(parser.unparsed, 'sentence')} too long to parse, written without a tree")


def _written(record: ParseRecord, form: str) -> str:
    if form == "conllu" and record.tokens and not record.heads:
        return write_conllu(record) + "\n"
    if form == "ptb" and record.tree is None:
        return ""
    return WRITERS[form](record)
