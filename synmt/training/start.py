"""What a run has that begins with a trained model, to go on with other data: the model's own config, but for what may
differ."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from synmt.model.config import ModelConfig
from synmt.model.source import source_side
from synmt.model.target import target_side
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, chosen, config_of
from synmt.systems import SOURCE_IDEAS, TARGET_IDEAS
from synmt.text.tokenization import TextConfig
from synmt.training.config import TrainingConfig
from synmt.training.presets import resolve


def model_and_training_of(
    start: ModelConfig, preset: Preset, given: Mapping[str, Any]
) -> tuple[ModelConfig, TrainingConfig]:
    """Return what a run is that begins with a model of this config: its dropout, the options of its ideas, languages
    and the training may be other ones. Raises ValueError."""
    of_target = start.target.settings()
    languages = config_of(TextConfig, given)
    model = replace(
        start,
        source=source_side(_changed(start.source.settings(), SOURCE_IDEAS, given)),
        target=target_side(_changed(of_target["ideas"], TARGET_IDEAS, given), of_target["arcs"]),
        languages=(languages.source_language or start.languages[0], languages.target_language or start.languages[1]),
        network=replace(start.network, **chosen(TransformerConfig, given)),
    )
    if model.languages[0] != start.languages[0]:
        model = replace(model, words=None)  # those of the new language are found by its data
    return model, config_of(TrainingConfig, resolve(preset, start.source.ideas, given))


def _changed(
    ideas: Mapping[str, Mapping[str, Any]], known: Mapping[str, type], given: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the options of each idea, with those that are given."""
    return {name: {**own, **chosen(known[name], given, f"{name}-")} for name, own in ideas.items()}
