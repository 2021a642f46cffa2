"""Configs are dataclasses of settings, whose fields are the options of the command line.

Every option is either used or refused, unless it is given its default value, which is accepted wherever it may be left
out. A setting declares which other settings of its config it needs, and which rule it out. All else depends on what a
command line chooses, such as a method or a system: the `Rules` of a command say which options that choice uses.

`check_used` is the one door for the command line and the API; `--help` and shell completion follow the same rules.
"""

import math
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, Self, TypeVar

from synmt.registry import meant
from synmt.streams import Message, WrongUsage

Config = TypeVar("Config")
LARGEST = 2**32 - 1  # limit of any number, as for most seeds; larger sizes overflow before memory is allocated
MOST_JOBS = 1024  # processes
PATHS = "FILE", "MODEL", "NAME|PATH"  # metavars of files and folders
JOINED = "NAME+NAME"  # metavar of names joined by +
NAMES = *PATHS, "FOLDER", "LINKS", "NAME", JOINED  # metavars of names, which are never empty
CODE = "CODE"  # metavar of languages
REGIONAL = "LANG"  # metavar of languages with or without a region
CHOOSING = "method", "model", "source-syntax", "target-syntax", "metric"  # options that choose what uses the others


def setting(
    default: Any,
    help_text: str,
    least: float = 0,
    most: float = math.inf,
    *,
    metavar: str = "",
    needs: str | tuple[str, ...] = (),
    unless: str | tuple[str, ...] = (),
    choices: tuple[str, ...] = (),
) -> Any:
    """Make a field of a config.

    least, most: bounds of a number. LARGEST applies in any case, and no setting can be infinite or nan.
    metavar: name of the value in the help.
    needs: conditions of which one must hold for the setting to have an effect; unless: conditions under which it has
        none. A condition is another field of the config ("sample"), or a field with a value ("format jsonl").
    choices: values that the type does not list, such as registered names.
    """
    about = {"help": help_text, "least": least, "most": most, "metavar": metavar, "choices": choices}
    return field(default=default, metadata={**about, "needs": conditions(needs), "unless": conditions(unless)})


