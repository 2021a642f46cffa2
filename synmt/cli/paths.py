"""Paths of the command line: each option and argument declares whether it is read or written, and no command writes a
file that it reads."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import click

from synmt.streams import WrongUsage

GIVEN = "synmt.paths"
STDIN = "/dev/stdin"
MOST_FILES = 10_000  # of a folder that are looked at


class Reads(click.Path):
    """A file or folder to read, or the name of something that is no file."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Note the path as given: what a callback makes of it may be none."""
        path = super().convert(value, parameter, context)
        if context and parameter:
            context.meta.setdefault(GIVEN, []).append((parameter, os.fspath(path)))
        return path


class Writes(Reads):
    """A file or folder to write."""


def check_paths(context: click.Context) -> None:
    """Raise WrongUsage for a path to write that is a path to read, or a path to write by another option."""
    given: list[tuple[click.Parameter, str]] = context.meta.get(GIVEN, [])
    outputs = [(max(each.opts, key=len), path) for each, path in given if isinstance(each.type, Writes)]
    inputs = [path for each, path in given if not isinstance(each.type, Writes)]
    check_apart(outputs, inputs)
    for number, (name, path) in enumerate(outputs):
        for other, place in outputs[:number]:
            if os.path.realpath(path) == os.path.realpath(place):
                raise WrongUsage(f"{other} and {name} would both write {path}")


def check_apart(outputs: Iterable[tuple[str, str]], inputs: Iterable[str]) -> None:
    """Raise WrongUsage for an output that is an input or standard input, lies in one or holds one.

    outputs: the name of an option and its path. Links are followed, and a file of an output folder may be a link to
    an input. Devices and pipes are never overwritten.
    """
    sources = {path: set(_files(Path(path))) for path in (*inputs, STDIN)}
    for name, path in outputs:
        written = set(_files(Path(path)))
        for source, files in sources.items():
            if files and (_is_within(path, source) or _is_within(source, path) or written & files):
                place = "standard input" if source == STDIN else source
                raise WrongUsage(f"{name} {path} would write over the input {place}")


def _is_within(path: str, folder: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _files(path: Path) -> Iterator[tuple[int, int]]:
    """Yield device and number of a file, or of the files in a folder; of a device or a pipe nothing."""
    with suppress(OSError, ValueError):  # no path that could be opened
        status = path.stat()
        if stat.S_ISREG(status.st_mode):
            yield status.st_dev, status.st_ino
        elif stat.S_ISDIR(status.st_mode):
            for each in islice(path.rglob("*"), MOST_FILES):
                if each.is_file():
                    yield each.stat().st_dev, each.stat().st_ino
