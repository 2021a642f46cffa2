"""Configs are dataclasses of settings, whose fields are the options of the command line.

Every option is either used or refused, unless it is given its default value, which is accepted wherever it may be left
out. The conditions are declared once:

- A setting declares what it needs and what rules it out (`needs`, `unless`): another setting of its config
  ("sample", "format jsonl"), an option of the command ("--guide"), or a circumstance ("a model that writes arcs").
- A method, system or metric declares the options that it uses. A command collects them in a `Scope`: the owners of each
  option, the options used now, and the circumstances that hold.

`refusal` compares the two. It determines what the command line refuses, what `--help` shows, what a shell completes,
and which keywords the API refuses.
"""

import math
import re
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, Literal, TypeVar

from synmt.streams import Message, WrongUsage

Config = TypeVar("Config")
LARGEST = 2**32 - 1  # limit of any number, as for most seeds; larger sizes overflow before memory is allocated
MOST_JOBS = 1024  # processes
PATHS = "FILE", "MODEL", "NAME|PATH"  # metavars of files and folders
NAMES = *PATHS, "FOLDER", "LINKS", "NAME", "SYSTEM", "NAME+NAME"  # metavars of names, which are never empty
CODE = "CODE"  # metavar of languages


def setting(
    default: Any,
    help_text: str,
    least: float = 0,
    most: float = math.inf,
    *,
    metavar: str = "",
    writes: bool = False,
    needs: str | tuple[str, ...] = (),
    unless: str | tuple[str, ...] = (),
    choices: tuple[str, ...] = (),
) -> Any:
    """Make a field of a config.

    least, most: bounds of a number. LARGEST applies in any case, and no setting can be infinite or nan.
    metavar: name of the value in the help.
    writes: whether it is a file to write.
    needs: conditions of which one must hold for the setting to have an effect, as in `Option`; unless: conditions under
        which it has none. A condition may name a field of the same config.
    choices: values that the type does not list, such as registered names.
    """
    about = {"help": help_text, "least": least, "most": most, "metavar": metavar, "writes": writes, "choices": choices}
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
    """

    name: str
    default: Any
    hint: Any
    kind: type
    choices: tuple[Any, ...]
    optional: bool
    several: bool
    help: str
    least: float
    most: float
    metavar: str
    writes: bool
    needs: tuple[str, ...]
    unless: tuple[str, ...]

    def fits(self, value: Any) -> bool:
        """Return whether this is a valid value."""
        if value is None:
            return self.optional
        if self.several:
            return isinstance(value, tuple) and all(map(self._fits, value))
        return self._fits(value)

    def _fits(self, value: Any) -> bool:
        if self.choices:
            return value in self.choices
        if self.metavar == CODE:
            return type(value) is str and is_language(value)
        if self.kind in (int, float):
            is_number = type(value) is self.kind or (self.kind is float and type(value) is int)
            return is_number and self.least <= value <= self.most
        return type(value) is self.kind and (value != "" or self.metavar not in NAMES)


def is_language(code: str) -> bool:
    return bool(re.fullmatch("[a-z]{2,3}", code))


def settings_of(config: Any) -> tuple[Setting, ...]:
    """Return the fields of a config, a dataclass, that were made by `setting`, in order."""
    return _settings_of(config)


@cache
def _settings_of(config: Any) -> tuple[Setting, ...]:
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
    """Raise ValueError for a value of the wrong kind, not among the choices or out of bounds."""
    for each in settings_of(type(config)):
        if not each.fits(value := getattr(config, each.name)):
            raise ValueError(f"{each.name} cannot be {value!r}")


@dataclass(frozen=True)
class Checked:
    """A config that raises ValueError for settings out of bounds."""

    def __post_init__(self) -> None:
        check_settings(self)


def chosen(config: type, settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the settings that are fields of the config; under the prefix `pascal_`, `pascal_heads` is `heads`."""
    names = {each.name: f"{prefix}{each.name}".replace("-", "_") for each in settings_of(config)}
    return {name: settings[key] for name, key in names.items() if key in settings}


def config_of(config: type[Config], settings: Mapping[str, Any], prefix: str = "") -> Config:
    """Make a config from the settings that are its fields, as `chosen`. Raises ValueError."""
    return config(**chosen(config, settings, prefix))


