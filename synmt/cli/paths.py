"""Paths on the command line. Each option and argument declares whether it reads or writes its path. No command writes a
file that it reads, and outputs that cannot be written are refused before any work."""

import os
from pathlib import Path
from typing import Any

import click

from synmt.streams import WrongUsage, check_stdin_once
from synmt.streams.paths import STDIN, are_nested, check_apart, check_writable, files_at

GIVEN = "synmt.paths"
STDOUT = "/dev/stdout"


class Reads(click.Path):
    """A file or folder to read, or a name that is not a file."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Record the path as given, because a callback or the type may turn it into something else."""
        path = super().convert(value, parameter, context)
        if context and parameter:
            context.meta.setdefault(GIVEN, []).append((parameter, os.fspath(value)))
        return path


class Writes(Reads):
    """A file or folder to write."""

    def __init__(self, folder: bool, **rest: Any) -> None:
        super().__init__(**rest)
        self.folder = folder


def check_paths(context: click.Context) -> None:
    """Raise WrongUsage for a path that is to be written and read, that cannot be written, or that two options would
    write, and for two inputs from standard input."""
    given: list[tuple[click.Parameter, str]] = context.meta.get(GIVEN, [])
    outputs = [(max(each.opts, key=len), path) for each, path in given if isinstance(each.type, Writes)]
    inputs = [path for each, path in given if not isinstance(each.type, Writes)]
    check_stdin_once(inputs)
    if outputs:
        check_apart(outputs, inputs)
    for each, path in given:
        if isinstance(each.type, Writes):
            check_writable(max(each.opts, key=len), path, each.type.folder)
    written = set(files_at(Path(STDOUT)))
    for source in (*inputs, STDIN):
        if Path(source).is_file() and written & set(files_at(Path(source))):
            raise WrongUsage(f"standard output would be written to the input {source}")
    for number, (name, path) in enumerate(outputs):
        for other, place in outputs[:number]:
            if are_nested(path, place) or set(files_at(Path(path))) & set(files_at(Path(place))):
                raise WrongUsage(f"{other} and {name} would both write {path}")
