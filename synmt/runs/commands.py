"""Command lines of `synmt`. The commands themselves parse them, so a run refuses what they refuse, in their words."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from synmt.streams import Message, WrongUsage

T = TypeVar("T")
# Options by name, such as `learning-rate`; True for an option without a value. The value of an option that names a file
# is a Path.
Options = Mapping[str, Any]
FILES = "FILE", "MODEL", "NAME|PATH"  # metavars of options that name files or folders
STDIN = {"file": "-"}  # in place of files that do not exist yet
NO_INPUTS = "jobs", "out", "prepared", "resume"  # options that change no output
HELP = "help", "help-all"
FLAG = re.compile(r"--([\w-]+)")


@dataclass(frozen=True)
class Command:
    """A command line: the name of the command, such as `challenge query`, its arguments by name, and its options."""

    name: str
    files: Mapping[str, str | Path | Sequence[Path]]
    options: Options

    @property
    def words(self) -> list[str]:
        """The words after `synmt`."""
        flags = (f"--{name}" if value is True else f"--{name}={value}" for name, value in self.options.items())
        files = (
            each for value in self.files.values() for each in ([value] if isinstance(value, str | Path) else value)
        )
        return [*self.name.split(), *flags, *map(str, files)]

    @property
    def inputs(self) -> Options:
        """Everything that the output depends on."""
        return {**self.files, **{name: value for name, value in self.options.items() if name not in NO_INPUTS}}


@cache
def parser_of(name: str) -> click.Command:
    """Return the parser of a command. It is above this room, and found by name as in a shell."""
    found = import_module("synmt.cli.program").cli
    for word in name.split():
        found = found.get_command(click.Context(found), word)
    return found


def parsed(command: Command) -> dict[str, Any]:
    """Return the values of all options of a command by their Python names. Raises ValueError with the command's own
    message, and WrongUsage for an option that it does not know or that would have no effect."""
    for name, value in command.options.items():
        option = option_of(command.name, name)
        if name in HELP:  # which would end this process
            raise WrongUsage(f"unknown option --{name}")
        if value is True and option and not option.is_flag:  # which would take the next word for its value
            raise ValueError(f"Option '--{name}' requires an argument.")
    words = command.words[len(command.name.split()) :]
    try:
        return parser_of(command.name).make_context(f"synmt {command.name}", words).params
    except click.NoSuchOption as error:
        raise WrongUsage(error.format_message()) from None
    except click.ClickException as error:
        raise ValueError(error.format_message()) from None


def with_used(
    name: str, own: Options, shared: Options, check: Callable[[Options], T]
) -> tuple[Options, T, dict[str, str]]:
    """Return a command's own options with the shared ones that it uses, what `check` returns for them, and why it
    refuses the other shared options. Raises its errors about the rest."""
    refused: dict[str, str] = {}
    while True:
        options = {**{each: value for each, value in shared.items() if each not in refused}, **own}
        try:
            return options, check(options), refused
        except WrongUsage as error:  # names the option first
            found = FLAG.search(str(error))
            names = _names(name, found[1]) if found else set[str]()
            unused = names & (shared.keys() - own.keys() - refused.keys())
            if not unused:
                raise
            refused[min(unused)] = str(error)


def check_shared(refused: Mapping[str, Mapping[str, str]]) -> None:
    """Raise WrongUsage for a shared option that no system uses, with the first one's reason. refused: as `with_used`
    returns it, by the title of each system."""
    (title, causes), *others = refused.items()
    for option, cause in causes.items():
        if all(option in each for _, each in others):
            raise WrongUsage(Message("{}: {}", Message(title), cause))


def _names(command: str, name: str) -> set[str]:
    """Return all names of an option, such as that of its negation."""
    option = option_of(command, name)
    return {each.lstrip("-") for each in (*option.opts, *option.secondary_opts)} if option else {name}


def option_of(command: str, name: str) -> click.Option | None:
    """Return an option of a command, None if there is none of this name."""
    options = (each for each in parser_of(command).params if isinstance(each, click.Option))
    return next((each for each in options if f"--{name}" in (*each.opts, *each.secondary_opts)), None)
