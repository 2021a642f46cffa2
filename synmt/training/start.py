"""The options of `synmt train`, for a new model or a model that starts from a trained one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS, systems
from synmt.model.config import ModelConfig
from synmt.model.source import source_side
from synmt.model.target import target_side
from synmt.nn.config import TransformerConfig
from synmt.options import Known, Preset, chosen, config_of, known_in, setting
from synmt.text.tokenization import TextConfig, with_languages
from synmt.training.config import OTHER_COMPONENTS, SPELLED_ARCS, VALIDATION, TrainingConfig
from synmt.training.presets import DEFAULT, PRESETS, model_and_training, resolve

INIT, DEV = "--init", ("--dev-source", "--dev-tsv")


@dataclass(frozen=True)
class SystemConfig:
    """The choice of the model to train. A setting that is not given is None."""

    model: str | None = setting(
        None, "any component below; see `--model SYSTEM --help`",
        metavar="SYSTEM", unless=(INIT, OTHER_COMPONENTS), choices=tuple(systems()),
    )  # fmt: skip
    source_syntax: str | None = setting(
        None, f"or for the encoder: {', '.join(ENCODER_COMPONENTS)}", metavar="NAME+NAME", unless=INIT
    )
    target_syntax: str | None = setting(
        None, f"and for the decoder: {', '.join(DECODER_COMPONENTS)}", metavar="NAME+NAME", unless=INIT,
    )  # fmt: skip
    preset: str | None = setting(
        DEFAULT, "set of defaults; see `--preset NAME --help-all`",
        choices=tuple(PRESETS),
    )  # fmt: skip
    init: str | None = setting(None, "model to continue training, on any data", metavar="MODEL")
    split_arcs: bool | None = setting(
        None, "write an arc as two tokens: direction, relation", needs=SPELLED_ARCS, unless=INIT
    )
    root_arc: bool | None = setting(None, "write an arc for the root, too, at the end", needs=SPELLED_ARCS, unless=INIT)
    codes: str | None = setting(None, "BPE codes to use instead of learning new ones", metavar="FILE", unless=INIT)


@cache
def known() -> dict[str, Known]:
    """Return the settings of a training run by name."""
    found = {**known_in(SystemConfig), **known_in(TextConfig)}
    found |= {**known_in(TrainingConfig, means={VALIDATION: DEV}), **known_in(TransformerConfig)}
    for name, component in [*ENCODER_COMPONENTS.items(), *DECODER_COMPONENTS.items()]:
        found |= known_in(component, f"{name}-")
    return found


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
    return model_and_training_of(start, preset, given) if start else model_and_training(preset, given)


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
