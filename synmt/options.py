"""Configs are dataclasses of settings. The command line takes its options from their fields.

Every option is either used or refused, and whatever decides that is declared once:

- A setting declares what it needs and what rules it out (`needs`, `unless`): another setting of its config
  ("sample", "format jsonl"), an option of the command ("--guide"), or a circumstance ("a model that writes arcs").
- A method, system or metric declares the options that it uses. A command collects these in a `Scope`: who owns which
  option, which options are used now, and which circumstances hold.

`refusal` compares the two. The command line derives from it what it refuses, what `--help` shows and what a shell
completes; the API refuses keywords by it.
"""

import math
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, Literal, TypeVar

from synmt.streams import WrongUsage

Config = TypeVar("Config")
LARGEST = 2**32 - 1  # of numbers, as of most seeds: beyond it, sizes overflow before memory is asked for
MOST_JOBS = 1024  # processes
PATHS = "FILE", "MODEL", "NAME|PATH"  # metavars of files and folders


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
    """Make a field of a config, with its line of help and the bounds of a number, which LARGEST bounds in any case: no
    setting can be infinite, or nan.

    metavar: the name of its value in the help; writes: whether it is a file to write; needs: conditions of which one
    must hold for the setting to have an effect; unless: conditions under which it has none, as in `Option`. A condition
    may name a field of the same config. choices: the values that its type does not list, such as registered names.
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
    metavar: str
    writes: bool
    needs: tuple[str, ...]
    unless: tuple[str, ...]

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


def settings_of(config: Any) -> tuple[Setting, ...]:
    """Return the fields of a config, a dataclass, that were made by `setting`, in their order."""
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
            found.append(Setting(each.name, default, kind, optional=optional, several=several, **about))
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
    """Raise ValueError for a value that is not of its field's kind, not among its choices or out of bounds."""
    for each in settings_of(type(config)):
        if not each.fits(value := getattr(config, each.name)):
            raise ValueError(f"{each.name.replace('_', ' ')} cannot be {value!r}")


