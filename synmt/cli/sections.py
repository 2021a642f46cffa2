"""Options made from the fields of configs, and commands that refuse options without effect.

`--help` shows the common options in sections, and `--help-all` every option that has an effect.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from synmt.cli.paths import Reads, check_paths
from synmt.options import (
    CHOOSING,
    CODE,
    JOINED,
    PATHS,
    REGIONAL,
    Choice,
    Rules,
    Setting,
    check_used,
    conditions,
    is_language,
    options_in,
)
from synmt.registry import meant, parts_of
from synmt.streams import BadInput, WrongUsage

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
GIVEN = ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT
ARGUMENTS = "synmt.arguments"  # the command line, for the help, which click shows as soon as it reads --help
SHOW_ALL = "synmt.show-all"  # in a context: show the options of all methods and systems, as manuals do
HELP_ALL = "--help-all"  # shows every option that the method or system uses
METAVARS = {int: "N", float: "X"}
LONGEST_CHOICES = 30  # characters of a list of values that fit next to the name of an option
WHOLE_HYPHEN, WHOLE_SPACE = "\u2011", "\u00a0"  # at which no line is broken


class Finite(click.FloatRange):
    """A range that refuses nan, which click's own range accepts because nan compares with no bound."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Fail for a value that is not a number in the range."""
        number = super().convert(value, parameter, context)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", parameter, context)
        return number


class OneOf(click.Choice[str]):
    """One of several names."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return f"{value!r} is not one of {', '.join(self.choices)}{meant(value, self.choices)}"


class SeveralOf(OneOf):
    """One of several names, or several joined by `+`."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Fail for a name that is not one of them, and for one that is named twice."""
        try:
            return "+".join(super(SeveralOf, self).convert(each, parameter, context) for each in parts_of(str(value)))
        except ValueError as error:
            self.fail(str(error), parameter, context)


class Language(click.ParamType):
    """The code of a language."""

    def __init__(self, name: str = CODE) -> None:
        self.name = name

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Fail for a name that is not a code."""
        if not is_language(value, self.name == REGIONAL):
            self.fail(f"{value!r} is not a language code such as en.", parameter, context)
        return value


class SectionOption(click.Option):
    """An option in a section of the help, with the conditions under which it has an effect.

    setting: the field of a config that it is made from; without it, `needs` and `unless` are conditions about other
    options, such as "--format jsonl". of_component: whether the option belongs to one component or method, after which
    its section is named.
    """

    def __init__(
        self,
        *names: Any,
        section: str = "Options",
        setting: Setting | None = None,
        needs: str | tuple[str, ...] = (),
        unless: str | tuple[str, ...] = (),
        of_component: bool = False,
        **rest: Any,
    ) -> None:
        super().__init__(*names, **rest)
        name = _name(self)
        default = rest.get("default")
        self.setting = setting or Setting(name, default, needs=_bare(needs), unless=_bare(unless), option=name)
        self.section = section
        self.of_component = of_component

    def default_in(self, context: click.Context) -> Any:
        """Return the value that the command gets if the option is left out."""
        return self.process_value(context, self.get_default(context))

    def get_help_extra(self, context: click.Context) -> Any:
        """Show the default of the chosen method or system; leave out the bounds, which an error names."""
        extra = super().get_help_extra(context)
        extra.pop("range", None)
        if isinstance(context.command, SectionCommand):
            default = context.command.default_of(self.setting, context)
            if "default" not in extra and not isinstance(default, bool) and default not in (None, "", ()):
                extra["default"] = str(default)
        return extra


class WholeWords(click.HelpFormatter):
    """Never breaks a line at the hyphen of a name, or between `default:` and a value."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, _whole(args), prefix)

    def write_text(self, text: str) -> None:
        super().write_text(_whole(text))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(term, _whole(text)) for term, text in rows], col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(WHOLE_HYPHEN, "-").replace(WHOLE_SPACE, " ")


def _whole(text: str) -> str:
    return re.sub(r"(?<=\w)-(?=\w)", WHOLE_HYPHEN, text).replace("[default: ", f"[default:{WHOLE_SPACE}")


class HelpContext(click.Context):
    formatter_class = WholeWords
    help_choice: Choice | None = None


