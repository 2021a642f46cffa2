"""`synmt train`"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from synmt.streams import BadInput
from synmt.systems import MODELS, SOURCE_IDEAS, TARGET_IDEAS
from synmt.systems.options import check_owners
from synmt.systems.source import open_idea, source_side_of
from synmt.systems.target import open_target_idea, target_side_of
from synmt.training.presets import PRESETS, TASKS, Preset

Command = Callable[..., None]
Ideas = Sequence[tuple[str, type[Any]]]
OF_SOURCE: Ideas = [(name, open_idea(name)) for name in SOURCE_IDEAS]
IDEAS: Ideas = [*OF_SOURCE, *((name, open_target_idea(name)) for name in TARGET_IDEAS)]


def settings_of(
    part: Literal["network", "training"], presets: Mapping[str, Preset] = PRESETS
) -> Callable[[Command], Command]:
    """One option for each field of a config: its name, kind and help; the presets give what is not asked for."""

    def decorate(command: Command) -> Command:
        config = type(getattr(presets["paper"], part))
        for setting in reversed(fields(config)):
            defaults = {name: getattr(getattr(preset, part), setting.name) for name, preset in presets.items()}
            if len(set(defaults.values())) == 1:
                shown = str(defaults["paper"])
            else:
                shown = ", ".join(f"{name} {value}" for name, value in defaults.items())
            command = setting_option(config, setting, "", shown)(command)
        return command

    return decorate


def options_of(ideas: Ideas) -> Callable[[Command], Command]:
    """One option for each field of each idea, such as --pascal-heads."""

    def decorate(command: Command) -> Command:
        for name, idea in reversed(ideas):
            for setting in reversed(fields(idea)):
                command = setting_option(idea, setting, f"{name}-", str(setting.default))(command)
        return command

    return decorate


def setting_option(config: type, setting: Field[Any], prefix: str, default: str) -> Callable[[Command], Command]:
    kind = get_type_hints(config)[setting.name]
    choice = click.Choice(get_args(kind)) if get_origin(kind) is Literal else kind
    flag = f"--{prefix}{setting.name.replace('_', '-')}"
    about = f"{setting.metadata['help']}  [{default}]"
    if kind is bool and setting.default:
        flag = f"{flag}/--{prefix}no-{setting.name}"
    if kind is bool:
        return click.option(flag, is_flag=True, default=None, help=about)
    return click.option(flag, type=choice, help=about)


@click.command("train")
@click.option("--model", "system", type=click.Choice(list(MODELS)), default="sequence", show_default=True)
@click.option("--source-syntax", metavar="NAME+NAME", help="Several systems at work in one encoder, instead.")
@click.option(
    "--target-syntax",
    metavar="NAME+NAME",
    help=f"The same of the decoder: {', '.join(TARGET_IDEAS)}; it goes with every source syntax.",
)
@click.option("--split-arcs", is_flag=True, help="The decoder writes an arc as two tokens: direction, relation.")
@click.option("--root-arc", is_flag=True, help="The decoder writes an arc for the root as well, at the end.")
@click.option("--preset", type=click.Choice([*PRESETS, *TASKS]), default="paper", show_default=True)
@click.option("--source", help="Source sentences: text, parse records or mask records.")
@click.option("--target", help="Target sentences: text, parse records or lines of synmt transitions.")
@click.option("--tsv", help="Both as `source TAB target` lines, instead; - is standard input.")
@click.option("--dev-source", help="Validation sources.")
@click.option("--dev-target", help="Validation targets.")
@click.option("--dev-tsv", help="Both as `source TAB target` lines, instead.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The model folder to make.")
@click.option("--resume", is_flag=True, help="Go on with the run in --out, with the same command.")
@click.option("--codes", help="BPE codes to use, instead of learning some.")
@click.option("--source-language", default="en", show_default=True, help="For the Moses tokenizer.")
@click.option("--target-language", default="en", show_default=True, help="For the Moses (de)tokenizer.")
@click.option(
    "--tokenizer",
    type=click.Choice(["moses", "none"]),
    default="moses",
    show_default=True,
    help="Of raw text; none: words already stand between spaces.",
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@options_of(IDEAS)
@settings_of("network")
@settings_of("training")
def command(
    system: str,
    source_syntax: str | None,
    target_syntax: str | None,
    split_arcs: bool,
    root_arc: bool,
    preset: str,
    source: str | None,
    target: str | None,
    tsv: str | None,
    dev_source: str | None,
    dev_target: str | None,
    dev_tsv: str | None,
    out: Path,
    resume: bool,
    codes: str | None,
    source_language: str,
    target_language: str,
    tokenizer: Literal["moses", "none"],
    device: str,
    **settings: Any,
) -> None:
    """Train a translation model on sentence pairs.

    The folder holds the best model so far, the log and what --resume needs. Under torchrun all processes
    share the work. Raw text is parsed on the way where the system needs trees.

    \b
      synmt train --model mask --source train.en --target train.de --out model
      paste parsed.jsonl train.de | synmt train --model mask --tsv - --out model
    """
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        of_source, of_target = MODELS[system]
        sides = [source_syntax or of_source, target_syntax or of_target]
        found = (PRESETS | TASKS)[preset]
        of_systems = (found.systems.get(name, {}) for name in sides[0].split("+"))
        given = {name: value for settings in (*of_systems, given) for name, value in settings.items()}
        source_ideas, target_ideas = (side.split("+") for side in sides)
        check_owners(IDEAS, [*source_ideas, *target_ideas], given, " to ".join(sides))
        chosen = found.with_settings(given)
        from synmt.systems.model_folder import ModelConfig

        model = ModelConfig(
            source_side_of(source_ideas, given),
            target_side_of(target_ideas, given, {"split": split_arcs, "root_arc": root_arc}),
            source_language,
            target_language,
            tokenizer,
            chosen.network,
        )
    except ValueError as error:
        raise BadInput(str(error)) from None
    from synmt.training.run import pair_files, train

    dev = pair_files(dev_source, dev_target, dev_tsv) if dev_source or dev_target or dev_tsv else None
    train(out, pair_files(source, target, tsv), dev, model, chosen.training, codes, resume, device)
