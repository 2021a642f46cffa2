"""Presets: the settings of the papers, and settings for two CPU cores. This module must not import torch."""

from collections.abc import Iterable, Mapping
from typing import Any

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS, PLAIN, sides_of
from synmt.model.config import ModelConfig
from synmt.model.source import source_side_of
from synmt.model.target import target_side_of
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, config_of
from synmt.text.tokenization import UNMARKED, TextConfig
from synmt.training.config import TrainingConfig

# For two CPU cores and short sentences in a low-resource task: 1.1 million parameters besides the embeddings.
SMALL = Preset(dict(
    width=128, feedforward=256, encoder_layers=4, decoder_layers=4, heads=4, positions="rotary",
    dropout=0.2, attention_dropout=0.0, activation_dropout=0.0,
    merges=6000, batch_tokens=2048, max_length=256, epochs=24, validation_beam=1, average=3,
    learning_rate=5e-3, schedule="cosine", warmup=400, adam_beta2=0.98,
))  # fmt: skip
# For fewer than 3,000 pairs (docs/lab-notes/translation.md#tuning-with-2000-captions).
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
    source_components, target_components = sides_of(given.get("model", PLAIN))
    settings = resolve(preset, source_components, given)
    network, training = configs(settings)
    text = config_of(TextConfig, settings)
    arcs = {"split": given.get("split_arcs", False), "root_arc": given.get("root_arc", False)}
    sides = source_side_of(source_components, settings), target_side_of(target_components, settings, arcs)
    tokenizer = text.tokenizer or "words"
    return ModelConfig(*sides, text.languages, tokenizer, network, marks=tokenizer not in UNMARKED), training