class SectionCommand(click.Command):
    """A command that refuses options without effect, and whose help has sections."""

    context_class = HelpContext

    def __init__(
        self,
        *names: Any,
        rules: Rules | None = None,
        hints: Mapping[str, str] | None = None,
        common: str = "",
        **rest: Any,
    ) -> None:
        """rules: which options the command uses; hints: what to use instead of the options of similar programs; common:
        the names of the options that `--help` shows, between spaces, where the others need `--help-all`; "" if `--help`
        shows all."""
        super().__init__(*names, **rest)
        self.rules = rules or Rules()
        self.hints = hints or {}
        self.common = frozenset(common.split())
        if common:
            click.help_option(HELP_ALL, help="Show all options and exit.")(self)

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Raise WrongUsage for a path that would be read and written, and for an option without effect."""
        context.meta[ARGUMENTS] = list(args)
        try:
            rest = super().parse_args(context, args)
        except click.NoSuchOption as error:
            if error.option_name in self.hints:
                raise WrongUsage(f"unknown option {error.option_name}; {self.hints[error.option_name]}") from None
            flags = (flag for each in self.get_params(context) for flag in (*each.opts, *each.secondary_opts))
            unknown = f"unknown option {error.option_name}{meant(error.option_name, flags)}"
            raise click.NoSuchOption(error.option_name, unknown, ctx=context) from None
        if not context.resilient_parsing:
            check_paths(context)
            try:
                self.check(context)
            except ValueError as error:
                raise WrongUsage(str(error)) from None
        return rest

    def check(self, context: click.Context) -> None:
        """Raise WrongUsage for an option without effect; leave it out if its value is the default."""
        options = {each.setting.option: each for each in self.get_params(context) if isinstance(each, SectionOption)}
        settings = {
            name: replace(each.setting, default=each.default_in(context))
            if each.callback and isinstance(each.default, str)
            else each.setting
            for name, each in options.items()
        }
        for name in check_used(given_in(context), settings, self.rules):
            context.params[options[name].name or ""] = options[name].default_in(context)

    def help_choice(self, context: click.Context) -> Choice:
        """Return the choice of the whole command line, before and after --help."""
        assert isinstance(context, HelpContext)
        if context.help_choice is None:
            try:
                context.help_choice = self.rules.choose(self._scanned(context))
            except (BadInput, ValueError):  # a wrong command line gets help, too
                context.help_choice = self.rules.choose({})
        return context.help_choice

    def default_of(self, setting: Setting, context: click.Context) -> Any:
        """Return the default of an option for the choice of the command line or, as a manual shows it, for the first
        choice that uses the option."""
        choice = self.help_choice(context)
        if not choice.uses(setting.option) and (owners := self.rules.owners(setting.option)):
            option, _, name = owners[0].removeprefix("--").partition(" ")
            choice = self.rules.choose({option: name})
        return choice.defaults.get(setting.option, setting.default)

    def _scanned(self, context: click.Context) -> dict[str, Any]:
        """Return the values of a command line, as far as it can be read, by the names of options and arguments."""
        resilient, context.resilient_parsing = context.resilient_parsing, True
        try:
            found, _, _ = self.make_parser(context).parse_args(list(context.meta.get(ARGUMENTS, [])))
        finally:
            context.resilient_parsing = resilient
        values = {_name(each): found.get(each.name or "") for each in self.get_params(context)}
        return {name: value for name, value in values.items() if isinstance(value, str | bool | list | tuple) and value}

    def is_used(self, parameter: click.Parameter, context: click.Context) -> bool:
        """Return whether the chosen method or system uses an option."""
        if context.meta.get(SHOW_ALL) or not isinstance(parameter, SectionOption):
            return True
        choice, name = self.help_choice(context), parameter.setting.option
        return choice.uses(name) and choice.needs.get(name, "--").startswith("--")

    def on_page(self, context: click.Context) -> list[click.Parameter]:
        """Return what the help shows: all that is used, or on the short page the common options and, if the command
        line chooses a method, a system or components, the options of those."""
        used = [each for each in self.get_params(context) if self.is_used(each, context)]
        if not self.common or context.meta.get(SHOW_ALL) or HELP_ALL in context.meta.get(ARGUMENTS, []):
            return used
        chosen = bool(self._scanned(context).keys() & set(CHOOSING))
        return [
            each
            for each in used
            if not isinstance(each, SectionOption)
            or each.setting.option in self.common
            or (each.of_component and chosen)
        ]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.on_page(context):
            row = parameter.get_help_record(context)
            if row and row[1]:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(row)
        for name in sorted(sections, key=lambda name: name == "Options"):
            with formatter.section(name):
                formatter.write_dl(sections[name])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        hidden = {flag for each in self.get_params(ctx) if not self.is_used(each, ctx) for flag in each.opts}
        return [item for item in super().shell_complete(ctx, incomplete) if item.value not in hidden]


class SectionGroup(click.Group):
    context_class = HelpContext
    command_class = SectionCommand

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return a command. Raises WrongUsage if there is none of this name, unless a shell asks for completions."""
        found = super().get_command(context, name)
        if found is None:
            no_command(name, self.list_commands(context), context)
        return found


