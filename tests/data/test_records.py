"""Lines of text, parse records and mask records become the records that a model reads."""

from collections.abc import Iterable

import pytest

from synmt.data.records import source_records
from synmt.data.words import SideWords, parser_of
from synmt.streams import BadInput, BadLines, Line
from synmt.text.tokenization import Words
from synmt.trees.constituency import write_brackets
from synmt.trees.record import ParseRecord

NONE: frozenset[str] = frozenset()
TREE = frozenset({"tree"})
RECORD = '{"tree": "(S (NP (PRP He)) (VP (VBZ is)))"}'
MASK_RECORD = '{"tokens": ["NP", "NN", "rain"], "parents": [-1, 0, 1], "relations": ["=CC", "P=C", "PP="]}'


def plain_words() -> SideWords:
    return SideWords("source", "en", Words("none"))


def lines(texts: Iterable[str]) -> list[Line]:
    return [Line(text, "in", number) for number, text in enumerate(texts, 1)]


def read(*texts: str, needs_tree: bool = False, words: SideWords | None = None) -> list[ParseRecord]:
    given = lines(texts)
    found = list(source_records(given, TREE if needs_tree else NONE, words or plain_words()))
    assert [line for line, _ in found] == given
    return [record for _, record in found]


def test_text_without_a_tree_is_tokenized() -> None:
    assert [record.tokens for record in read("a  b", "", "c {")] == [["a", "b"], [], ["c", "{"]]


def test_text_that_needs_a_tree_is_parsed_by_the_embedded_parser() -> None:
    moses = SideWords("source", "en", Words("moses"))
    first, second, empty = read("", "He is my father.", " ", needs_tree=True, words=moses)
    assert (first.tree, empty.tree) == (None, None)
    assert second.tokens == ["He", "is", "my", "father", "."]
    assert second.tree is not None and second.tree.leaves() == second.tokens


def test_text_is_not_parsed_for_fields_that_no_parser_makes() -> None:
    """The language has no parser, so parsing would fail."""
    words, states = SideWords("source", "st", Words("none")), frozenset({"states"})
    ((line, record),) = source_records(lines(["a b"]), states, words)
    assert (record.tokens, line.text) == (["a", "b"], "a b")
    assert "1 of 1 source sentences are read although they have no states of an encoder" in list(words.warnings())
    with pytest.raises(BadInput, match=r"^in:1: text has no states of an encoder: give records that have them$"):
        list(source_records(lines(["a b"]), states, words, strict=True))
    with pytest.raises(BadInput, match=r"^in:1: text has no masks: give records that have them$"):
        list(source_records(lines(["He is."]), TREE | {"masks"}, plain_words(), strict=True))
    assert parser_of(TREE | {"masks"}) == "benepar" and parser_of(frozenset({"heads", "states"})) == "udpipe"


@pytest.mark.parametrize("needs_tree", [False, True])
def test_words_separated_by_spaces_stay_words(needs_tree: bool) -> None:
    texts = ["He is n't my father .", "", "don't do-it in (3.5%) @-@ places."]
    found = read(*texts, needs_tree=needs_tree)
    assert [record.tokens for record in found] == [text.split() for text in texts]
    assert all(bool(record.tree) == (needs_tree and bool(text)) for record, text in zip(found, texts, strict=True))


@pytest.mark.parametrize("needs_tree", [False, True])
def test_the_first_nonempty_line_determines_the_format(needs_tree: bool) -> None:
    empty, blank, record, mask = read("", " ", RECORD, MASK_RECORD, needs_tree=needs_tree)
    assert empty == blank == ParseRecord()
    assert record.tokens == ["He", "is"]
    assert mask.tokens == ["rain"]
    assert mask.tree is not None and write_brackets(mask.tree) == "(NP (NN rain))"


def test_a_placeholder_begins_no_record() -> None:
    (record,) = read("{0} files")
    assert record.text == "{0} files"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("He is.", "not JSON: synmt parse makes records of text, and synmt convert of trees"),
        ("{", "not JSON: "),
        ('{"tokens": ["a"]}', "no constituency tree"),
        ('{"tree": "(S"}', "tree: "),
    ],
)
def test_a_bad_record_is_reported_or_blank(text: str, cause: str) -> None:
    given = lines([RECORD, text, RECORD])
    with pytest.raises(BadInput, match=f"^in:2: .*{cause}"):
        list(source_records(given, TREE, plain_words(), strict=True))
    bad = BadLines("blank")
    records = [record for _, record in source_records(given, TREE, plain_words(), bad, strict=True)]
    assert [record.tokens for record in records] == [["He", "is"], [], ["He", "is"]]
    assert bad.counts == {"bad line": 1}


def test_a_line_without_text_is_passed_on() -> None:
    faulty = Line("", "in", 1, cause="not UTF-8")
    bad = BadLines("blank")
    ((_, record),) = source_records([faulty], NONE, plain_words(), bad)
    assert record.tokens == []
    assert bad.counts == {"bad line": 1}
    with pytest.raises(BadInput, match="in:1: not UTF-8"):
        list(source_records([faulty], NONE, plain_words()))


def test_missing_fields_are_counted() -> None:
    words, texts = plain_words(), [RECORD, '{"tokens": ["a"]}', "{}", '{"tokens": ["a", "b"], "heads": [2, null]}']
    records = [record.tokens for _, record in source_records(lines(texts), TREE | {"heads"}, words)]
    assert records == [["He", "is"], ["a"], [], ["a", "b"]]
    assert (words.sentences, words.missing) == (
        3, {"constituency tree": 2, "dependency heads": 2, "whole dependency tree": 1}
    )  # fmt: skip
    assert next(words.warnings()) == "2 of 3 source sentences are read although they have no dependency heads"


def test_a_record_with_only_text_is_tokenized() -> None:
    assert [record.tokens for record in read('{"text": "a b"}', "{}")] == [["a", "b"], []]
