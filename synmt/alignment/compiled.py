"""The compiled twin of chains.py: chains.c, which setup.py builds when synmt is installed.

Without the library, or if SYNMT_COMPILED is 0, NumPy does the same work in 1.4 to 2.4 times the time. Both compute the
same γ but for rounding; the compiled code gives the same numbers on every processor.

Shapes: B pairs of I target and J source words, padded; N types of word pairs; U and V distinct subwords of the
sources and targets of a batch; m the longest jump.
"""

import ctypes
import hashlib
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synmt.streams import note

NAME = "synmt.alignment._chains"
SOURCE = Path(__file__).with_name("chains.c")  # only in a checkout, where it may change after the installation

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]


@cache
def library() -> ctypes.CDLL | None:
    """Return the library, or None if it is disabled or cannot be used; the latter is noted."""
    if os.environ.get("SYNMT_COMPILED") == "0":
        return None
    try:
        return _loaded()
    except (OSError, ValueError) as error:
        note(f"no compiled code, so this takes up to 2.4 times as long: {error}")
        return None


def _loaded() -> ctypes.CDLL:
    """Return the library. Raises OSError or ValueError if it is missing, incomplete or built from another source."""
    found = find_spec(NAME)
    if not found or not found.origin:
        raise OSError("it was not built when synmt was installed; install a C compiler, then synmt again")
    path = Path(found.origin)
    if not _is_whole(path):
        raise OSError(f"{path} is incomplete; install synmt again")
    made = ctypes.CDLL(str(path))
    built = ctypes.c_char_p.in_dll(made, "source").value
    if SOURCE.exists() and built != hashlib.sha256(SOURCE.read_bytes()).hexdigest().encode():
        raise OSError(f"{path} was built from another chains.c; install synmt again")
    return made


def _is_whole(path: Path) -> bool:
    """Return whether an ELF file extends to the end of its table of sections, which comes last. The loader of Linux
    would crash instead; other formats are checked by their loaders."""
    with path.open("rb") as file:
        head = file.read(64)
        size = file.seek(0, os.SEEK_END)
    if head[:4] != b"\x7fELF" or len(head) < 64:
        return size >= 64  # a shorter file is no library
    start, layout = (40, "=Q10xHH") if head[4] == 2 else (32, "=I10xHH")
    table, each, count = struct.unpack_from(layout, head, start)
    return size >= table + each * count


class _Tables(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("likely", "none", "weights", "classes")),
        ("longest", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("seen", "possible", "unlinked", "links")),
        ("likelihood", ctypes.c_double),
    ]


class _Scores(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("linked", "none", "jumps", "bias", "totals")),
        *((name, ctypes.c_int64) for name in ("subwords", "longest")),
        *((name, ctypes.c_void_p) for name in ("gradient", "unlinked", "links")),
        ("likelihood", ctypes.c_double),
    ]


class _Vectors(ctypes.Structure):
    _fields_ = [("sources", ctypes.c_void_p), ("targets", ctypes.c_void_p), ("size", ctypes.c_int64)]