@dataclass(frozen=True, slots=True)
class Option:
    """An option by its name without dashes, such as `mask-align-guidance`, and the conditions for it to have an effect.

    needs: groups of conditions; in each group, one must hold. unless: conditions of which none may hold.
    A condition is an option ("--sample"), an option with a value ("--format jsonl"), or a circumstance in words.
    default: its value if it is not given, for conditions about it.
    """

    name: str
    default: Any = None
    needs: tuple[tuple[str, ...], ...] = ()
    unless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scope:
    """A command's information about its options, under the names of `Option`.

    chosen: the chosen method, system or metric, for messages.
    owners: for each option that not every choice uses, the choices that do, such as "--method NAME".
    used: the options in `owners` that the current choice uses.
    lost: for each option that the current choice would use if it were not for another option, that other option.
    circumstances: whether each circumstance holds; a missing one is unknown and rules out nothing.
    bring: for each circumstance, the names of the choices that make it hold, for messages.
    defaults: the values of options that are not given, if they differ from the defaults of their fields. An option with
    such a value is never refused.
    """

    chosen: str = ""
    owners: Mapping[str, Sequence[str]] = field(default_factory=dict)
    used: Collection[str] = ()
    lost: Mapping[str, str] = field(default_factory=dict)
    circumstances: Mapping[str, bool] = field(default_factory=dict)
    bring: Mapping[str, Sequence[str]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def uses(self, name: str) -> bool:
        """Return whether the current choice uses an option, as far as this depends on the choice."""
        return name not in self.owners or name in self.used

    def holds(self, condition: str, values: Mapping[str, Any]) -> bool:
        """Return whether a condition holds, given the values of all options."""
        if not condition.startswith("--"):
            return self.circumstances.get(condition, True)
        name, _, wanted = condition.removeprefix("--").partition(" ")
        value = values.get(name)
        several = value if isinstance(value, list | tuple) else [value]
        return wanted in map(str, several) if wanted else value not in (None, False, "", ())

    def named(self, circumstance: str) -> str:
        """Return a circumstance with the choices that make it hold."""
        names = self.bring.get(circumstance)
        return f"{circumstance} ({', '.join(names)})" if names else circumstance

    def rules_out(self, condition: str, values: Mapping[str, Any]) -> bool:
        """Return whether a condition of `unless` is known to hold."""
        return (condition.startswith("--") or condition in self.circumstances) and self.holds(condition, values)


def refusal(option: Option, scope: Scope, values: Mapping[str, Any]) -> str:
    """Return why an option would have no effect, with its owner or what it needs; "" if it has an effect.

    values: of all options, including defaults.
    """
    flag = f"--{option.name}"
    for condition in option.unless:
        if scope.rules_out(condition, values):
            return Message(f"{flag} has no effect with {condition}")
    unmet = [group for group in option.needs if not any(scope.holds(each, values) for each in group)]
    for group in unmet:
        if group[0].startswith("--"):
            return Message(f"{flag} needs {' or '.join(group)}")
    if not scope.uses(option.name):
        if option.name in scope.lost:
            return Message(f"{flag} has no effect with {scope.lost[option.name]}")
        owners = scope.owners[option.name]
        names = ", ".join(owner.rpartition(" ")[2] for owner in owners)
        others = f"it belongs to {names}: add {owners[0]}" if owners else "nothing uses it here"
        return Message(f"{scope.chosen} does not use {flag}; {others}")
    return Message(f"{flag} needs {' or '.join(map(scope.named, unmet[0]))}") if unmet else ""


def check_used(given: Mapping[str, Any], options: Collection[Option], scope: Scope) -> set[str]:
    """Raise WrongUsage for a given option that would have no effect, and whose value is not its default.

    given: values by name. Return the given options without effect: leave them out.
    """
    for cause in refusals(given, options, scope).values():
        raise WrongUsage(cause)
    return set(without_effect(given, options, scope))


def refusals(given: Mapping[str, Any], options: Collection[Option], scope: Scope) -> dict[str, str]:
    """Return the given options that are refused, each with the reason: those without effect, except for defaults."""
    defaults = {**{each.name: each.default for each in options}, **scope.defaults}
    causes = without_effect(given, options, scope)
    return {name: cause for name, cause in causes.items() if given[name] != defaults[name]}


def without_effect(given: Mapping[str, Any], options: Collection[Option], scope: Scope) -> dict[str, str]:
    """Return the given options that would have no effect, each with the reason. given: values by name."""
    values = {**{each.name: each.default for each in options}, **scope.defaults, **given}
    found = {each.name: refusal(each, scope, values) for each in options if each.name in given}
    return {name: cause for name, cause in found.items() if cause}


def option_names(config: type, prefix: str = "") -> list[str]:
    """Return the names of a config's options, such as `pascal-heads` for `heads` under the prefix `pascal-`."""
    return [f"{prefix}{each.name}".replace("_", "-") for each in settings_of(config)]


def options_in(
    config: type,
    prefix: str = "",
    needs: tuple[str, ...] = (),
    unless: tuple[str, ...] = (),
    means: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, Option]:
    """Return the options of a config by the names of its fields.

    needs, unless: conditions of all of them in this command.
    means: the options that stand for a circumstance in this command, such as --dev-source for "validation data"; () if
        it always holds.
    """
    settings = settings_of(config)
    fields_here = {each.name for each in settings}

    def here(condition: str) -> tuple[str, ...]:
        name, space, wanted = condition.partition(" ")
        if name in fields_here:
            return (f"--{prefix}{name.replace('_', '-')}{space}{wanted}",)
        return (means or {}).get(condition, (condition,))

    found = {}
    for each in settings:
        own = tuple(flat for condition in each.needs for flat in here(condition))
        ruled_out = tuple(flat for condition in each.unless for flat in here(condition))
        groups = tuple(group for group in (needs, own) if group)
        name = f"{prefix}{each.name}".replace("_", "-")
        found[each.name] = Option(name, each.default, groups, (*unless, *ruled_out))
    return found


@dataclass(frozen=True, slots=True)
class Known:
    """A setting that is a keyword of a function and an option of a command.

    negation: the name of the option that turns off a default, such as `gcn-no-labels`, or "".
    """

    option: Option
    setting: Setting
    negation: str = ""


def known_in(
    config: type,
    prefix: str = "",
    needs: tuple[str, ...] = (),
    unless: tuple[str, ...] = (),
    means: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, Known]:
    """Return the settings of a config by the names of their options; arguments as for `options_in`."""
    options = options_in(config, prefix, needs, unless, means).values()
    return {
        option.name: Known(option, each, f"{prefix}no-{each.name}".replace("_", "-") if each.default is True else "")
        for option, each in zip(options, settings_of(config), strict=True)
    }


def check_keywords(given: Mapping[str, Any], known: Mapping[str, Known]) -> None:
    """Raise TypeError for an unknown keyword, and ValueError for an invalid value."""
    for name, value in given.items():
        found = known.get(name.replace("_", "-"))
        if found is None:
            raise TypeError(f"unknown setting {name!r}; known: {', '.join(each.replace('-', '_') for each in known)}")
        if value is not None and not found.setting.fits(value):
            raise ValueError(f"{name} cannot be {value!r}")
