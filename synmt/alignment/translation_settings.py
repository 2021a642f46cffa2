"""What can be asked of an aligner on translation models: its own options, and those of all that it learns from."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from synmt.alignment.presets import TRANSLATION_PRESETS
from synmt.nn.config import TransformerConfig
from synmt.systems.linking import LinkIdea, link_idea, open_link_idea
from synmt.systems.source import SourceSide, source_side
from synmt.training.config import TrainingConfig
from synmt.training.presets import Preset

Sides = tuple[SourceSide, SourceSide]


@dataclass(frozen=True)
class Chosen:
    """idea: with its options; preset: with what was asked for instead; sides: what the encoders of source and
    target read; base: the folder of the aligner whose models are taken over."""

    idea: LinkIdea
    preset: Preset
    sides: Sides
    base: Path | None


def choose(method: str, settings: Mapping[str, Any]) -> Chosen:
    """Raises ValueError for what is out of bounds or no option of this method."""
    ideas = {name: open_link_idea(name) for name in _chain(method)}
    known = {"preset", "base", "source_side", "target_side"}
    known |= {field.name for config in (TransformerConfig, TrainingConfig) for field in fields(config)}
    known |= {name for idea in ideas for name in own_settings(idea)}
    for name, value in settings.items():
        if name not in known and value is not None:
            raise ValueError(f"--{name.replace('_', '-')} is not an option of {method}")
    sides = sides_of(settings)
    if any(idea.ties_pieces for idea in ideas.values()) and not all(side.reads_pieces for side in sides):
        raise ValueError(f"{method} needs encoders that read nothing but pieces of words")
    preset = TRANSLATION_PRESETS[settings.get("preset") or "small"]
    idea = link_idea(method, _given(own_settings(method), settings))
    network, training = (
        _given({field.name: field.name for field in fields(config)}, settings)
        for config in (TransformerConfig, TrainingConfig)
    )
    preset = Preset(idea.network(replace(preset.network, **network)), replace(preset.training, **training))
    return Chosen(idea, preset, sides, Path(settings["base"]) if settings.get("base") else None)


def sides_of(settings: Mapping[str, Any]) -> Sides:
    """What the encoders of source and target read. Raises ValueError."""
    source, target = (settings.get(name) or {"sequence": {}} for name in ("source_side", "target_side"))
    return source_side(source), source_side(target)


def own_settings(method: str) -> dict[str, str]:
    """The names of a method's own settings, such as shift_att_layer, and of the idea's fields that they are."""
    prefix = method.replace("-", "_")
    return {f"{prefix}_{field.name}": field.name for field in fields(open_link_idea(method))}


def _given(names: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {field: settings[name] for name, field in names.items() if settings.get(name) is not None}


def _chain(method: str) -> list[str]:
    """The method, what it learns from, and so on."""
    guide = open_link_idea(method).guide
    return [method, *_chain(guide)] if guide else [method]
