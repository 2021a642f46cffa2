"""Presets: the settings of the papers, and what two CPU cores can train. Free of torch, as `--help` is."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from synmt.model.config import ModelConfig
from synmt.model.source import SourceSide, source_side_of
from synmt.model.target import TargetSide, target_side_of
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, Scope, config_of, option_names
from synmt.systems import PLAIN, SOURCE_IDEAS, TARGET_IDEAS, systems
from synmt.systems.mask import PRESETS as MASK
from synmt.systems.pascal import PRESETS as PASCAL
from synmt.systems.transitions import PRESETS as TRANSITIONS
from synmt.text.tokenization import TextConfig
from synmt.training.config import OTHER_IDEAS, PREFIXES, SPELLED_ARCS, TREES, TrainingConfig

# A network of 1.1 M parameters besides the embeddings, which low-resource tasks of short sentences do not
# outgrow, with a schedule that ends: what two CPU cores can train.
SMALL = Preset(dict(
    width=128, feedforward=256, encoder_layers=4, decoder_layers=4, heads=4, positions="rotary",
    dropout=0.15, attention_dropout=0.0, activation_dropout=0.0,
    merges=6000, batch_tokens=2048, max_length=256, epochs=15, validation_beam=1, average=3,
    learning_rate=3e-3, schedule="cosine", warmup=400, adam_beta2=0.98,
))  # fmt: skip
PRESETS: dict[str, Preset] = {**MASK, "small": SMALL, **TRANSITIONS, **PASCAL}
DEFAULT = "small"  # it trains anywhere; those of the papers need a GPU


def resolve(preset: Preset, systems: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings: those given go first, then what systems have in the preset, then the preset's own."""
    of_systems = (preset.systems.get(name, {}) for name in systems)
    return {name: value for part in (preset.settings, *of_systems, given) for name, value in part.items()}


def configs(settings: Mapping[str, Any]) -> tuple[TransformerConfig, TrainingConfig]:
    """Return the network and the training of these settings. Raises ValueError for what is out of bounds."""
    return config_of(TransformerConfig, settings), config_of(TrainingConfig, settings)


def model_and_training(preset: Preset, given: Mapping[str, Any]) -> tuple[ModelConfig, TrainingConfig]:
    """Return what `synmt train` is asked for: a system, or the ideas of either side, and settings.

    Raises ValueError for unknown names, and for settings out of bounds.
    """
    source_ideas, target_ideas = ideas_of(given)
    settings = resolve(preset, source_ideas, given)
    network, training = configs(settings)
    text = config_of(TextConfig, settings)
    arcs = {"split": "split_arcs" in given, "root_arc": "root_arc" in given}
    sides = source_side_of(source_ideas, settings), target_side_of(target_ideas, settings, arcs)
    return ModelConfig(*sides, text.languages, text.tokenizer or "moses", network), training


def ideas_of(given: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the ideas of source and target among settings. Raises ValueError for an unknown system."""
    system = given.get("model", PLAIN)
    if system not in systems():
        raise ValueError(f"unknown system {system!r}; known: {', '.join(systems())}")
    of_source, of_target = systems()[system]
    source, target = given.get("source_syntax", of_source), given.get("target_syntax", of_target)
    return source.split("+"), target.split("+")


@cache
def owners() -> dict[str, tuple[str, ...]]:
    """Return for each option of an idea what it takes to use it."""
    ideas = [*SOURCE_IDEAS.items(), *TARGET_IDEAS.items()]
    return {option: (f"--model {name}",) for name, idea in ideas for option in option_names(idea, f"{name}-")}


def circumstances_of(source: SourceSide | None, target: TargetSide | None) -> dict[str, bool]:
    """Return which circumstances hold in training, as far as the sides are known."""
    found = {TREES: source.reads_trees} if source else {}
    if target:
        found[PREFIXES] = target.reads_prefixes
        found[SPELLED_ARCS] = target.spelling.trees == "among"
    return found


@cache
def bringing() -> dict[str, list[str]]:
    """Return which ideas make a circumstance hold."""
    found: dict[str, list[str]] = {}
    sides = [(name, *_sides([name], [PLAIN], {})) for name in SOURCE_IDEAS]
    sides += [(name, *_sides([PLAIN], [name], {})) for name in TARGET_IDEAS]
    for name, source, target in sides:
        for circumstance, holds in circumstances_of(source, target).items():
            if holds:
                found.setdefault(circumstance, []).append(name)
    return found


def _sides(
    source: Sequence[str], target: Sequence[str], settings: Mapping[str, Any]
) -> tuple[SourceSide | None, TargetSide | None]:
    """Return the sides of these ideas, None for one that cannot be made, which is found once the model is."""
    encoder = decoder = None
    with suppress(ValueError):
        encoder = source_side_of(source, settings)
    with suppress(ValueError):
        decoder = target_side_of(target, settings)
    return encoder, decoder


def scope_of(given: Mapping[str, Any], start: ModelConfig | None = None) -> Scope:
    """Return what `synmt train` knows about its options; given: those of the command line, by name.

    start: the model that the run begins with. Raises ValueError for an unknown system.
    """
    settings = {name.replace("-", "_"): value for name, value in given.items()}
    source, target = (list(start.source.ideas), list(start.target.ideas)) if start else ideas_of(settings)
    preset = PRESETS[given.get("preset", DEFAULT)]
    sides = (start.source, start.target) if start else _sides(source, target, resolve(preset, source, settings))
    holding = {OTHER_IDEAS: _is_replaced(given), **circumstances_of(*sides)}
    chosen = {f"--model {name}" for name in source + target}
    used = {option for option, ways in owners().items() if chosen.intersection(ways)}
    defaults = {name.replace("_", "-"): value for name, value in resolve(preset, source, {}).items()}
    return Scope("+".join(dict.fromkeys(source + target)), owners(), used, {}, holding, bringing(), defaults)


def _is_replaced(given: Mapping[str, Any]) -> bool:
    """Return whether the ideas of the system are none of the model's."""
    pairs = zip(systems().get(given.get("model", ""), ()), ("source-syntax", "target-syntax"), strict=False)
    return any(option in given and idea != PLAIN for idea, option in pairs)
