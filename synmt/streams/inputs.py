"""Sources of lines: files, also compressed, and pipes, which report when no more lines arrive for a while."""

import errno
import os
import stat
import sys
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import UnsupportedOperation
from pathlib import Path
from select import POLLIN, poll
from typing import Any, BinaryIO

PAUSE = 50  # ms without a further line
CHUNK = 2**16  # bytes

# By suffix: the module that reads the file, its first bytes, and the shell command that unpacks it.
COMPRESSIONS = {
    ".gz": ("gzip", b"\x1f\x8b", "gzip"),
    ".bz2": ("bz2", b"BZh", "bzip2"),
    ".xz": ("lzma", b"\xfd7zXZ\0", "xz"),
    ".zst": ("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", b"\x28\xb5\x2f\xfd", "zstd"),
}
# Suffixes of files that hold segments instead of lines: TMX, and XLIFF (.sdlxliff, .mxliff and the like, too).
EXCHANGE = tuple(f"{each}{zipped}" for each in (".tmx", ".xlf", "xliff") for zipped in ("", *COMPRESSIONS))
ERRORS = "LZMAError", "ZstdError"  # errors of these modules that are not OSError


class Pipe:
    """Lines of a pipe or terminal. After each line, `pauses` tells whether the next one follows at once."""

    def __init__(self, descriptor: int, longest: int) -> None:
        """longest: number of bytes after which to cut a line."""
        self._descriptor, self._longest = descriptor, longest
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []  # parts of an incomplete line
        self._ended = False
        self._more = poll()
        self._more.register(descriptor, POLLIN)

    def readline(self, _: int) -> bytes:
        """Return the next line with its line end, or b"" at the end of the input."""
        while not self._lines and not self._ended:
            self._read()
        return self._lines.popleft() if self._lines else b""

    def pauses(self) -> bool:
        """Return whether neither a line nor the end arrives within PAUSE."""
        while not self._lines and not self._ended:
            if not self._more.poll(PAUSE):
                return True
            self._read()
        return False

    def _read(self) -> None:
        """Wait for more bytes or the end."""
        chunk = os.read(self._descriptor, CHUNK)
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._lines.append(b"".join([*self._begun, end, b"\n"]))
            self._begun = []
        self._begun.append(rest)
        self._ended = not chunk
        if self._ended or sum(map(len, self._begun)) > self._longest:
            line, self._begun = b"".join(self._begun), []
            self._lines.extend([line] if line else [])


@contextmanager
def open_input(path: str, longest: int) -> Iterator[BinaryIO | Pipe]:
    """Open a file for reading lines; `-` is standard input. Raises OSError, also for a file that cannot be unpacked."""
    if path == "-" and sys.stdin is None:
        raise OSError(errno.EBADF, "closed")
    elif path == "-":
        yield _pipe_of(sys.stdin.buffer, longest)
    elif suffix := compression_of(path):
        module = import_compression(suffix)
        errors = EOFError, zlib.error, *(getattr(module, name) for name in ERRORS if hasattr(module, name))
        try:
            with module.open(path, "rb") as zipped:
                yield zipped
        except errors as error:
            raise OSError(str(error)) from None
    else:
        with Path(path).open("rb") as plain:
            yield _pipe_of(plain, longest)


def compression_of(path: str) -> str:
    """Return the suffix of a compressed file, "" for other files."""
    suffix = Path(path).suffix
    return suffix if suffix in COMPRESSIONS else ""


def without_compression(path: str) -> str:
    """Return the name of a file after unpacking."""
    return path.removesuffix(compression_of(path))


def import_compression(suffix: str) -> Any:
    """Return the module that reads and writes such files. Raises OSError if it is not installed."""
    name, _, _ = COMPRESSIONS[suffix]
    try:
        return import_module(name)
    except ImportError:
        raise OSError(f"{suffix} files need the package {name}: pip install {name}") from None


def packed(path: str, data: bytes) -> bytes:
    """Return what a file of this name has for these bytes: compressed ones if its suffix says so. Raises OSError."""
    if not (suffix := compression_of(path)):
        return data
    timeless = {"mtime": 0} if suffix == ".gz" else {}  # so that the same data give the same file
    compressed: bytes = import_compression(suffix).compress(data, **timeless)
    return compressed


def unpacker(start: bytes) -> str:
    """Return the command that unpacks a file with these first bytes, "" if it does not look compressed."""
    return next((program for _, magic, program in COMPRESSIONS.values() if start.startswith(magic)), "")


def _pipe_of(stream: BinaryIO, longest: int) -> BinaryIO | Pipe:
    """Return the stream, or a Pipe if it is a pipe, a socket or a terminal."""
    try:
        descriptor = stream.fileno()
    except UnsupportedOperation:
        return stream
    mode = os.fstat(descriptor).st_mode
    waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
    return Pipe(descriptor, longest) if waits else stream
