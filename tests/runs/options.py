"""Options that a run file can have, and possible values for them."""

from typing import Any

import click

from synmt.runs.commands import HELP, parser_of
from synmt.runs.file import OWN


def options_of(command: str) -> dict[str, click.Option]:
    """Return the options of a command that a run does not set itself, by all their long names."""
    found = {
        flag.removeprefix("--"): each
        for each in parser_of(command).params
        if isinstance(each, click.Option)
        for flag in (*each.opts, *each.secondary_opts)
        if flag.startswith("--")
    }
    return {name: each for name, each in found.items() if name not in (*OWN[command], *HELP)}


def default_of(command: str, name: str) -> Any:
    """Return the value of an option that is left out, as a run file would give it."""
    option = options_of(command)[name]
    return option.default if not option.is_flag else None


def some_value(option: click.Option, file: str) -> Any:
    """Return a possible value that is not the default. file: one that exists."""
    kind = option.type
    if option.is_flag:
        return True
    if isinstance(kind, click.Path):
        return file
    if isinstance(kind, click.Choice):
        return next(each for each in reversed(kind.choices) if each != option.default)
    if isinstance(kind, click.IntRange | click.FloatRange):
        least, most = kind.min or 0, kind.max
        value = (
            least + 1 if most is None or most > least + 1 or isinstance(kind, click.IntRange) else (least + most) / 2
        )
        return value if value != option.default else value + 1
    return {"CODE": "fr"}.get(str(option.metavar or kind.name).upper(), "x")
