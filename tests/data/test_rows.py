"""Rows in shards on disk equal the rows in memory that they were made of."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.components.contract import Field
from synmt.data.rows import Row, Shards, add_row, columns_of, lengths_of, open_shard, shard, words_of, write_shard

FIELDS = {
    "depths": Field("token", "int8", pad=-1),
    "strengths": Field("token", "float32"),
    "relations": Field("label"),
    "distances": Field("pair", "int16"),
    "marked": Field("pair", "bool"),
}


@st.composite
def rows(draw: st.DrawFn, fields: dict[str, Field]) -> Row:
    """Return a sentence of up to 5 tokens."""
    size = draw(st.integers(0, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    found: dict[str, Any] = {"ids": random.integers(0, 9, size).astype(np.int32), "words": draw(st.integers(0, size))}
    for name, each in fields.items():
        found[name] = random.integers(0, 2, (size, size) if each.shape == "pair" else size).astype(each.dtype)
    return found


@st.composite
def windows(draw: st.DrawFn) -> tuple[dict[str, Field], list[list[Row]]]:
    """Return some fields, and the rows of some shards, of which any may be empty."""
    fields = {name: FIELDS[name] for name in draw(st.sets(st.sampled_from(sorted(FIELDS))))}
    return fields, draw(st.lists(st.lists(rows(fields), max_size=4), min_size=1, max_size=4))


@settings(max_examples=60, deadline=None)
@given(windows())
def test_shards_equal_lists(found: tuple[dict[str, Field], list[list[Row]]]) -> None:
    fields, parts = found
    most = {"ids": 9, **{name: 2 for name, each in fields.items() if each.shape == "label"}}
    with TemporaryDirectory() as name:
        files = [shard(Path(name), number, "source") for number in range(len(parts))]
        checksums = [write_shard(file, columns_of(part, fields)) for file, part in zip(files, parts, strict=True)]
        opened = [open_shard(*each, fields, most) for each in zip(files, checksums, strict=True)]
        shards = Shards(opened, fields)
        expected = [row for part in parts for row in part]
        assert len(shards) == len(expected)
        for row, other in zip(shards, expected, strict=True):
            assert row.keys() == other.keys()
            for each in row:
                assert np.array_equal(row[each], other[each]) and np.shape(row[each]) == np.shape(other[each])
                assert each == "words" or row[each].dtype == other[each].dtype
        assert lengths_of(shards).tolist() == lengths_of(expected).tolist()
        assert words_of(shards).tolist() == words_of(expected).tolist()


def test_shorter_values_are_padded_to_the_ids() -> None:
    """As those of a decoder that does not read all of its entries."""
    row = {"ids": np.arange(3, dtype=np.int32), "words": 1, "depths": np.array([5], np.int8)}
    (found,) = Shards([columns_of([row], {"depths": FIELDS["depths"]})], {"depths": FIELDS["depths"]})
    assert found["depths"].tolist() == [5, -1, -1]


def test_rows_on_disk_cannot_grow_and_end() -> None:
    shards = Shards([columns_of([], {})], {})
    with pytest.raises(TypeError, match="cannot grow"):
        add_row(shards, {})
    with pytest.raises(IndexError):
        shards[0]
