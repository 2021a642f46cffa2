"""Parse records as JSON: the bytes that are written, and what is read or refused."""

import dataclasses
import json
import math
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.streams import Message
from synmt.streams.decoding import decoded, encoded
from synmt.trees.record import ParseRecord, RecordError, is_record, read_record, write_record
from tests.trees.strategies import dependency_records

TEXTS = st.text(st.characters(blacklist_categories=["Cs"]))


@given(text=TEXTS, sent_id=TEXTS, confidence=st.floats(0, 1), record=dependency_records())
def test_records_are_written_as_by_pythons_json(
    text: str, sent_id: str, confidence: float, record: ParseRecord
) -> None:
    record = dataclasses.replace(
        record, text=text, sent_id=sent_id, confidences=[confidence] * len(record.heads), masks={text: [sent_id]}
    )
    line = write_record(record)
    assert line == json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":")).replace("e-05", "e-5")
    found = json.loads(line)
    assert (found.get("text", ""), found.get("sent_id", ""), found["masks"]) == (text, sent_id, {text: [sent_id]})
    assert (found["tokens"], found["heads"]) == (record.tokens, record.heads)
    assert all(math.isclose(each, confidence, abs_tol=0.5e-4 + 1e-12) for each in found["confidences"])


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("{", "truncated"),
        ('{"tokens": ["a",]}', "trailing comma"),
        ("{'tokens': []}", "must be strings"),
        ('{"tokens": ["a"]} {}', "trailing characters"),
        ('{"tokens": ["a\tb"]}', "invalid character"),
        ('{"x": NaN}', "invalid character"),
        ('{"x": -Infinity}', "invalid character"),
        ('{"x": 01}', "invalid number"),
        ('{"x": 1e999}', "Number out of range"),
        ('{"x": -2e308}', "Number out of range"),
        (f'{{"x": {"9" * 4301}}}', "out of range"),
        ('{"x": "\\ud800"}', "truncated"),
        ('{"x": "\\ud800 and more"}', "surrogate"),
        ('{"x": "\\udc00"}', "surrogate"),
        ('{"x": "\ud800"}', "not UTF-8"),
        ('{"x": "\\x41"}', "invalid escape"),
        ('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"x": ' * 100_000, "nested too deeply"),
    ],
)
def test_broken_json_is_refused_also_in_fields_that_we_do_not_read(line: str, cause: str) -> None:
    with pytest.raises(RecordError, match=f"^not JSON: .*{cause}"):
        read_record(line)
    with pytest.raises(ValueError, match=cause):
        decoded(line)
    assert not is_record(line)


def test_unusual_json_that_is_valid() -> None:
    assert read_record('{"tokens": ["a"], "tokens": ["b"]}').tokens == ["b"], "the last of two values counts"
    assert read_record('{"tokens": ["\\ud83d\\ude00"], "other": [1e-999]}').tokens == ["😀"]
    assert decoded(b'[9223372036854775808, -0.0, 1e308, "\\/"]') == [2**63, 0.0, 1e308, "/"]


WRONG: dict[str, Any] = {"a string": "x", "a number": 7, "a fraction": 0.5, "true": True, "an object": {"x": 1}}
INSIDE = {"a null": None, "a list": [[]], **WRONG}
OF_LIST = {"str": "a string", "bool": "true", "int": "a number", "float": "a number"}
COLUMNS = {
    name: kind.__args__[0].__name__
    for name, kind in get_type_hints(ParseRecord).items()
    if getattr(kind, "__origin__", None) is list
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_the_wrong_type_are_refused_with_their_place(name: str) -> None:
    kind = COLUMNS[name]
    for described, value in WRONG.items():
        with pytest.raises(RecordError, match=rf"^Expected `array`, got `\w+` - at `\$\.{name}`$"):
            read_record(json.dumps({name: value})), described
    right = {OF_LIST[kind], "a fraction" if kind == "float" else "", "a null" if name == "heads" else ""}
    for described, value in INSIDE.items():
        if described not in right:
            with pytest.raises(RecordError, match=rf"^Expected `{kind}`, got `\w+` - at `\$\.{name}\[1\]`$"):
                good = INSIDE[OF_LIST[kind]]
                read_record(json.dumps({name: [good, value]})), described
    assert read_record(json.dumps({"tokens": [], name: None})) == ParseRecord()


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"text": None}, r"Expected `str`, got `null` - at `\$.text`"),
        ({"text": ["a"]}, r"Expected `str`, got `array` - at `\$.text`"),
        ({"sent_id": 7}, r"Expected `str`, got `int` - at `\$.sent_id`"),
        ({"conllu": {}}, r"Expected `str`, got `object` - at `\$.conllu`"),
        ({"tree": 7}, "tree: not a string"),
        ({"tree": {"nodes": ["S", "a"], "parents": [-1, 0]}}, "tree: not a string"),
        ({"tokens": ["S", "a"], "parents": None}, r"Expected `array`, got `null` - at `\$.parents`"),
        ({"tokens": ["S", "a"], "parents": [-1, "0"]}, r"Expected `int`, got `str` - at `\$.parents\[1\]`"),
        ({"tokens": ["S", 1], "parents": [-1, 0]}, r"Expected `str`, got `int` - at `\$.tokens\[1\]`"),
        ({"parents": [-1, 0]}, "required field `tokens`"),
        ({"masks": {"m": ["1", 2]}}, r"mask 'm': Expected `str`, got `int` - at `\$\[1\]`"),
        ({"tokens": ["a"], "heads": [2**31]}, "head 2147483648 of word 1 is outside its sentence"),
        ({"tokens": ["a"], "heads": [10**4000]}, "head 1000"),
        ({"tokens": ["a"], "heads": [0.0]}, "Expected `int`, got `float`"),
        ({"tokens": ["a"], "heads": [0], "confidences": [10**400]}, "out of range"),
    ],
)
def test_values_of_the_wrong_type_are_refused(fields: dict[str, Any], cause: str) -> None:
    with pytest.raises(RecordError, match=cause):
        read_record(json.dumps(fields))


@pytest.mark.parametrize("line", ["[1]", "7", "null", '"a"'])
def test_a_line_that_is_no_object_is_refused(line: str) -> None:
    with pytest.raises(RecordError, match=r"not JSON: synmt parse|not a JSON object"):
        read_record(line)
    assert not is_record(line)


def test_messages_are_encoded_as_text() -> None:
    """`str` of a message is the message itself, which msgspec does not take for a string."""
    assert encoded({"notes": [Message("--{}", "x")]}) == b'{"notes":["--x"]}'
    with pytest.raises(TypeError, match="cannot be JSON: complex"):
        encoded({"notes": 1j})
