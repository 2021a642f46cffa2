"""Laws of the options and arguments of all commands."""

import math
from collections.abc import Iterator

import click
import pytest

from synmt.cli.main import cli
from synmt.cli.sections import Finite
from synmt.options import LARGEST
from tests.cli.commands import synmt


def commands(group: click.Group = cli, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield each command that runs something, with its name."""
    for each in group.list_commands(context := click.Context(group)):
        command = group.get_command(context, each)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{name}{each} ")
        else:
            yield f"{name}{each}", command


COMMANDS = dict(commands())


def parameters(*kinds: type) -> Iterator[tuple[str, click.Parameter]]:
    """Yield the options and arguments of these types, each with its command and name."""
    for name, command in COMMANDS.items():
        for each in command.params:
            if isinstance(each.type, kinds):
                yield f"{name} {each.opts[0]}", each


def test_commands_are_found() -> None:
    assert {"train", "bpe learn", "challenge query", "inspect attention"} < COMMANDS.keys()


def test_every_number_has_both_bounds() -> None:
    """A number without them would be nan, or beyond what a size can be."""
    found = dict(parameters(click.types.IntParamType, click.types.FloatParamType))
    assert len(found) > 100
    for name, each in found.items():
        assert isinstance(each.type, click.IntRange | Finite), name
        assert each.type.min is not None and each.type.max is not None, name
        assert -LARGEST <= each.type.min < each.type.max <= LARGEST, name


NUMBERS = dict(parameters(Finite))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "-nan", "infinity", "NaN", "1e30"])
def test_no_option_takes_what_is_not_finite(name: str, value: str) -> None:
    with pytest.raises(click.BadParameter, match="is not in the range"):
        NUMBERS[name].type.convert(value, None, None)


def test_every_option_takes_its_default_and_its_bounds() -> None:
    for name, each in NUMBERS.items():
        assert isinstance(each.type, Finite) and each.type.min is not None and each.type.max is not None
        most = math.nextafter(1, 0) if each.type.max_open else each.type.max
        for value in (each.type.min, most, each.default or each.type.min):
            assert each.type.convert(str(value), None, None) == value, name


@pytest.mark.parametrize(
    "command",
    [
        "translate model --alpha inf",
        "translate model --max-length-ratio inf",
        "score -r x --ribes-alpha nan",
        "significance -r x a b --level nan",
        "project --min-confidence nan",
        "inspect strengths model --width nan",
    ],
)
def test_an_infinite_number_is_wrong_usage(command: str) -> None:
    done = synmt(*command.split())
    assert done.returncode == 2
    assert "is not in the range" in done.stderr.splitlines()[-1]