def conditions(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


def rate(default: float, help_text: str, **rest: Any) -> Any:
    """Make a setting that is a probability below one."""
    return setting(default, help_text, most=math.nextafter(1, 0), **rest)


@dataclass(frozen=True)
class Preset:
    """Settings by name that replace the defaults of configs.

    systems: further settings of a system in this preset, of any config or, as `pascal_heads`, its own.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of a config.

    hint: the type that the field declares.
    kind: bool, int, float or str, of each value if it takes a tuple of `several`.
    choices: the possible values, if they are few; optional: whether it can be None.
    needs, unless: as in `setting`; from `options_in`, by the names of options.
    option: the name of its option, without dashes.
    """

    name: str
    default: Any
    hint: Any = str
    kind: type = str
    choices: tuple[Any, ...] = ()
    optional: bool = False
    several: bool = False
    help: str = ""
    least: float = 0
    most: float = math.inf
    metavar: str = ""
    needs: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    option: str = ""

    @property
    def negation(self) -> str:
        """The name of the option that turns off a default, such as `gcn-no-labels`, or ""."""
        name = self.name.replace("_", "-")
        return f"{self.option.removesuffix(name)}no-{name}" if self.default is True else ""

    def fits(self, value: Any) -> bool:
        """Return whether this is a valid value."""
        if value is None:
            return self.optional
        if self.several:
            return isinstance(value, tuple) and all(map(self._fits, value))
        return self._fits(value)

    def _fits(self, value: Any) -> bool:
        if self.choices:
            names = value.split("+") if self.metavar == JOINED and type(value) is str else [value]
            return all(name in self.choices for name in names)
        if self.metavar in (CODE, REGIONAL):
            return type(value) is str and is_language(value, self.metavar == REGIONAL)
        if self.kind in (int, float):
            is_number = type(value) is self.kind or (self.kind is float and type(value) is int)
            return is_number and self.least <= value <= self.most
        return type(value) is self.kind and (value != "" or self.metavar not in NAMES)


def is_language(code: str, regional: bool = False) -> bool:
    """Return whether this can be a language code; regional: such as en-US or EN, as in TMX files, too."""
    return bool(re.fullmatch("[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*" if regional else "[a-z]{2,3}", code))


def _settings_of(config: Any) -> tuple[Setting, ...]:
    """Return the fields of a config, a dataclass, that were made by `setting`, in order."""
    found = []
    for each in fields(config):
        if "help" in each.metadata:
            hint = typing.get_type_hints(config)[each.name] if isinstance(each.type, str) else each.type
            kind, choices, optional, several = _kind(hint)
            default = None if each.default is MISSING else each.default
            bounds = {"least": max(each.metadata["least"], -LARGEST), "most": min(each.metadata["most"], LARGEST)}
            about = {**each.metadata, **bounds, "choices": choices or each.metadata["choices"]}
            found.append(Setting(each.name, default, hint, kind, optional=optional, several=several, **about))
    return tuple(found)


settings_of: Callable[[Any], tuple[Setting, ...]] = cache(_settings_of)  # mypy would not see that a type has a hash


def _kind(hint: Any) -> tuple[type, tuple[Any, ...], bool, bool]:
    """Return kind, choices, optional and several of a type hint: T, T | None, tuple[T, ...] or a Literal."""
    optional = several = False
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint, optional = next(each for each in typing.get_args(hint) if each is not types.NoneType), True
    if typing.get_origin(hint) is tuple:
        hint, several = typing.get_args(hint)[0], True
    choices = typing.get_args(hint) if typing.get_origin(hint) is Literal else ()
    return (type(choices[0]) if choices else hint), choices, optional, several


@dataclass(frozen=True)
class Checked:
    """A config, which remembers the settings that its caller has named, and refuses bad values."""

    def __new__(cls, *values: Any, **named: Any) -> Self:
        """Raises TypeError for an unknown name, with the nearest known one."""
        names = [each.name for each in fields(cls) if each.init]
        if unknown := [name for name in named if name not in names]:
            hint = meant(unknown[0], names) or f", only {', '.join(names)}"
            raise TypeError(f"{cls.__name__} has no {unknown[0]!r}{hint}")
        made = super().__new__(cls)
        object.__setattr__(made, "_named", {*names[: len(values)], *named})
        return made

    def __post_init__(self) -> None:
        """Raise ValueError for a value of the wrong kind, not among the choices or out of bounds."""
        for each in settings_of(type(self)):
            if not each.fits(value := getattr(self, each.name)):
                raise ValueError(f"{each.name} cannot be {value!r}")


def given(config: Any) -> dict[str, Any]:
    """Return the settings that the caller has named, as options on a command line: a preset decides the others. If all
    are named, as `replace` does, these are the ones that differ from their defaults."""
    every = {each.name for each in fields(config) if each.init}
    named = getattr(config, "_named", every)
    settings = ((each, getattr(config, each.name)) for each in settings_of(type(config)) if each.name in named)
    return {each.name: value for each, value in settings if named < every or value != each.default}


def chosen(config: type, settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the settings that are fields of the config; under the prefix `pascal_`, `pascal_heads` is `heads`."""
    names = {each.name: f"{prefix}{each.name}".replace("-", "_") for each in settings_of(config)}
    return {name: settings[key] for name, key in names.items() if key in settings}


def config_of(config: type[Config], settings: Mapping[str, Any], prefix: str = "") -> Config:
    """Make a config from the settings that are its fields, as `chosen`. Raises ValueError."""
    return config(**chosen(config, settings, prefix))


def options_in(config: Any, prefix: str = "") -> dict[str, Setting]:
    """Return the settings of a config by the names of their options, such as `gcn-layers` for `layers` under the prefix
    `gcn-`. Raises ValueError for a condition that names no setting of the config."""
    named = {each.name: f"{prefix}{each.name}".replace("_", "-") for each in settings_of(config)}

    def options(conditions: tuple[str, ...]) -> tuple[str, ...]:
        parts = [condition.partition(" ") for condition in conditions]
        if unknown := [name for name, _, _ in parts if name not in named]:
            raise ValueError(f"{config.__name__} has no setting {unknown[0]!r} to need")
        return tuple(f"{named[name]}{space}{value}" for name, space, value in parts)

    return {
        named[each.name]: replace(each, option=named[each.name], needs=options(each.needs), unless=options(each.unless))
        for each in settings_of(config)
    }


def option_names(config: Any, prefix: str = "") -> list[str]:
    """Return the names of a config's options, such as `pascal-heads` for `heads` under the prefix `pascal-`."""
    return [f"{prefix}{each.name}".replace("_", "-") for each in settings_of(config)]


@dataclass(frozen=True)
class Choice:
    """The method, system or model that a command line chooses, and which options it uses.

    name: of what is chosen, for messages.
    uses: whether it uses an option.
    needs: for options that have no effect as things are, what they need: "--out", or "an encoder that reads trees".
    defaults: the values of options that are not given, if they differ from the defaults of their fields.
    """

    name: str = ""
    uses: Callable[[str], bool] = lambda option: True
    needs: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rules:
    """Which options a command uses.

    choose: returns the choice for the given values, by the names of options; raises WrongUsage or BadInput.
    owners: returns the choices that use an option, such as "--method NAME"; called for messages only.
    """

    choose: Callable[[Mapping[str, Any]], Choice] = lambda given: Choice()
    owners: Callable[[str], Sequence[str]] = lambda option: ()


def check_used(given: Mapping[str, Any], settings: Mapping[str, Setting], rules: Rules) -> set[str]:
    """Raise WrongUsage for a given option that would have no effect, and whose value is not its default.

    given: values by name. Return the given options without effect: leave them out.
    """
    choice = rules.choose(given)
    defaults = {**{name: each.default for name, each in settings.items()}, **choice.defaults}
    values, options = {**defaults, **given}, [name for name in given if name in settings]
    idle = set[str]()
    for name in options:
        cause = _unmet(settings[name], values)
        if not cause and (name in choice.needs or not choice.uses(name)):
            cause = _unused(name, choice, given, rules, [other for other in options if other != name])
        if cause and given[name] != defaults[name]:
            raise WrongUsage(Message(cause))
        if cause:
            idle.add(name)
    return idle


def _unmet(setting: Setting, values: Mapping[str, Any]) -> str:
    """Return which condition of a setting does not hold, "" if all hold. values: of all options, by name."""
    for condition in setting.unless:
        if holds(condition, values):
            return f"--{setting.option} has no effect with --{condition}"
    if setting.needs and not any(holds(each, values) for each in setting.needs):
        return f"--{setting.option} needs {' or '.join(f'--{each}' for each in setting.needs)}"
    return ""


def holds(condition: str, values: Mapping[str, Any]) -> bool:
    """Return whether an option has a value, as in "sample", or a certain one, as in "format jsonl"."""
    name, _, wanted = condition.partition(" ")
    value = values.get(name)
    several = value if isinstance(value, list | tuple) else [value]
    return wanted in map(str, several) if wanted else value not in (None, False, "", ())


def _unused(name: str, choice: Choice, given: Mapping[str, Any], rules: Rules, others: Sequence[str]) -> str:
    """Return why the choice does not use an option; others: the other options that are given."""
    ways = rules.owners(name)
    names = ", ".join(way.rpartition(" ")[2] for way in ways)
    if name in choice.needs:
        need = choice.needs[name]
        return f"--{name} needs {need}" + (f" ({names})" if ways and not need.startswith("--") else "")
    for other in others:
        without = {each: value for each, value in given.items() if each != other}
        if not (ways and other in CHOOSING) and rules.choose(without).uses(name):
            return f"--{name} has no effect with --{other}"
    return f"{choice.name} does not use --{name}" + (f"; it belongs to {names}: add {ways[0]}" if ways else "")
