"""Laws of both parsers, line by line."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synmt.parsers.config import ParserConfig
from synmt.parsers.parser import Parser
from synmt.parsers.stream import FIRST_WINDOW, ParserPool, parse_texts
from synmt.streams import BadInput
from synmt.trees.formats import written
from synmt.trees.record import ParseRecord, read_record, write_record

SENTENCES = [
    "He is my father.",
    "",
    "A man in an orange hat is starring at something.",
    "One. Two! Three? (Four.)",
    "\u2028\t ",
    "People are fixing the roof of a house, and a dog watches them from the garden.",
    "Der Mann sah zu.",
]
DIRTY = [
    "😀 👍🏽 👩‍👩‍👧",
    "我爱北京天安门。",
    "a\tb\t\tc",
    "a\x01b \x07 \x1b[0m x\x1cy",
    "one\u2028two\u0085three\u3000four\xa0five",
    "\u0301",
    "\u200b",
    "\ufeffa\ufeff",
    "( [ { ) ] } -LRB- x-RRB-y",
    "_ __ # #x 1-2 3.1 \\",
    "“Hello,” he said — ‘yes’ – `no` ``a'' \"b\"",
    "\ue000 \U0010ffff \ufffd",
    "שלום עולם",
    "x" * 50_000,
    "word " * 3_000,
    "." * 50_000,
]


def check(line: str, record: ParseRecord) -> None:
    record.check()
    assert read_record(write_record(record)) == record
    assert written(record) == " ".join(line.split())
    assert record.text == (line if line.strip() else "")
    assert all(token.split() == [token] for token in record.tokens)
    if record.tokens:
        parsed = record.tree is not None or len(record.heads) == len(record.deprels) == len(record.tokens)
        assert parsed or len(record.tokens) > 510
    else:
        assert write_record(record) == "{}"


@pytest.mark.parametrize("line", [*SENTENCES, *DIRTY], ids=lambda line: ascii(line[:20]))
def test_every_line_gives_one_record(parser: Parser, line: str) -> None:
    (record,) = parse_texts([line], parser)
    check(line, record)


@settings(max_examples=60)
@example(lines=["-LRB-", "a (b) c"])
@given(lines=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n")), max_size=4))
def test_any_text_gives_one_record_per_line(parser: Parser, lines: list[str]) -> None:
    records = list(parse_texts(lines, parser))
    assert len(records) == len(lines)
    for line, record in zip(lines, records, strict=True):
        check(line, record)


def test_a_record_does_not_depend_on_its_neighbours(parser: Parser) -> None:
    alone = [parser.parse([line])[0] for line in SENTENCES]
    assert list(parse_texts(SENTENCES, parser)) == alone
    assert list(parse_texts(SENTENCES[::-1], parser)) == alone[::-1]


def test_two_processes_preserve_the_order(udpipe: Parser) -> None:
    lines = [f"{sentence} {number}" for number in range(60) for sentence in SENTENCES]
    with ParserPool(ParserConfig("udpipe"), jobs=2) as pool:
        assert list(parse_texts(lines, pool)) == list(parse_texts(lines, udpipe))
        (long,) = parse_texts([["a"] * 1001], pool)
    assert pool.unparsed == 1
    assert (len(long.tokens), long.heads) == (1001, [])


def failing(lines: list[Any]) -> Iterator[Any]:
    yield from lines
    raise BadInput("broken", "in.txt", len(lines) + 1)


def test_bad_input_comes_after_the_records_before_it(udpipe: Parser) -> None:
    check_failure(parse_texts(failing(["a"] * (FIRST_WINDOW + 1)), udpipe))


def test_bad_input_comes_after_the_records_of_all_processes() -> None:
    with ParserPool(ParserConfig("udpipe"), jobs=2) as pool:
        check_failure(parse_texts(failing(["a"] * (FIRST_WINDOW + 1)), pool))


def check_failure(records: Iterator[ParseRecord]) -> None:
    assert [next(records).tokens for _ in range(FIRST_WINDOW + 1)] == [["a"]] * (FIRST_WINDOW + 1)
    with pytest.raises(BadInput, match=rf"in.txt:{FIRST_WINDOW + 2}: broken"):
        next(records)
