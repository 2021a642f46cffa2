"""What can be asked of an aligner on translation models: its own options, and those of all that it learns from."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from synmt.alignment.presets import TRANSLATION_PRESETS
from synmt.systems.linking import LinkIdea, check_link_options, link_idea, open_link_idea
from synmt.systems.mask_align import MaskAlign
from synmt.systems.options import options_of
from synmt.systems.source import SourceSide, sides_of
from synmt.training.presets import Preset


@dataclass(frozen=True)
class Chosen:
    """idea: with its options; preset: with what was asked for instead; sides: what the encoders of source and
    target read; models: the folder of the aligner whose translation models are taken over."""

    idea: LinkIdea
    preset: Preset
    sides: tuple[SourceSide, SourceSide]
    models: Path | None


def choose(method: str, settings: Mapping[str, Any]) -> Chosen:
    """Raises ValueError for what is out of bounds or no option of this method."""
    ideas = {name: open_link_idea(name) for name in _chain(method)}
    check_link_options(ideas, settings)
    for field in fields(MaskAlign):
        if field.name in settings:
            raise ValueError(f"an option of mask-align for {method}")
    sides = sides_of(settings)
    if any(idea.ties_pieces for idea in ideas.values()) and not all(side.reads_pieces for side in sides):
        raise ValueError(f"{method} needs encoders that read nothing but pieces of words")
    idea = link_idea(method, options_of(method, ideas[method], settings))
    chosen = TRANSLATION_PRESETS[settings.get("preset") or "small"].with_settings(settings)
    chosen = replace(chosen, network=idea.network(chosen.network))
    models = Path(settings["models"]) if "models" in settings else None
    if (models is None or idea.trains_model) and idea.fixed_layer(chosen.network) > chosen.network.decoder_layers:
        raise ValueError(f"{method} reads decoder layer {idea.fixed_layer(chosen.network)}, which there is not")
    return Chosen(idea, chosen, sides, models)


def _chain(method: str) -> list[str]:
    """The method, what it learns from, and so on."""
    guide = open_link_idea(method).guide
    return [method, *_chain(guide)] if guide else [method]