def chosen(config: type, settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return those of the settings that are fields of the config, `pascal_heads` being `heads` under a prefix."""
    names = {each.name: f"{prefix}{each.name}".replace("-", "_") for each in settings_of(config)}
    return {name: settings[key] for name, key in names.items() if key in settings}


def config_of(config: type[Config], settings: Mapping[str, Any], prefix: str = "") -> Config:
    """Return the config with those of the settings that are its fields, as `chosen`. Raises ValueError."""
    return config(**chosen(config, settings, prefix))


@dataclass(frozen=True, slots=True)
class Option:
    """An option by its name without dashes, such as `mask-align-guidance`, and what decides whether it has an effect.

    needs: groups of conditions; of each group, one must hold. unless: conditions of which none may hold.
    A condition is an option ("--sample"), an option with a value ("--format jsonl"), or a circumstance, in words.
    default: its value where it is not given, as far as conditions are about it.
    """

    name: str
    default: Any = None
    needs: tuple[tuple[str, ...], ...] = ()
    unless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scope:
    """What a command knows about its options, in the names of `Option`.

    chosen: the method, system or metric at work, for messages.
    owners: for each option that is not for every choice, the choices that use it, such as "--method NAME".
    used: which of these options the choice at work uses.
    lost: options that it would use but for another option, with this option.
    circumstances: whether each holds; one that is missing is not known yet, and refuses nothing.
    bring: for a circumstance, what makes it hold, by name, for messages.
    defaults: the values of options that are not given, where these are not the defaults of their fields.
    """

    chosen: str = ""
    owners: Mapping[str, Sequence[str]] = field(default_factory=dict)
    used: Collection[str] = ()
    lost: Mapping[str, str] = field(default_factory=dict)
    circumstances: Mapping[str, bool] = field(default_factory=dict)
    bring: Mapping[str, Sequence[str]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def uses(self, name: str) -> bool:
        """Return whether the choice at work uses an option, as far as this depends on the choice."""
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
        """Return a circumstance with what makes it hold."""
        names = self.bring.get(circumstance)
        return f"{circumstance} ({', '.join(names)})" if names else circumstance

    def rules_out(self, condition: str, values: Mapping[str, Any]) -> bool:
        """Return whether a condition is known to hold that must not."""
        return (condition.startswith("--") or condition in self.circumstances) and self.holds(condition, values)


def refusal(option: Option, scope: Scope, values: Mapping[str, Any]) -> str:
    """Return why an option would have no effect, naming what it belongs to or needs; "" if it has one.

    values: of all options, as the command would have them.
    """
    flag = f"--{option.name}"
    for condition in option.unless:
        if scope.rules_out(condition, values):
            return f"{flag} has no effect with {condition}"
    unmet = [group for group in option.needs if not any(scope.holds(each, values) for each in group)]
    for group in unmet:
        if group[0].startswith("--"):
            return f"{flag} needs {' or '.join(group)}"
    if not scope.uses(option.name):
        if option.name in scope.lost:
            return f"{flag} has no effect with {scope.lost[option.name]}"
        owners = scope.owners[option.name]
        names = ", ".join(owner.rpartition(" ")[2] for owner in owners)
        others = f"it belongs to {names}: add {owners[0]}" if owners else "nothing uses it here"
        return f"{scope.chosen} does not use {flag}; {others}"
    return f"{flag} needs {' or '.join(map(scope.named, unmet[0]))}" if unmet else ""


def check_used(given: Mapping[str, Any], options: Collection[Option], scope: Scope) -> None:
    """Raise WrongUsage for an option among those given, by name with its value, that would have no effect."""
    values = {**{each.name: each.default for each in options}, **scope.defaults, **given}
    for option in options:
        if option.name in given and (cause := refusal(option, scope, values)):
            raise WrongUsage(cause)


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

    needs, unless: conditions of all of them, for this command; means: what a circumstance is here, such as
    "validation data" that comes with --dev-source; () if it always holds.
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
    """A setting that a function takes as a keyword, and a command as an option.

    negation: the name of the option that turns off what is on by default, such as `gcn-no-labels`, or "".
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
    options = options_in(config, prefix, needs, unless, means)
    found = {}
    for each in settings_of(config):
        negation = f"{prefix}no-{each.name}".replace("_", "-") if each.default is True else ""
        found[options[each.name].name] = Known(options[each.name], each, negation)
    return found


def check_keywords(given: Mapping[str, Any], known: Mapping[str, Known]) -> None:
    """Raise TypeError for a keyword that no setting has, ValueError for a value that its setting cannot have."""
    for name, value in given.items():
        found = known.get(name.replace("_", "-"))
        if found is None:
            raise TypeError(f"unknown setting {name!r}; known: {', '.join(each.replace('-', '_') for each in known)}")
        if value is not None and not found.setting.fits(value):
            raise ValueError(f"{name.replace('_', ' ')} cannot be {value!r}")


def keywords_of(options: Mapping[str, Any], known: Mapping[str, Known]) -> dict[str, Any]:
    """Return options as keywords; options: by name, True for one without a value.

    Raises ValueError for an unknown name, for a value that the option cannot have, and for one too many or missing.
    """
    negations = {each.negation: name for name, each in known.items() if each.negation}
    found: dict[str, Any] = {}
    for name, value in options.items():
        option = negations.get(name, name)
        if option not in known:
            raise ValueError(f"No such option '--{name}'.")
        setting = known[option].setting
        if (value is True) != (setting.kind is bool):
            raise ValueError(f"{name} takes {'no' if setting.kind is bool else 'a'} value")
        value = name not in negations if setting.kind is bool else value
        value = (value,) if setting.several else value
        if not setting.fits(value):
            raise ValueError(f"{name} cannot be {options[name]!r}{_bounds(setting)}")
        found[option.replace("-", "_")] = value
    return found


def arguments(options: Mapping[str, Any]) -> list[str]:
    """Return options as they stand on a command line."""
    return [
        each
        for name, value in options.items()
        for each in ([f"--{name}"] if value is True else [f"--{name}", f"{value}"])
    ]


def _bounds(setting: Setting) -> str:
    """Return which values a setting can have, as far as there is something to say."""
    if setting.choices:
        return f"; it is one of {', '.join(map(str, setting.choices))}"
    if setting.kind in (int, float):
        kind = "whole number" if setting.kind is int else "number"
        return f"; it is a {kind} from {setting.least:g} to {setting.most:g}"
    return ""
