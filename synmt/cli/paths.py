"""Paths on the command line. Each option and argument declares whether it reads or writes its path, and no command
writes a file that it reads."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import click

from synmt.streams import WrongUsage, check_stdin_once

GIVEN = "synmt.paths"
STDIN, STDOUT = "/dev/stdin", "/dev/stdout"
MOST_FILES = 10_000  # to check per folder


class Reads(click.Path):
    """A file or folder to read, or a name that is not a file."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Record the path as given, because a callback may turn it into something else."""
        path = super().convert(value, parameter, context)
        if context and parameter:
            context.meta.setdefault(GIVEN, []).append((parameter, os.fspath(path)))
        return path


class Writes(Reads):
    """A file or folder to write."""


def check_paths(context: click.Context) -> None:
    """Raise WrongUsage for a path that is to be written and read, or written by two options, and for two inputs from
    standard input."""
    given: list[tuple[click.Parameter, str]] = context.meta.get(GIVEN, [])
    outputs = [(max(each.opts, key=len), path) for each, path in given if isinstance(each.type, Writes)]
    inputs = [path for each, path in given if not isinstance(each.type, Writes)]
    named = {each.name for each, path in given if path == "-"}
    by_default = ["-" for name, value in context.params.items() if value == ("-",) and name not in named]
    check_stdin_once([*inputs, *by_default])
    check_apart(outputs, inputs)
    written = set(_files(Path(STDOUT)))
    for source in (*inputs, STDIN):
        if Path(source).is_file() and written & set(_files(Path(source))):
            raise WrongUsage(f"standard output would be written to the input {source}")
    for number, (name, path) in enumerate(outputs):
        for other, place in outputs[:number]:
            if os.path.realpath(path) == os.path.realpath(place):
                raise WrongUsage(f"{other} and {name} would both write {path}")


def check_apart(outputs: Iterable[tuple[str, str]], inputs: Iterable[str]) -> None:
    """Raise WrongUsage for an output that is, contains or is inside an input or standard input.

    outputs: pairs of an option's name and its path. Follows links, including those from files of an output folder to an
    input. Ignores devices and pipes, which are never overwritten.
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
    """Yield the device and inode of a file, or of the files in a folder; nothing for devices and pipes."""
    with suppress(OSError, ValueError):  # a path that cannot be opened
        status = path.stat()
        if stat.S_ISREG(status.st_mode):
            yield status.st_dev, status.st_ino
        elif stat.S_ISDIR(status.st_mode):
            for each in islice(path.rglob("*"), MOST_FILES):
                if each.is_file():
                    yield each.stat().st_dev, each.stat().st_ino
