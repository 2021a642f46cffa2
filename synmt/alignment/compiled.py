"""The compiled twin of chains.py: chains.c, built by the system's C compiler at the first use.

The library is saved in the user's cache ($XDG_CACHE_HOME or ~/.cache), under a name that depends on its source. If it
cannot be built, or SYNMT_COMPILED is 0, numpy does the same work several times more slowly. Both compute the same γ but
for rounding; the compiled code gives the same numbers on every processor.

Shapes: B pairs of I target and J source words, padded; N types of word pairs; U and V distinct subwords of the
sources and targets of a batch; m the longest jump.
"""

import ctypes
import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synmt.streams.paths import cache_folder

SOURCE = Path(__file__).with_name("chains.c")
FLAGS = ("-std=gnu11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-Wno-psabi")

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]


@cache
def library() -> ctypes.CDLL | None:
    """Return the library, or None if it is disabled or cannot be built; the latter is reported on stderr."""
    if os.environ.get("SYNMT_COMPILED") == "0":
        return None
    try:
        return ctypes.CDLL(str(_built()))
    except (OSError, subprocess.SubprocessError) as error:
        reason = str(getattr(error, "stderr", None) or error).split("\n")[0]
        print(f"synmt align: no compiled code, so this takes several times as long: {reason}", file=sys.stderr)
        return None


def _built() -> Path:
    """Return the path of the library. Raises OSError or SubprocessError if it cannot be built."""
    source = SOURCE.read_bytes()
    made_of = repr((source, FLAGS, platform.system(), platform.machine())).encode()
    folder = cache_folder()
    path = folder / f"chains-{hashlib.blake2b(made_of, digest_size=8).hexdigest()}.so"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as temporary:
            new = Path(temporary, path.name)
            compiler = os.environ.get("CC", "cc").split()
            subprocess.run([*compiler, *FLAGS, "-o", new, SOURCE, "-lm"], check=True, capture_output=True, text=True)
            new.replace(path)
    return path


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

    likely [N+1]: (1 − p₀) t of each type; none: p₀ t(y | no word) of the words y; classes: of the words x; weights
    [C,2m+1]: of jumps. The chain adds counts to unlinked, by the word y, and to seen and possible [C,2m+1], as in
    `JumpCounts`.
    """

    likely: Floats
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
            *map(_address, (self.likely, self.none, self.weights)), _address(self.classes, np.int64), longest,
            *of_weights, _address(self.unlinked), _address(links), 0.0,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ByScores:
    """One direction of a chain whose probabilities are scores, in logarithms.

    linked [U,V]: (1 − p₀) p(v | u); none [V]: p₀ p(v | none); jumps [U,2m+1]: the scores s_d + w_d · e_u. The chain
    adds counts to unlinked [V], and to taken [U,2m+1] the gradient, with respect to the scores, of the summed
    log-probabilities of the jumps taken.
    """

    linked: Floats
    none: Floats
    jumps: Floats
    unlinked: Floats
    taken: Floats

    def structure(self, links: Floats | None) -> _Scores:
        return _Scores(
            *map(_address, (self.linked, self.none, self.jumps)), None, None, self.linked.shape[1],
            self.jumps.shape[1] // 2, *map(_address, (self.taken, self.unlinked, links)), 0.0,
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


Direction = ByTables | ByScores | ByVectors
Read = tuple[float, list[Floats]]  # the log-likelihood of both directions, and links [B,I,J] and [B,J,I] if requested


def read(
    directions: Sequence[Direction],
    sides: tuple[Ids, Ids],
    steps: int,
    counts: Floats | None,
    types: NDArray[np.int32] | None = None,
    vectors: Vectors | None = None,
) -> Read:
    """Read a batch in both directions, forward first, with steps of agreement; for tables and steps < 0, no word
    depends on the previous one.

    sides: sources [B,J] and targets [B,I], negative where padded; types [B,I,J]: only for `ByTables`; vectors: only for
    `ByVectors`. counts: by type [N+1] or by subwords [U,V]; Σ γ_ij γ′_ji is added to them, and each direction adds to
    its own counts. Without counts, links are returned instead. Raises MemoryError.
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
        arguments.append(ctypes.c_void_p(_address(types, np.int32)))
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
