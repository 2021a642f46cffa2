"""Rows of numbers of different lengths in two memory-mapped .npy files: all numbers, and the ends of the rows."""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar, overload

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from synmt.model.files import check_inside, naming

BLOCK = 2**20  # numbers to check at a time
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Rows(Sequence[T], Generic[T]):
    """n rows: row i is read(values[ends[i−1]:ends[i]]), a view; ends: [n]."""

    values: NDArray[Any]
    ends: NDArray[np.int64]
    read: Callable[[NDArray[Any]], T]

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> "Sequence[T]": ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        return self.read(self.values[self.ends[index - 1] if index else 0 : self.ends[index]])

    def check_inside(self, count: int) -> None:
        """Raise ValueError for a number outside of 0…count−1."""
        for block in blocks(self.values):
            if block.min() < 0 or block.max() >= count:
                raise ValueError(f"an id outside of 0…{count - 1}")

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Return the number of numbers per row, [n]."""
        return np.diff(self.ends, prepend=0)


def lengths_of(rows: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the lengths of rows of numbers, [n]."""
    return rows.lengths if isinstance(rows, Rows) else np.array([len(row) for row in rows], np.int64)


def counts_in(rows: Sequence[NDArray[Any]], is_counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many numbers of each row are among those counted, [n]."""
    if is_counted.all():
        return lengths_of(rows)
    return np.array([np.count_nonzero(is_counted[row]) for row in rows], np.int64)


def add_row(rows: Sequence[T], row: T) -> None:
    """Add a row to a list of rows. Raises TypeError for rows on disk."""
    if not isinstance(rows, list):
        raise TypeError("rows on disk cannot grow")
    rows.append(row)


def without_prefix(prefix: str, rows: Mapping[str, Rows[Any]]) -> dict[str, Rows[Any]]:
    """Return the rows whose names have a prefix, under the rest of their names."""
    return {name.removeprefix(prefix): each for name, each in rows.items() if name.startswith(prefix)}


def blocks(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield all numbers, a block at a time."""
    for begin in range(0, len(values), BLOCK):
        yield values[begin : begin + BLOCK]


def as_row(row: NDArray[Any]) -> NDArray[Any]:
    return row


def as_square(row: NDArray[Any]) -> NDArray[Any]:
    """Return a matrix [n,n]."""
    return row.reshape(math.isqrt(len(row)), -1)


class ArrayWriter:
    """Appends numbers to an .npy file."""

    def __init__(self, stream: BinaryIO, kind: str) -> None:
        """stream: the new file; kind: the name of a numpy type."""
        self._stream, self._kind = stream, np.dtype(kind)
        self._size, self._digest = 0, hashlib.blake2b(digest_size=16)
        self._write_header()

    def append(self, values: NDArray[Any]) -> None:
        data = np.ascontiguousarray(values, self._kind).data
        self._stream.write(data)
        self._digest.update(data)
        self._size += len(values)

    def finish(self) -> str:
        """Complete the file, and return a checksum of its numbers."""
        self._stream.seek(0)
        self._write_header()
        self._stream.flush()
        return self._digest.hexdigest()

    def _write_header(self) -> None:
        """Write the header for the current number of numbers; numpy pads it, so that it can be overwritten."""
        header: Any = {"descr": npy.dtype_to_descr(self._kind), "fortran_order": False, "shape": (self._size,)}
        npy.write_array_header_1_0(self._stream, header)


def open_array(path: Path, kind: str, checksum: str) -> NDArray[Any]:
    """Return the memory-mapped numbers of an .npy file. Raises BadInput if it is incomplete, has another type, or does
    not match its checksum."""
    check_inside(path.parent, path)
    with naming(path):
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if found.dtype != np.dtype(kind) or found.ndim != 1:
            raise ValueError(f"{found.ndim} dimensions of {found.dtype}, not one of {kind}")
        values: NDArray[Any] = found.view(np.ndarray)  # views of a memmap are slow to create
        digest = hashlib.blake2b(digest_size=16)
        for block in blocks(values):
            digest.update(block.data)
        if digest.hexdigest() != checksum:
            raise ValueError("damaged: its checksum does not match")
        return values


def open_rows(values: NDArray[Any], ends: NDArray[Any], read: Callable[[NDArray[Any]], T]) -> Rows[T]:
    """Return rows. Raises ValueError for invalid ends."""
    last = 0
    for block in blocks(ends):
        if (np.diff(block, prepend=last) < 0).any():
            raise ValueError("rows that end before they begin")
        last = int(block[-1])
    if last != len(values):
        raise ValueError(f"{len(values)} numbers in rows of {last}")
    return Rows(values, ends, read)
