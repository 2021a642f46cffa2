"""Presets: the settings of the papers, and settings for two CPU cores. This module must not import torch."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from typing import Any

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS, PLAIN, systems
from synmt.model.config import ModelConfig
from synmt.model.source import SourceSide, source_side_of
from synmt.model.target import TargetSide, target_side_of
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, Scope, config_of, option_names
from synmt.text.tokenization import UNMARKED, TextConfig
from synmt.training.config import OTHER_COMPONENTS, PREFIXES, SPELLED_ARCS, TREES, TrainingConfig

# For two CPU cores and short sentences in a low-resource task: 1.1 million parameters besides the embeddings.
SMALL = Preset(dict(
    width=128, feedforward=256, encoder_layers=4, decoder_layers=4, heads=4, positions="rotary",
    dropout=0.2, attention_dropout=0.0, activation_dropout=0.0,
    merges=6000, batch_tokens=2048, max_length=256, epochs=24, validation_beam=1, average=3,
    learning_rate=5e-3, schedule="cosine", warmup=400, adam_beta2=0.98,
))  # fmt: skip
# For fewer than 3,000 pairs (docs/lab-notes.md#tuning-with-2000-captions).
FEW_PAIRS = Preset({**SMALL.settings, "merges": 2000, "dropout": 0.4, "epochs": 60})
PRESETS: dict[str, Preset] = {"small": SMALL, "few-pairs": FEW_PAIRS}
for _each in [*ENCODER_COMPONENTS.values(), *DECODER_COMPONENTS.values()]:
    PRESETS |= _each.presets
DEFAULT = "small"  # it trains anywhere; the papers' presets need a GPU


def resolve(preset: Preset, systems: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings: the given ones, then the preset's for these systems, then the preset's own."""
    of_systems = (preset.systems.get(name, {}) for name in systems)
    return {name: value for part in (preset.settings, *of_systems, given) for name, value in part.items()}


def configs(settings: Mapping[str, Any]) -> tuple[TransformerConfig, TrainingConfig]:
    """Return the configs of the network and of training. Raises ValueError for values out of bounds."""
    return config_of(TransformerConfig, settings), config_of(TrainingConfig, settings)


def model_and_training(preset: Preset, given: Mapping[str, Any]) -> tuple[ModelConfig, TrainingConfig]:
    """Return the configs of the model and of training for the given settings.

    Raises ValueError for unknown names and for values out of bounds.
    """
    source_components, target_components = components_of(given)
    settings = resolve(preset, source_components, given)
    network, training = configs(settings)
    text = config_of(TextConfig, settings)
    arcs = {"split": given.get("split_arcs", False), "root_arc": given.get("root_arc", False)}
    sides = source_side_of(source_components, settings), target_side_of(target_components, settings, arcs)
    tokenizer = text.tokenizer or "words"
    return ModelConfig(*sides, text.languages, tokenizer, network, marks=tokenizer not in UNMARKED), training


def components_of(given: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the components of source and target named by the settings. Raises ValueError for an unknown system."""
    system = given.get("model", PLAIN)
    if system not in systems():
        raise ValueError(f"unknown system {system!r}; known: {', '.join(systems())}")
    of_source, of_target = systems()[system]
    source, target = given.get("source_syntax", of_source), given.get("target_syntax", of_target)
    return source.split("+"), target.split("+")


@cache
def owners() -> dict[str, tuple[str, ...]]:
    """Return for each option of a component the choices that use it, such as `--model NAME`."""
    components = [*ENCODER_COMPONENTS.items(), *DECODER_COMPONENTS.items()]
    return {
        option: (f"--model {name}",) for name, component in components for option in option_names(component, f"{name}-")
    }


def circumstances_of(source: SourceSide | None, target: TargetSide | None) -> dict[str, bool]:
    """Return which circumstances hold in training; a side may be unknown (None)."""
    found = {TREES: source.reads_trees} if source else {}
    if target:
        found[PREFIXES] = target.reads_prefixes
        found[SPELLED_ARCS] = target.spelling.trees == "among"
    return found


@cache
def bringing() -> dict[str, list[str]]:
    """Return the components that bring about each circumstance, as their classes declare it."""
    encoders, decoders = ENCODER_COMPONENTS.items(), DECODER_COMPONENTS.items()
    return {
        TREES: [name for name, kind in encoders if kind.reads_trees()],
        PREFIXES: [name for name, kind in decoders if kind.prefixes],
        SPELLED_ARCS: [name for name, kind in decoders if kind.writes and kind.writes.trees == "among"],
    }


def _sides(
    source: Sequence[str], target: Sequence[str], settings: Mapping[str, Any]
) -> tuple[SourceSide | None, TargetSide | None]:
    """Return the sides of these components. An invalid side is None; making the model reports the error."""
    encoder = decoder = None
    with suppress(ValueError):
        encoder = source_side_of(source, settings)
    with suppress(ValueError):
        decoder = target_side_of(target, settings)
    return encoder, decoder


def scope_of(given: Mapping[str, Any], start: ModelConfig | None = None) -> Scope:
    """Return which options `synmt train` uses; given: the options of the command line, by name.

    start: the config of the model that the run starts with. Raises ValueError for an unknown system.
    """
    settings = {name.replace("-", "_"): value for name, value in given.items()}
    preset = PRESETS[given.get("preset", DEFAULT)]
    source, target = (
        (list(start.source.components), list(start.target.components)) if start else components_of(settings)
    )
    sides = (start.source, start.target) if start else _sides(source, target, resolve(preset, source, settings))
    holding = {OTHER_COMPONENTS: _is_replaced(given), **circumstances_of(*sides)}
    chosen = {f"--model {name}" for name in source + target}
    used = {option for option, ways in owners().items() if chosen.intersection(ways)}
    defaults = {name.replace("_", "-"): value for name, value in resolve(preset, source, {}).items()}
    defaults |= _defaults_of(start) if start else {"model": PLAIN}
    return Scope("+".join(dict.fromkeys(source + target)), owners(), used, {}, holding, bringing(), defaults)


def _defaults_of(start: ModelConfig) -> dict[str, Any]:
    """Return the options of the network and of the components of a model to start with."""
    found = asdict(start.network)
    for name, options in {**start.source.settings(), **start.target.settings()["components"]}.items():
        found |= {f"{name}-{option}": value for option, value in options.items()}
    return {name.replace("_", "-"): value for name, value in found.items()}


def _is_replaced(given: Mapping[str, Any]) -> bool:
    """Return whether --source-syntax and --target-syntax replace all components of the system."""
    pairs = zip(systems().get(given.get("model", ""), ()), ("source-syntax", "target-syntax"), strict=False)
    return any(option in given and component != PLAIN for component, option in pairs)
