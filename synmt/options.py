"""Configs are dataclasses of settings, from whose fields the command line takes its options."""

import math
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, TypeVar

Config = TypeVar("Config")
LARGEST = 2**32 - 1  # of numbers, as of most seeds: beyond it, sizes overflow before memory is asked for
MOST_JOBS = 1024  # processes


def setting(
    default: Any,
    help_text: str,
    least: float = 0,
    most: float = math.inf,
    *,
    common: bool = False,
    metavar: str = "",
    writes: bool = False,
) -> Any:
    """Make a field of a config, with its line of help and the bounds of a number, which LARGEST bounds in any case: no
    setting can be infinite, or nan.

    common: whether the short help of a command shows it; metavar: what stands for its value there; writes: whether it
    is a file that is written.
    """
    about = {"help": help_text, "least": least, "most": most, "common": common, "metavar": metavar, "writes": writes}
    return field(default=default, metadata=about)


def rate(default: float, help_text: str) -> Any:
    """Make a setting that is a probability below one."""
    return setting(default, help_text, most=math.nextafter(1, 0))


@dataclass(frozen=True)
class Preset:
    """Settings by name, in place of the defaults of configs.

    systems: what else a system has in this preset, of all configs or, as `pascal_heads`, of its own.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of a config. kind: bool, int, float or str, of each value if it takes `several`, as a tuple.

    choices: the values that it can have, if they are few; optional: whether it can be None.
    """

    name: str
    default: Any
    kind: type
    choices: tuple[Any, ...]
    optional: bool
    several: bool
    help: str
    least: float
    most: float
    common: bool
    metavar: str
    writes: bool

    def fits(self, value: Any) -> bool:
        """Return whether the setting can have this value."""
        if value is None:
            return self.optional
        if self.several:
            return isinstance(value, tuple) and all(map(self._fits, value))
        return self._fits(value)

    def _fits(self, value: Any) -> bool:
        if self.choices:
            return value in self.choices
        if self.kind in (int, float):
            is_number = type(value) is self.kind or (self.kind is float and type(value) is int)
            return is_number and self.least <= value <= self.most
        return type(value) is self.kind


def settings_of(config: type) -> list[Setting]:
    """Return the fields of a config that were made by `setting`, in their order."""
    hints = typing.get_type_hints(config)
    found = []
    for each in fields(config):
        if "help" in each.metadata:
            kind = _kind(hints[each.name])
            default = None if each.default is MISSING else each.default
            bounds = {"least": max(each.metadata["least"], -LARGEST), "most": min(each.metadata["most"], LARGEST)}
            found.append(Setting(each.name, default, *kind, **{**each.metadata, **bounds}))
    return found


def _kind(hint: Any) -> tuple[type, tuple[Any, ...], bool, bool]:
    """Return kind, choices, optional and several of a type hint: T, T | None, tuple[T, ...] or a Literal."""
    optional = several = False
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint, optional = next(each for each in typing.get_args(hint) if each is not types.NoneType), True
    if typing.get_origin(hint) is tuple:
        hint, several = typing.get_args(hint)[0], True
    choices = typing.get_args(hint) if typing.get_origin(hint) is Literal else ()
    return (type(choices[0]) if choices else hint), choices, optional, several


def check_settings(config: Any) -> None:
    """Raise ValueError for a value that is not of its field's kind, not among its choices or out of bounds."""
    for each in settings_of(type(config)):
        if not each.fits(value := getattr(config, each.name)):
            raise ValueError(f"{each.name.replace('_', ' ')} cannot be {value!r}")


def chosen(config: type, settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return those of the settings that are fields of the config, `pascal_heads` being `heads` under a prefix."""
    names = {each.name: f"{prefix}{each.name}".replace("-", "_") for each in settings_of(config)}
    return {name: settings[key] for name, key in names.items() if key in settings}


def config_of(config: type[Config], settings: Mapping[str, Any]) -> Config:
    """Return the config with those of the settings that are its fields. Raises ValueError."""
    return config(**chosen(config, settings))


def check_owners(
    configs: Iterable[tuple[str, type]], owners: Collection[str], settings: Mapping[str, Any], system: str
) -> None:
    """Raise ValueError for a setting of a config that is not among the owners; system: what was asked for."""
    for name, config in configs:
        if name not in owners and chosen(config, settings, f"{name}-"):
            raise ValueError(f"an option of {name} for {system}")
