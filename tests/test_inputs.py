"""Sources of lines: compressed files, and pipes that pause."""

import bz2
import gzip
import lzma
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.streams import BadInput, read_lines
from synmt.streams.inputs import COMPRESSIONS, PAUSE, Pipe

TEXT = b"one\ntwo\n\nfour\n"


def packed(suffix: str, data: bytes) -> bytes:
    if suffix == ".zst":
        return bytes(pytest.importorskip("backports.zstd").compress(data))
    packers: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    return packers[suffix](data)


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe, the reading end first."""
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            with suppress(OSError):
                os.close(end)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_files_are_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(packed(suffix, TEXT) + packed(suffix, b"five\n"))  # two parts, as parallel programs write them
    assert [line.text for line in read_lines([str(path)])] == ["one", "two", "", "four", "five"]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_broken_compressed_files_are_refused(suffix: str, tmp_path: Path) -> None:
    whole = packed(suffix, os.urandom(5000).hex().encode() + b"\n")
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=f"cut{suffix}: "):
        list(read_lines([str(path)]))
    path = tmp_path / f"plain{suffix}"
    path.write_bytes(TEXT)
    with pytest.raises(BadInput, match=f"plain{suffix}: "):
        list(read_lines([str(path)]))


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_bytes_under_another_name_are_reported(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(packed(suffix, TEXT))
    program = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}[suffix]
    with pytest.raises(BadInput, match=f"text:1: not text but compressed: unpack it with {program} -dc, or"):
        list(read_lines([str(path)]))


@given(st.lists(st.binary(max_size=5)), st.integers(1, 4))
def test_a_pipe_gives_the_lines_of_a_file(lines: list[bytes], size: int) -> None:
    """This holds for any number of bytes at a time."""
    data = b"\n".join(lines)
    with pipe() as (reading, writing):
        source = Pipe(reading, longest=100)
        for sent in range(0, len(data), size):
            os.write(writing, data[sent : sent + size])
            source._read()
        os.close(writing)
        assert list(iter(lambda: source.readline(0), b"")) == BytesIO(data).readlines()


def test_a_pipe_pauses_if_nothing_arrives() -> None:
    with pipe() as (reading, writing):
        source = Pipe(reading, longest=100)
        os.write(writing, b"one\ntwo\nthr")
        assert (source.readline(0), source.pauses()) == (b"one\n", False)
        begun = time.monotonic()
        assert (source.readline(0), source.pauses()) == (b"two\n", True)  # half a line does not count
        assert time.monotonic() - begun >= PAUSE / 1000
        os.write(writing, b"ee\n")
        assert not source.pauses()
        assert (source.readline(0), source.pauses()) == (b"three\n", True)
        os.write(writing, b"end")
        os.close(writing)
        assert not source.pauses()
        assert (source.readline(0), source.readline(0), source.pauses()) == (b"end", b"", False)


def test_an_endless_line_in_a_pipe_is_cut() -> None:
    with pipe() as (reading, writing):
        source = Pipe(reading, longest=100)
        os.write(writing, b"x" * 1000)
        assert len(source.readline(0)) > 100


def test_text_can_start_like_compressed_bytes(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"BZh is short for nothing\n")
    assert [line.text for line in read_lines([str(path)])] == ["BZh is short for nothing"]
