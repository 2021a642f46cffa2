"""The output of decoders, and the lines that it becomes."""

from typing import Any

import pytest

from synmt.components.arcs import GRAPH
from synmt.components.contract import DecoderComponent, Field, StateFields
from synmt.data.records import target_records
from synmt.data.words import SideWords
from synmt.model.target import TargetSide, target_side
from synmt.streams import BadInput, BadLines, Line
from synmt.text.tokenization import SpaceTokenizer, Words, open_tokenizer
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary
from synmt.trees.record import ParseRecord
from tests import tiny
from tests.tiny import segment

WORDS = target_side({"sequence": {}})
ARCS = target_side({"parent": {}})
RECORD = (
    '{"text": "I cannot go.", "tokens": ["I", "can", "not", "go", "."], "heads": [4, 4, 4, 0, 4],'
    ' "deprels": ["nsubj", "aux", "advmod", "root", "punct"]}'
)


def read(side: TargetSide, *texts: str) -> list[ParseRecord]:
    lines = [Line(text, "targets", number) for number, text in enumerate(texts, 1)]
    found = list(target_records(lines, side, open_tokenizer("moses", "en"), SideWords("target", "en", Words("moses"))))
    assert [line for line, _ in found] == lines
    return [record for _, record in found]


def unknown_language() -> SideWords:
    return SideWords("target", "xx", Words("none"))


def test_words_or_words_and_arcs() -> None:
    (record,) = read(ARCS, RECORD)
    assert WORDS.tokens(record, segment) == ["I", "can@@", "not", "go", "."]
    assert [entry.strip() for entry in ARCS.tokens(record, segment)] == [
        "I", "can@@", "not", "go", "LEFT-ARC:aux", "LEFT-ARC:nsubj", ".", "RIGHT-ARC:punct",
    ]  # fmt: skip


def test_components_combine() -> None:
    both = target_side({"parent": {}, "gcn": {}})
    vocabulary = Vocabulary([END_TOKEN, UNKNOWN_TOKEN], [])
    assert both.linearization.trees == "among" and both.reads_prefixes
    assert both.fields == GRAPH and both.automaton(vocabulary) is not None
    with_arcs = target_side({"transitions": {}, "bitran": {}})
    assert with_arcs.linearization.trees == "among" and with_arcs.reads_prefixes and not with_arcs.fields


@pytest.mark.parametrize("target", tiny.TARGET_SYSTEMS)
def test_settings_restore_the_side(target: str) -> None:
    side = tiny.TARGET_SYSTEMS[target]
    assert target_side(**side.settings()) == side


@pytest.mark.parametrize(
    ("components", "arcs", "cause"),
    [
        ({}, None, "the decoder needs a component"),
        ({"tree": {}}, None, "unknown component 'tree'"),
        ({"bitran": {}}, {"root_arc": True}, "bitran writes no arcs"),
        ({"gcn": {"layers": 0}}, None, "layers cannot be 0"),
        ({"gcn": {"labels": 1}}, None, "labels cannot be 1"),
        ({"gcn": {}}, {"split": "yes"}, "split and root_arc must be true or false"),
    ],
)
def test_invalid_sides(components: dict[str, Any], arcs: dict[str, Any] | None, cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        target_side(components, arcs)


def test_fields_of_a_state_need_a_state() -> None:
    class Lost(DecoderComponent):
        state_fields = StateFields({"count": Field()})

    with pytest.raises(ValueError, match="lost reads fields of a state, so it must define `state`"):
        TargetSide({"lost": Lost()}).check_network(tiny.CONFIG)


@pytest.mark.parametrize(
    ("side", "text"),
    [
        (WORDS, "I cannot go."),
        (WORDS, RECORD),
        (ARCS, RECORD),
        (ARCS, "I cannot go LEFT-ARC:aux LEFT-ARC:nsubj . RIGHT-ARC:punct"),
    ],
)
def test_text_records_and_strings_give_the_same_words(side: TargetSide, text: str) -> None:
    """They are the tokenizer's words, so it can detokenize translations."""
    empty, record = read(side, "", text)
    assert empty.tokens == []
    assert (record.tokens, record.text) == (["I", "cannot", "go", "."], "I cannot go.")


def test_strings_give_trees() -> None:
    first, second, empty = read(ARCS, "Go", "I go LEFT-ARC:nsubj", "")
    assert (first.heads, second.heads, second.deprels, empty.heads) == ([0], [2, 0], ["nsubj", "root"], [])
    assert second.text == "I go"


def test_records_that_the_tokenizer_would_change_keep_their_words() -> None:
    line = '{"tokens": ["a\\u0001b", "c"], "heads": [2, 0], "deprels": ["x", "root"]}'
    (record,) = read(ARCS, line)
    assert record.tokens == ["a\u0001b", "c"]
    assert record.heads == [2, 0]


@pytest.mark.parametrize(
    ("texts", "cause"),
    [
        (["Go", "I go LEFT-ARC:x", "I LEFT-ARC:x"], "targets:3: token 2: LEFT-ARC:x: an arc needs two words"),
        (["I go LEFT-ARC ARC:x"], "targets:1: token 3: LEFT-ARC: not an arc of this style"),
        ([RECORD, '{"tokens": ["a"]}'], "targets:2: record has no dependency relations"),
        (["I go."], "no embedded dependency model for 'xx'"),
        (
            [*[RECORD] * 100, "Go LEFT-ARC:x"],
            "targets:101: arcs of synmt transitions, but none of the first 100 lines has any",
        ),
    ],
)
def test_errors_name_bad_lines(texts: list[str], cause: str) -> None:
    lines = [Line(text, "targets", number) for number, text in enumerate(texts, 1)]
    with pytest.raises(BadInput) as error:
        list(target_records(lines, ARCS, SpaceTokenizer(), unknown_language()))
    assert cause in str(error.value)


@pytest.mark.parametrize(
    ("texts", "cause"),
    [
        (["Go", "I go LEFT-ARC:nsubj"], "targets:2: arcs of synmt transitions, but the model writes none"),
        (["I go.", RECORD], "targets:2: a record among lines of text"),
        (["I go.", '{"tokens": ["NP", "a"], "parents": [-1, 0]}'], "targets:2: a record among lines of text"),
    ],
)
def test_other_formats_are_not_mistaken_for_words(texts: list[str], cause: str) -> None:
    with pytest.raises(BadInput) as error:
        read(WORDS, *texts)
    assert str(error.value) == cause
    lines, bad = [Line(text, "targets", number) for number, text in enumerate(texts, 1)], BadLines("blank")
    found = list(target_records(lines, WORDS, SpaceTokenizer(), unknown_language(), bad))
    assert [len(record.tokens) for _, record in found] == [len(texts[0].split()), 0]
    assert bad.counts == {"bad line": 1}


def test_braces_and_escaped_arcs_are_words() -> None:
    texts = ["{ a }", '{"a": 1}', "\\LEFT-ARC:nsubj"]
    lines = [Line(text, "targets", number) for number, text in enumerate(["I", *texts], 1)]
    found = [record.tokens for _, record in target_records(lines, WORDS, SpaceTokenizer(), unknown_language())]
    assert found == [["I"], *(text.split() for text in texts)]
