"""The options of `synmt train`, for a new model or a model that starts from a trained one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS, PLAIN, sides_of, systems
from synmt.model.config import ModelConfig
from synmt.model.folder import read_folder_config
from synmt.model.source import source_side
from synmt.model.target import target_side
from synmt.nn.config import DROPOUTS, TransformerConfig
from synmt.options import JOINED, Choice, Preset, Rules, Setting, chosen, config_of, option_names, options_in, setting
from synmt.streams import Message, WrongUsage
from synmt.text.tokenization import TextConfig, with_languages
from synmt.training.config import OF_PREFIXES, OF_TREES, OF_VALIDATION, TrainingConfig
from synmt.training.presets import DEFAULT, PRESETS, model_and_training, resolve

DEV = "dev-source", "dev-tsv"
OF_ARCS = "split-arcs", "root-arc"


@dataclass(frozen=True)
class SystemConfig:
    """The choice of the model to train. A setting that is not given is None."""

    model: str | None = setting(
        None,
        f"components of the encoder ({', '.join(ENCODER_COMPONENTS)}) and of the decoder "
        f"({', '.join(DECODER_COMPONENTS)}); their options: `--model NAME --help`",
        metavar=JOINED, choices=tuple(systems()),
    )  # fmt: skip
    preset: str | None = setting(
        DEFAULT, "set of defaults; see `--preset NAME --help-all`",
        choices=tuple(PRESETS),
    )  # fmt: skip
    init: str | None = setting(None, "model to continue training, on any data", metavar="MODEL")
    split_arcs: bool | None = setting(None, "write an arc as two tokens: direction, relation")
    root_arc: bool | None = setting(None, "write an arc for the root, too, at the end")
    codes: str | None = setting(None, "BPE codes to use instead of learning new ones", metavar="FILE")


@cache
def known() -> dict[str, Setting]:
    """Return the settings of a training run by the names of their options."""
    found: dict[str, Setting] = {}
    for config in (SystemConfig, TextConfig, TrainingConfig, TransformerConfig):
        found |= options_in(config)
    for name, component in [*ENCODER_COMPONENTS.items(), *DECODER_COMPONENTS.items()]:
        found |= options_in(component, f"{name}-")
    return found


@cache
def of_components() -> dict[str, frozenset[str]]:
    """Return the options of each component."""
    components = [*ENCODER_COMPONENTS.items(), *DECODER_COMPONENTS.items()]
    return {name: frozenset(option_names(component, f"{name}-")) for name, component in components}


def choose(given: Mapping[str, Any]) -> Choice:
    """Return the system of `synmt train`, and which options it uses; given: options and data files, by name.

    Raises BadInput for a bad folder in --init, and ValueError for an unknown system.
    """
    start = read_folder_config(Path(given["init"]), ModelConfig)[0] if "init" in given else None
    preset = given.get("preset", DEFAULT)
    if preset not in PRESETS:
        raise WrongUsage(Message("--preset cannot be {}; it is one of {}", preset, Message(", ".join(PRESETS))))
    if start:
        source, target = list(start.source.components), list(start.target.components)
    else:
        source, target = sides_of(given.get("model", PLAIN))
    of_others = [options for name, options in of_components().items() if name not in (*source, *target)]
    unused = frozenset().union(*of_others, ["merges"] if "codes" in given else [], _of_new_models() if start else [])
    needs = {} if set(DEV) & given.keys() else dict.fromkeys(OF_VALIDATION, "--dev-source or --dev-tsv")
    if not any(ENCODER_COMPONENTS[name].reads_trees() for name in source):
        needs |= dict.fromkeys(OF_TREES, "an encoder that reads trees")
    decoders = [DECODER_COMPONENTS[name] for name in target]
    if not any(each.prefixes for each in decoders):
        needs |= dict.fromkeys(OF_PREFIXES, "a decoder that reads its whole prefix at each step")
    if not start and not any(each.writes_arcs() for each in decoders):
        needs |= dict.fromkeys(OF_ARCS, "a decoder that writes arcs among its words")
    defaults = {name.replace("_", "-"): value for name, value in resolve(PRESETS[preset], source, {}).items()}
    defaults |= _defaults_of(start) if start else {"model": PLAIN}
    name = "+".join(dict.fromkeys(source + target))
    return Choice(name, lambda option: option not in unused, needs, defaults)


def owners(option: str) -> list[str]:
    """Return the systems that use an option, as `--model NAME`."""
    encoders = [name for name, kind in ENCODER_COMPONENTS.items() if option in OF_TREES and kind.reads_trees()]
    decoders = [
        name
        for name, kind in DECODER_COMPONENTS.items()
        if (option in OF_PREFIXES and kind.prefixes) or (option in OF_ARCS and kind.writes_arcs())
    ]
    own = [name for name, options in of_components().items() if option in options]
    return [f"--model {name}" for name in encoders + decoders + own]


RULES = Rules(choose, owners)


def _of_new_models() -> set[str]:
    """Return the options that --init decides."""
    sizes = {each for each in option_names(TransformerConfig) if each.replace("-", "_") not in DROPOUTS}
    return sizes.union(option_names(SystemConfig), {"merges", "tokenizer"}) - {"init", "preset"}


def _defaults_of(start: ModelConfig) -> dict[str, Any]:
    """Return the options of the network and of the components of a model to start with."""
    found = asdict(start.network)
    for name, options in {**start.source.settings(), **start.target.settings()["components"]}.items():
        found |= {f"{name}-{option}": value for option, value in options.items()}
    return {name.replace("_", "-"): value for name, value in found.items()}


def configs_of(
    settings: Mapping[str, Any], start: ModelConfig | None = None, source: str | None = None, target: str | None = None
) -> tuple[ModelConfig, TrainingConfig]:
    """Return the configs of the model and of training; settings that are None are not given.

    start: the config of the model in `init`. source, target: text files, whose suffixes may name languages.

    Raises ValueError.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    preset = PRESETS[given.get("preset", DEFAULT)]
    given = with_languages(given, source, target)
    model, training = model_and_training_of(start, preset, given) if start else model_and_training(preset, given)
    if training.tree_dropout and not model.source.reads_trees:
        raise WrongUsage(Message("--tree-dropout has no effect: {} reads no trees", "+".join(model.source.components)))
    return model, training


def model_and_training_of(
    start: ModelConfig, preset: Preset, given: Mapping[str, Any]
) -> tuple[ModelConfig, TrainingConfig]:
    """Return the configs of a run that starts with a model of this config.

    Its dropout, the options of its components, its languages and the options of training may differ. Raises ValueError.
    """
    of_target = start.target.settings()
    languages = config_of(TextConfig, given)
    model = replace(
        start,
        source=source_side(_changed(start.source.settings(), ENCODER_COMPONENTS, given)),
        target=target_side(_changed(of_target["components"], DECODER_COMPONENTS, given), of_target["arcs"]),
        languages=(languages.source_language or start.languages[0], languages.target_language or start.languages[1]),
        network=replace(start.network, **chosen(TransformerConfig, given)),
    )
    if model.languages[0] != start.languages[0]:
        model = replace(model, words=None)  # the data of the new language decide
    return model, config_of(TrainingConfig, resolve(preset, start.source.components, given))


def _changed(
    components: Mapping[str, Mapping[str, Any]], known: Mapping[str, type], given: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the options of each component, replaced by given ones."""
    return {name: {**own, **chosen(known[name], given, f"{name}-")} for name, own in components.items()}
