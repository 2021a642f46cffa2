"""From input lines to parse records: raw text is tokenized or parsed on the way, records are read."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Literal, Protocol

from synmt.streams import BadInput, Line
from synmt.systems.source import check_needs
from synmt.text.tokenization import MosesTokenizer
from synmt.trees.record import ParseRecord, read_record

TokenizerName = Literal["moses", "none"]


class Tokenizer(Protocol):
    def tokenize(self, text: str) -> list[str]: ...

    def detokenize(self, tokens: list[str]) -> str: ...


class SpaceTokenizer:
    """For text that is tokenized already: words are what stands between spaces."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()

    def detokenize(self, tokens: list[str]) -> str:
        return " ".join(tokens)


def open_tokenizer(name: TokenizerName, language: str) -> Tokenizer:
    return MosesTokenizer(language) if name == "moses" else SpaceTokenizer()


def fail(error: BadInput) -> None:
    raise error


def source_records(
    lines: Iterable[Line],
    needs: frozenset[str],
    tokenizer: Tokenizer,
    language: str,
    on_bad: Callable[[BadInput], None] = fail,
) -> Iterator[tuple[Line, ParseRecord]]:
    """One record for each line of raw text, or of parse or mask records (the first non-empty line tells which).

    Raw text becomes the tokenizer's words, or, where trees are needed, goes through the embedded parsers of the
    language; raises BadInput if there are none. A bad line is handed to `on_bad`; if that does not raise, the
    line's record is empty.
    """
    good = _without_faults(lines, on_bad)
    head: list[Line] = []
    for line in good:
        head.append(line)
        if line.text.strip():
            break
    good = chain(head, good)
    if head and head[-1].text.startswith("{"):
        return ((line, _read(line, needs, on_bad)) for line in good)
    if needs:
        return _parsed(good, needs, language)
    return ((line, ParseRecord(text=line.text, tokens=tokenizer.tokenize(line.text))) for line in good)


def _without_faults(lines: Iterable[Line], on_bad: Callable[[BadInput], None]) -> Iterator[Line]:
    for line in lines:
        if line.fault:
            on_bad(line.error(line.fault))
        yield line


def _read(line: Line, needs: frozenset[str], on_bad: Callable[[BadInput], None]) -> ParseRecord:
    try:
        record = read_record(line.text)
        check_needs(record, needs)
    except ValueError as error:
        on_bad(line.error(error))
        return ParseRecord()
    return record


def _parsed(lines: Iterator[Line], needs: frozenset[str], language: str) -> Iterator[tuple[Line, ParseRecord]]:
    from synmt.parsers import ModelError, ParserChoice, ParserName, open_parser, parse_texts

    name: ParserName = "benepar" if needs == {"tree"} else "benepar+udpipe" if "tree" in needs else "udpipe"

    under_way: deque[Line] = deque()  # read, but not yet parsed

    def texts() -> Iterator[str]:
        for line in lines:
            under_way.append(line)
            yield line.text

    try:
        parser = open_parser(ParserChoice(name, language=language))
    except ModelError as error:
        raise BadInput(str(error)) from None
    for record in parse_texts(texts(), parser):
        yield under_way.popleft(), record
