"""Parsing: the function behind `synmt parse`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from synmt.api.given import HasLine, as_given, numbered, public, with_text
from synmt.options import check_used, config_of, given, options_in
from synmt.parsers import ModelError, ParserConfig, ParserName, open_parser, parse_texts
from synmt.parsers.config import RULES, language_from
from synmt.parsers.parser import Parser, ParserInput
from synmt.parsers.stream import ParserPool, refuse_trees
from synmt.streams import BadInput, BadLines, Line, OnError, counted, note, read_lines
from synmt.trees.record import ParseRecord, read_words

Sentences = Path | Iterable[str | Sequence[str] | HasLine]


@public
def parse(
    sentences: Sentences,
    parser: ParserName | ParserConfig = "benepar",
    *,
    tokenized: bool = False,
    jobs: int = 1,
    on_error: OnError = "fail",
) -> Iterator[ParseRecord]:
    """Yield the parse of each sentence, which is raw text or a list of tokens. The parser is loaded at once, and reads
    some hundred sentences ahead.

    sentences: a file, or any iterable; parser: constituency trees (benepar), dependency trees (udpipe) or both, with
    the small models that come with synmt, or a config; tokenized: the words of a text are separated by spaces; jobs:
    processes; on_error: fail, or blank: a bad text becomes an empty record. A sentence that is too long for the parser
    has no tree. A warning counts both. Raises BadInput, also for a model that cannot be loaded; TypeError; and
    ValueError, also for a setting that has no effect.
    """
    asked = {"parser": parser} if isinstance(parser, str) else given(parser)
    asked |= language_from([str(sentences)], asked) if isinstance(sentences, Path) else {}
    config, bad = config_of(ParserConfig, asked), BadLines(on_error)
    check_used(as_given(asked), options_in(ParserConfig), RULES)
    inputs = _inputs(sentences, str.split if tokenized else str, bad)
    with ExitStack() as stack:
        try:
            opened = open_parser(config) if jobs == 1 else stack.enter_context(ParserPool(config, jobs))
        except ModelError as error:
            raise BadInput(str(error)) from None
        return _parses(stack.pop_all(), opened, inputs, bad)


def _parses(
    stack: ExitStack, parser: Parser | ParserPool, inputs: Iterable[ParserInput], bad: BadLines
) -> Iterator[ParseRecord]:
    with stack:
        try:
            yield from parse_texts(inputs, parser)
        except ModelError as error:  # from another process
            raise BadInput(str(error)) from None
    if parser.unparsed:
        note(f"{counted(parser.unparsed, 'sentence')} too long to parse, returned without a tree")
    bad.report()


def _inputs(sentences: Sentences, words: Callable[[str], ParserInput], bad: BadLines) -> Iterator[ParserInput]:
    nothing: ParserInput = ""
    is_text = False
    for line, read in _lines(sentences, words, bad.on_error):
        if read is words and not is_text and line.text.strip():
            refuse_trees(line)
            is_text = True
        yield bad.read(line, read, nothing)


def _lines(
    sentences: Sentences, words: Callable[[str], ParserInput], on_error: OnError
) -> Iterator[tuple[Line, Callable[[str], ParserInput]]]:
    """Yield each sentence as a line, and how to read it: text by `words`."""
    if isinstance(sentences, Path):
        yield from ((line, words) for line in read_lines([str(sentences)], on_error))
        return
    for line, sentence in numbered(sentences, "sentences"):
        if not isinstance(sentence, str | list | tuple | HasLine):
            kind = type(sentence).__name__
            raise TypeError(f"sentences:{line.number}: a sentence to parse is a str or a list of words, not {kind}")
        yield with_text(line, (sentence,), on_error), read_words if isinstance(sentence, list | tuple) else words
