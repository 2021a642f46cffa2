"""One encoder for parsed and unparsed sentences."""

from synmt.data.preparation import Example, training_examples
from synmt.data.records import SentencePair
from synmt.model.config import ModelConfig
from synmt.model.source import source_side
from synmt.model.target import target_side
from synmt.streams import Line
from synmt.text.bpe import Bpe
from synmt.trees.record import ParseRecord
from tests import tiny
from tests.cli.commands import CODES

LINES = Line("", "source", 1), Line("", "target", 1)
UNPARSED = ParseRecord(tokens=["my", "father"])
SOURCES = [*tiny.records(), UNPARSED]


def examples(system: str, sources: list[ParseRecord] = SOURCES) -> list[Example]:
    config = ModelConfig(source_side({system: {}}), target_side({"sequence": {}}), ("en", "de"), "none", tiny.CONFIG)
    pairs = [SentencePair(source, ParseRecord(tokens=["ja"]), LINES) for source in sources]
    return list(training_examples(pairs, config, Bpe(CODES)))


def test_each_pair_is_read_as_a_string_and_as_words() -> None:
    """An unparsed pair is read only once, as words."""
    parsed, words = examples("linearized"), examples("sequence", SOURCES[:-1])
    found = examples("mixed")
    assert [each.source.tokens for each in found] == [each.source.tokens for each in [*parsed, *words]]
    assert [each.source.words for each in found] == [each.source.words for each in [*parsed, *words]]
    assert all(each.target == parsed[0].target for each in found)


def test_translation_reads_the_available_form() -> None:
    side = source_side({"mixed": {}})
    assert (side.needs(training=True), side.needs(training=False)) == ({"tree"}, set())
    record = SOURCES[0]
    for given, system in ((record, "linearized"), (record.without_trees(), "sequence"), (UNPARSED, "sequence")):
        expected = source_side({system: {}}).features(given, tiny.segment)
        assert side.features(given, tiny.segment).tokens == expected.tokens


def test_other_ideas_read_the_tree_only_in_the_parsed_form() -> None:
    side = source_side({"mixed": {}, "label-features": {"fields": "deprels", "size": 4}})
    record = SOURCES[0]
    with_tree, without = (side.features(each, tiny.segment) for each in (record, record.without_trees()))
    assert any(any(column) for column in with_tree.labels.values())
    assert not any(any(column) for column in without.labels.values())
