"""Options made from the fields of configs, and a help that shows them in sections, the common ones first."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial, reduce
from typing import Any

import click

from synmt.cli.paths import Reads, Writes, check_paths
from synmt.options import Preset, Setting, settings_of

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Finite(click.FloatRange):
    """A range that refuses nan, which compares with no bound and so passes click's own range."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Fail for what is no number in the range."""
        number = super().convert(value, parameter, context)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", parameter, context)
        return number


class SectionOption(click.Option):
    """An option in a section of the help; one that is not `common` is in that of --help-all alone."""

    def __init__(self, *names: Any, section: str = "Options", common: bool = True, **rest: Any) -> None:
        super().__init__(*names, **rest)
        self.section, self.common = section, common

    def get_help_extra(self, context: click.Context) -> Any:
        """Leave out bounds, which an error names."""
        extra = super().get_help_extra(context)
        extra.pop("range", None)
        return extra


def in_section(name: str) -> Callable[..., Decorator]:
    """Return `click.option` for options of a section."""
    return partial(click.option, cls=SectionOption, section=name)


class SectionCommand(click.Command):
    """A command whose help has sections. With options that are not common it has --help-all."""

    def invoke(self, context: click.Context) -> Any:
        """Refuse paths that would be read and written, before anything is done."""
        check_paths(context)
        return super().invoke(context)

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        more = [] if all(map(is_common, self.params)) else [HELP_ALL]
        return [*super().get_params(context), *more]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(context):
            row = parameter.get_help_record(context)
            if row and row[1] and (is_common(parameter) or context.meta.get(SHOW_ALL)):
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(row)
        for name in sorted(sections, key=lambda name: name == "Options"):
            with formatter.section(name):
                formatter.write_dl(sections[name])


SHOW_ALL = "synmt.help-all"
PATHS = "FILE", "NAME|PATH"  # what stands for files, which a shell can complete
METAVARS = {int: "N", float: "X"}
LONGEST_CHOICES = 60  # characters that stand beside the name of an option


def is_common(parameter: click.Parameter) -> bool:
    return getattr(parameter, "common", True)


def _show_all(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        context.meta[SHOW_ALL] = True
        click.echo(context.get_help())
        context.exit()


HELP_ALL = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show all options."
)


def options_of(
    config: type,
    section: str = "Options",
    prefix: str = "",
    defaults: Mapping[str, str] | None = None,
    common: bool | None = None,
    short: Mapping[str, str] | None = None,
) -> Decorator:
    """Add an option for each setting of a config, such as --pascal-heads for `heads` under the prefix `pascal-`.

    defaults: in words, of configs whose defaults a preset gives: options that are not given are then None. Without
    them each option has the default of its field. common: whether all are, whatever the settings say of themselves.
    short: a second name of some, such as -t.
    """

    def option(each: Setting) -> Decorator:
        is_common = each.common if common is None else common
        return _option(each, section, prefix, defaults, is_common, (short or {}).get(each.name, ""))

    return _all(map(option, settings_of(config)))


def options_of_ideas(ideas: Mapping[str, type]) -> Decorator:
    """Add the options of each idea, in a section of its own under its name."""

    unset = {name: {each.name: str(each.default) for each in settings_of(idea)} for name, idea in ideas.items()}
    return _all(options_of(idea, name, f"{name}-", unset[name], common=False) for name, idea in ideas.items())


def _all(options: Iterable[Decorator]) -> Decorator:
    """Add the options in their order; each stands before those that a command has already."""
    return lambda command: reduce(lambda done, option: option(done), reversed(list(options)), command)


def defaults_of_presets(config: type, presets: Mapping[str, Preset]) -> dict[str, str]:
    """Return in words what the first preset gives to each setting of a config, and others where that differs."""
    shown = {}
    for setting in settings_of(config):
        values = {name: preset.settings.get(setting.name, setting.default) for name, preset in presets.items()}
        first = next(iter(values.values()))
        others = (f"{name} {value}" for name, value in values.items() if value != first)
        shown[setting.name] = ", ".join([str(first), *others])
    return shown


def _option(
    setting: Setting, section: str, prefix: str, defaults: Mapping[str, str] | None, common: bool, short: str
) -> Decorator:
    flag = f"--{prefix}{setting.name.replace('_', '-')}"
    shown = str(setting.default) if defaults is None else defaults[setting.name]
    first = setting.help[0]
    about = f"{first.upper() if first.isascii() else first}{setting.help[1:]}."  # λ is a name, and stays
    if shown not in ("None", "", "False", "()"):
        about += f"  [{shown}]"
    metavar = setting.metavar or (None if setting.choices else METAVARS.get(setting.kind))
    if len(choices := ", ".join(map(str, setting.choices))) > LONGEST_CHOICES:  # what no terminal shows on a line
        about, metavar = f"{about}  One of {choices}.", setting.metavar or "NAME"
    more: dict[str, Any] = {
        "default": setting.default if defaults is None else None,
        "help": about,
        "section": section,
        "common": common,
        "metavar": metavar,
    }
    if setting.kind is bool:
        both = f"{flag}/--{prefix}no-{setting.name.replace('_', '-')}" if setting.default else flag
        return click.option(both, cls=SectionOption, is_flag=True, **more)
    flags = [short, flag] if short else [flag]
    return click.option(*flags, cls=SectionOption, type=_type(setting), multiple=setting.several, **more)


def _type(setting: Setting) -> Any:
    """Return what click checks a value by."""
    if setting.metavar in PATHS:
        return Writes() if setting.writes else Reads()
    if setting.choices:
        return click.Choice([str(each) for each in setting.choices])
    if setting.kind is int:
        return click.IntRange(int(setting.least), int(setting.most))
    if setting.kind is float:
        below_one = setting.most == math.nextafter(1, 0)
        return Finite(setting.least, 1 if below_one else setting.most, max_open=below_one)
    return setting.kind
