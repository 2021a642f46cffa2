"""Presets: the settings of the papers, and what two CPU cores can train. Free of torch, as `--help` is."""

from collections.abc import Iterable, Mapping
from typing import Any

from synmt.model.config import ModelConfig
from synmt.model.source import source_side_of
from synmt.model.target import target_side_of
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, check_owners, config_of
from synmt.systems import SOURCE_IDEAS, TARGET_IDEAS, systems
from synmt.systems.mask.idea import PRESETS as MASK
from synmt.systems.pascal.presets import PRESETS as PASCAL
from synmt.systems.transitions import PRESETS as TRANSITIONS
from synmt.text.tokenization import TextConfig
from synmt.training.config import TrainingConfig

# A network of 1.1 M parameters besides the embeddings, which low-resource tasks of short sentences do not
# outgrow, with a schedule that ends: what two CPU cores can train.
SMALL = Preset(dict(
    width=128, feedforward=256, encoder_layers=4, decoder_layers=4, heads=4,
    dropout=0.15, attention_dropout=0.0, activation_dropout=0.0,
    merges=6000, batch_tokens=2048, max_length=256, epochs=15, validation_beam=1, average=3,
    learning_rate=3e-3, schedule="cosine", warmup=400, adam_beta2=0.98,
))  # fmt: skip
PRESETS: dict[str, Preset] = {**MASK, "small": SMALL, **TRANSITIONS, **PASCAL}


def resolve(preset: Preset, systems: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings: those given go first, then what systems have in the preset, then the preset's own."""
    of_systems = (preset.systems.get(name, {}) for name in systems)
    return {name: value for part in (preset.settings, *of_systems, given) for name, value in part.items()}


def configs(settings: Mapping[str, Any]) -> tuple[TransformerConfig, TrainingConfig]:
    """Return the network and the training of these settings. Raises ValueError for what is out of bounds."""
    return config_of(TransformerConfig, settings), config_of(TrainingConfig, settings)


def model_and_training(preset: Preset, given: Mapping[str, Any]) -> tuple[ModelConfig, TrainingConfig]:
    """Return what `synmt train` is asked for: a system, or the ideas of either side, and settings.

    Raises ValueError for what is unknown, out of bounds, or of an idea that takes no part.
    """
    system = given.get("model", "sequence")
    if system not in systems():
        raise ValueError(f"unknown system {system!r}; known: {', '.join(systems())}")
    of_source, of_target = systems()[system]
    source, target = given.get("source_syntax", of_source), given.get("target_syntax", of_target)
    source_ideas, target_ideas = source.split("+"), target.split("+")
    settings = resolve(preset, source_ideas, given)
    ideas = [*SOURCE_IDEAS.items(), *TARGET_IDEAS.items()]
    check_owners(ideas, [*source_ideas, *target_ideas], settings, f"{source} to {target}")
    network, training = configs(settings)
    text = config_of(TextConfig, settings)
    arcs = {"split": "split_arcs" in given, "root_arc": "root_arc" in given}
    sides = source_side_of(source_ideas, settings), target_side_of(target_ideas, settings, arcs)
    return ModelConfig(*sides, text.languages, text.tokenizer or "moses", network), training