@dataclass(frozen=True, slots=True)
class ByTables:
    """One direction of a chain whose probabilities are tables.

    linked [N+1]: (1 − p₀) t of each type; none: p₀ t(y | no word) of the words y; classes: of the words x; weights
    [C,2m+1]: of jumps. The chain adds counts to unlinked, by the word y, and to seen and possible [C,2m+1], as in
    `TransitionCounts`.
    """

    linked: Floats
    none: Floats
    classes: Ids
    weights: Floats
    unlinked: Floats
    seen: NDArray[np.float64]
    possible: NDArray[np.float64]

    def structure(self, links: Floats | None) -> _Tables:
        longest = self.weights.shape[1] // 2
        of_weights = _address(self.seen, np.float64), _address(self.possible, np.float64)
        return _Tables(
            *map(_address, (self.linked, self.none, self.weights)), _address(self.classes, np.int64), longest,
            *of_weights, _address(self.unlinked), _address(links), 0.0,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ByScores:
    """One direction of a chain whose probabilities are scores, in logarithms.

    linked [U,V]: (1 − p₀) p(v | u); none [V]: p₀ p(v | none); jumps [U,2m+1]: the scores s_d + w_d · e_u. The chain
    adds counts to unlinked [V], and to gradient [U,2m+1] the gradient, with respect to the scores, of the summed
    log-probabilities of the jumps taken.
    """

    linked: Floats
    none: Floats
    jumps: Floats
    unlinked: Floats
    gradient: Floats

    def structure(self, links: Floats | None) -> _Scores:
        return _Scores(
            *map(_address, (self.linked, self.none, self.jumps)), None, None, self.linked.shape[1],
            self.jumps.shape[1] // 2, *map(_address, (self.gradient, self.unlinked, links)), 0.0,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ByVectors:
    """One direction of a trained chain whose probabilities are computed from `Vectors`.

    none and jumps: as in `ByScores`, for all subwords; bias [V]: b + log (1 − p₀); totals [U]: log Σ_v e^(f_v · e_u +
    b_v).
    """

    none: Floats
    jumps: Floats
    bias: Floats
    totals: Floats

    def structure(self, links: Floats | None) -> _Scores:
        known = map(_address, (self.none, self.jumps, self.bias, self.totals))
        return _Scores(None, *known, len(self.none), self.jumps.shape[1] // 2, None, None, _address(links), 0.0)


@dataclass(frozen=True, slots=True)
class Vectors:
    """sources [U,d] and targets [V,d]: the vectors of all subwords of both sides."""

    sources: Floats
    targets: Floats

    def structure(self) -> _Vectors:
        return _Vectors(_address(self.sources), _address(self.targets), self.sources.shape[1])

    def totals(self, biases: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Return log Σ_v e^(f_v · e_u + b_v) [U] and log Σ_u e^(f_v · e_u + b′_u) [V]; biases: b [V] and b′ [U].

        Raises MemoryError.
        """
        made, found = library(), (np.empty(len(self.sources), np.float32), np.empty(len(self.targets), np.float32))
        assert made
        sizes = map(ctypes.c_int64, map(len, found))
        given = (ctypes.c_void_p(_address(each)) for each in (*biases, *found))
        if made.find_totals(*sizes, ctypes.byref(self.structure()), *given):
            raise MemoryError
        return found


CompiledDirection = ByTables | ByScores | ByVectors
Result = tuple[float, list[Floats]]  # the log-likelihood of both directions, and links [B,I,J] and [B,J,I] if requested


def e_step(
    directions: Sequence[CompiledDirection],
    sides: tuple[Ids, Ids],
    steps: int,
    counts: Floats | None,
    types: NDArray[np.int32] | None = None,
    vectors: Vectors | None = None,
    evidence: Floats | None = None,
) -> Result:
    """Result a batch in both directions, forward first, with steps of agreement; for tables and steps < 0, no word
    depends on the previous one.

    sides: sources [B,J] and targets [B,I], negative where padded; types [B,I,J]: only for `ByTables`; evidence [B,I,J]:
    by which the probability of each link is multiplied, only for `ByTables`; vectors: only for `ByVectors`. counts: by
    type [N+1] or by subwords [U,V]; Σ γ_ij γ′_ji is added to them, and each direction adds to its own counts. Without
    counts, links are returned instead. Raises MemoryError.
    """
    sources, targets = sides
    made = library()
    assert made
    batch, sizes = len(sources), (targets.shape[1], sources.shape[1])
    links = [np.zeros((batch, *each), np.float32) for each in (sizes, sizes[::-1])] if counts is None else []
    structures = [each.structure(own) for each, own in zip(directions, links or (None, None), strict=True)]
    arguments: list[Any] = [ctypes.c_int64(each) for each in (batch, *sizes)]
    arguments += [ctypes.c_void_p(_address(each, np.int64)) for each in (sources, targets)]
    if types is not None:
        arguments += [ctypes.c_void_p(_address(types, np.int32)), ctypes.c_void_p(_address(evidence))]
    arguments.append(ctypes.c_int64(steps))
    if types is None:
        arguments.append(ctypes.byref(vectors.structure()) if vectors else None)
    arguments += [*map(ctypes.byref, structures), ctypes.c_void_p(_address(counts))]
    function = made.read_by_scores if types is None else made.read_by_tables
    if function(*arguments):
        raise MemoryError
    return sum(each.likelihood for each in structures), links


def _address(array: NDArray[Any] | None, kind: type = np.float32) -> int | None:
    if array is None:
        return None
    assert array.dtype == kind and array.flags.c_contiguous
    return array.ctypes.data