def no_command(name: str, known: Iterable[str], context: click.Context) -> None:
    """Raise WrongUsage for an unknown name of a command, unless a shell asks for completions."""
    if not context.resilient_parsing and not name.startswith("-"):
        raise WrongUsage(f"{name!r} is not a command{meant(name, known)}")


def _name(parameter: click.Parameter) -> str:
    """Return the name of an option without dashes, or of an argument."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len).lstrip("-")
    return parameter.name or ""


def given_in(context: click.Context) -> dict[str, Any]:
    """Return the values of the options and arguments from the command line and the environment."""
    return {
        _name(each): context.params.get(each.name or "")
        for each in context.command.get_params(context)
        if context.get_parameter_source(each.name or "") in GIVEN
    }


def in_section(name: str, **rest: Any) -> Callable[..., Decorator]:
    """Return `click.option` for options of a section."""
    return partial(click.option, cls=SectionOption, section=name, **rest)


def options_of(
    config: type,
    section: str = "Options",
    prefix: str = "",
    preset: bool = False,
    needs: tuple[str, ...] = (),
    unless: tuple[str, ...] = (),
    short: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    of_component: bool = False,
) -> Decorator:
    """Add an option for each setting of a config, such as --pascal-heads for `heads` under the prefix `pascal-`.

    preset: whether a preset may change the defaults, so that an option that is not given is None; needs, unless: more
    conditions, as in SectionOption; short: second names, such as -t; only: the options to add; of_component: as in
    SectionOption.
    """
    return _all(
        _option(
            replace(each, needs=each.needs + _bare(needs), unless=each.unless + _bare(unless)),
            (short or {}).get(name, ""),
            preset,
            section=section,
            of_component=of_component,
        )
        for name, each in options_in(config, prefix).items()
        if only is None or name in only
    )


def _bare(given: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return conditions about options without their dashes."""
    return tuple(each.removeprefix("--") for each in conditions(given))


def options_of_components(components: Mapping[str, type]) -> Decorator:
    """Add the options of each component, in a section of its own under its name."""
    return _all(
        options_of(component, name, f"{name}-", preset=True, of_component=True)
        for name, component in components.items()
    )


def _all(options: Iterable[Decorator]) -> Decorator:
    """Add the options in their order, before the options that a command has already."""
    return lambda command: reduce(lambda done, option: option(done), reversed(list(options)), command)


def _option(setting: Setting, short: str, preset: bool, **page: Any) -> Decorator:
    flag = f"--{setting.option}"
    word = setting.help.split(maxsplit=1)[0]
    first = setting.help[0]
    about = f"{first.upper() if word.isascii() else first}{setting.help[1:]}."  # λ and p₀ are names, and stay
    metavar = setting.metavar or (None if setting.choices else METAVARS.get(setting.kind))
    if len(choices := ", ".join(map(str, setting.choices))) > LONGEST_CHOICES and not metavar:
        about, metavar = f"{about}  One of {choices}.", "NAME"
    more: dict[str, Any] = {
        "default": None if preset else setting.default,
        "help": about,
        **page,
        "setting": setting,
        "metavar": metavar,
    }
    if setting.kind is bool:
        both = f"{flag}/--{setting.negation}" if setting.negation else flag
        return click.option(both, cls=SectionOption, is_flag=True, **more)
    flags = [short, flag] if short else [flag]
    return click.option(*flags, cls=SectionOption, type=_type(setting), multiple=setting.several, **more)


def _type(setting: Setting) -> Any:
    """Return the click type that checks the values of a setting."""
    if setting.metavar in PATHS:
        return Reads()
    if setting.metavar in (CODE, REGIONAL):
        return Language(setting.metavar)
    if setting.choices:
        return (SeveralOf if setting.metavar == JOINED else OneOf)([str(each) for each in setting.choices])
    if setting.kind is int:
        return click.IntRange(int(setting.least), int(setting.most))
    if setting.kind is float:
        below_one = setting.most == math.nextafter(1, 0)
        return Finite(setting.least, 1 if below_one else setting.most, max_open=below_one)
    return setting.kind
