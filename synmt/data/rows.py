"""Sentences as numbers: a row per sentence, in memory or in memory-mapped shards.

A shard is one safetensors file with the sentences of one side. `starts` [R+1] is where each row begins among the
tokens; `words` [R] is how many tokens of each row are subwords; `ids` and the fields have the numbers of all T tokens,
or their vectors, [T,d]; `squares` [R+1], if a field has pairs of tokens, is where each row begins among the pairs.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from hashlib import blake2b, file_digest
from itertools import accumulate
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from synmt.components.contract import Field
from synmt.model.files import check_inside, naming
from synmt.parameters import check_header

Array = NDArray[Any]
Row = Mapping[str, Any]  # `ids` [n]; the number of `words`; and the fields, each [n], [n,d] or [n,n]
Columns = Mapping[str, Array]  # the arrays of a shard
IDS = Field()
SIDES = "source", "target", "bare"  # bare: the sources without their trees


class Shards(Sequence[Row]):
    """The rows of one side. columns: of each shard; fields: by name, as components declare them."""

    def __init__(self, columns: Sequence[Columns], fields: Mapping[str, Field]) -> None:
        self.columns = columns
        self._firsts = [*accumulate((len(each["starts"]) - 1 for each in columns), initial=0)]
        self._of_tokens = ["ids", *(name for name, each in fields.items() if each.shape != "pair")]
        self._of_pairs = [name for name, each in fields.items() if each.shape == "pair"]

    def __len__(self) -> int:
        return self._firsts[-1]

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        number = bisect_right(self._firsts, index) - 1
        shard, place = self.columns[number], index - self._firsts[number]
        begin, end = shard["starts"][place : place + 2].tolist()
        row = {name: shard[name][begin:end] for name in self._of_tokens}
        if self._of_pairs:
            first, last = shard["squares"][place : place + 2].tolist()
            row |= {name: shard[name][first:last].reshape(end - begin, end - begin) for name in self._of_pairs}
        row["words"] = shard["words"][place]
        return row


def lengths_of(rows: Sequence[Row]) -> NDArray[np.int64]:
    """Return the number of tokens per row, [R]."""
    if isinstance(rows, Shards):
        return np.concatenate([np.diff(each["starts"]) for each in rows.columns])
    return np.array([len(row["ids"]) for row in rows], np.int64)


def words_of(rows: Sequence[Row]) -> NDArray[np.int64]:
    """Return the number of subwords per row, [R]."""
    if isinstance(rows, Shards):
        return np.concatenate([each["words"] for each in rows.columns]).astype(np.int64)
    return np.array([row["words"] for row in rows], np.int64)


def add_row(rows: Sequence[Row], row: Row) -> None:
    """Add a row in memory. Raises TypeError for rows on disk."""
    if not isinstance(rows, list):
        raise TypeError("rows on disk cannot grow")
    rows.append(row)


def columns_of(rows: Sequence[Row], fields: Mapping[str, Field]) -> dict[str, Array]:
    """Return the arrays of a shard of these rows. Values are padded to the number of ids."""
    lengths = lengths_of(rows)
    found = {"starts": np.append(0, lengths.cumsum()), "words": words_of(rows).astype(np.int32)}
    if any(each.shape == "pair" for each in fields.values()):
        found["squares"] = np.append(0, (lengths**2).cumsum())
    for name, own in {"ids": IDS, **fields}.items():
        values = [row[name].reshape(-1, *own.vector) for row in rows]
        if own.shape != "pair":
            missing = lengths - [len(each) for each in values]
            if missing.any():
                values = [
                    np.pad(each, [(0, n), *[(0, 0)] * len(own.vector)], constant_values=own.pad)
                    for each, n in zip(values, missing, strict=True)
                ]
        found[name] = np.concatenate([np.zeros((0, *own.vector), own.dtype), *values])
    return found


def shard(folder: Path, number: int, side: str) -> Path:
    """Return the file of a shard, the `number`-th of its side."""
    return folder / f"{number}.{side}.safetensors"


def write_shard(path: Path, columns: Columns, entries: Mapping[str, Sequence[str]] | None = None) -> str:
    """Write a file; return a checksum of its bytes. entries: what provisional numbers stand for, by name. Raises
    OSError."""
    data = save(dict(columns), {"entries": json.dumps(entries)} if entries else None)
    path.write_bytes(data)
    return blake2b(data, digest_size=16).hexdigest()


def read_draft(path: Path) -> tuple[dict[str, Array], dict[str, list[str]]]:
    """Return the arrays of a shard with provisional numbers, and what these stand for."""
    with safe_open(path, "np") as file:
        columns = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        return columns, json.loads(file.metadata()["entries"])


def open_shard(path: Path, checksum: str, fields: Mapping[str, Field], most: Mapping[str, int]) -> Columns:
    """Return the memory-mapped arrays of a shard. most: of `ids` and the labels, how many different numbers there are.

    Raises BadInput for a file that is damaged, or whose arrays are not the rows of these fields.
    """
    check_inside(path.parent, path)
    with naming(path):
        with path.open("rb") as stream:
            found = file_digest(stream, lambda: blake2b(digest_size=16)).hexdigest()
        if found != checksum:
            raise ValueError("damaged: its checksum does not match")
        check_header(path)
        with safe_open(path, "pt") as file:  # tensors are memory-mapped; safetensors would copy arrays
            columns = {name: file.get_tensor(name).numpy() for name in file.keys()}  # noqa: SIM118 (no mapping)
        check_columns(columns, fields, most)
    return columns


def check_columns(columns: Columns, fields: Mapping[str, Field], most: Mapping[str, int]) -> None:
    """Raise ValueError or KeyError for arrays that are not the rows of these fields."""
    pairs = [name for name, each in fields.items() if each.shape == "pair"]
    kinds = {"starts": "int64", "words": "int32", **({"squares": "int64"} if pairs else {})}
    kinds |= {name: each.dtype for name, each in {"ids": IDS, **fields}.items()}
    for name, kind in kinds.items():
        vector = fields[name].vector if name in fields else ()
        if (array := columns[name]).dtype != np.dtype(kind) or array.ndim < 1 or array.shape[1:] != vector:
            shape = ", ".join(map(str, ("T", *vector)))
            raise ValueError(f"{name} are {array.dtype} {list(array.shape)}, not {kind} [{shape}]")
    starts, words, tokens = columns["starts"], columns["words"], len(columns["ids"])
    lengths = np.diff(starts)
    if starts[:1].tolist() != [0] or starts.min() < 0 or starts.max() != tokens or (lengths < 0).any():
        raise ValueError(f"rows that do not cover the {tokens} ids")
    if len(words) != len(lengths) or (words < 0).any() or (words > lengths).any():
        raise ValueError("rows with other numbers of words than they can have")
    if pairs and not np.array_equal(columns["squares"], np.append(0, (lengths**2).cumsum())):
        raise ValueError("squares do not have the lengths of the rows")
    for name in fields:
        if len(columns[name]) != (size := columns["squares"][-1] if name in pairs else tokens):
            raise ValueError(f"{len(columns[name])} numbers of {name} in rows of {size}")
    for name, count in most.items():
        values = columns[name]
        if values.size and not 0 <= values.min() <= values.max() < count:
            raise ValueError(f"{name} outside of 0…{count - 1}")
