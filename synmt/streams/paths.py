"""Paths of inputs and outputs, where no output is written over an input, and of the user's cache."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from synmt.streams import WrongUsage

STDIN = "/dev/stdin"
MOST_FILES = 10_000  # to check per folder


def check_apart(outputs: Iterable[tuple[str, str]], inputs: Iterable[str]) -> None:
    """Raise WrongUsage for an output that is, contains or is inside an input or standard input.

    outputs: pairs of an option's name and its path. Follows links, including those from files of an output folder to an
    input. Ignores devices and pipes, which are never overwritten.
    """
    sources = {path: set(files_at(Path(path))) for path in (*inputs, STDIN)}
    for name, path in outputs:
        written = set(files_at(Path(path)))
        for source, files in sources.items():
            if files and (_is_within(path, source) or _is_within(source, path) or written & files):
                place = "standard input" if source == STDIN else source
                raise WrongUsage(f"{name} {path} would write over the input {place}")


def _is_within(path: str, folder: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def files_at(path: Path) -> Iterator[tuple[int, int]]:
    """Yield the device and inode of a file, or of the files in a folder; nothing for devices and pipes."""
    with suppress(OSError, ValueError):  # a path that cannot be opened
        status = path.stat()
        if stat.S_ISREG(status.st_mode):
            yield status.st_dev, status.st_ino
        elif stat.S_ISDIR(status.st_mode):
            for each in islice(path.rglob("*"), MOST_FILES):
                if each.is_file():
                    yield each.stat().st_dev, each.stat().st_ino


def cache_folder() -> Path:
    """Return the folder for what synmt keeps for this user. Raises OSError for a user without a home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "synmt"
    except RuntimeError as error:
        raise OSError(str(error)) from None
