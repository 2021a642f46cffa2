"""What can be asked of an aligner on translation models, and the presets of those models."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synmt.alignment.translation.idea import PRESETS, LinkIdea
from synmt.model.source import SourceSide, encoders_of
from synmt.nn.config import TransformerConfig
from synmt.streams import WrongUsage
from synmt.training.config import TrainingConfig
from synmt.training.presets import configs, resolve


@dataclass(frozen=True)
class TranslationFitConfig:
    """Sizes and training of the translation models; what their encoders of source and target read; models: the folder
    of the aligner whose translation models are taken over."""

    network: TransformerConfig
    training: TrainingConfig
    encoders: tuple[SourceSide, SourceSide]
    models: Path | None


def fitting_config(idea: LinkIdea, settings: Mapping[str, Any]) -> TranslationFitConfig:
    """Return what the settings ask for. Raises WrongUsage for what no such models can have."""
    try:
        encoders = encoders_of(settings)
        if ties_subwords(idea) and not all(side.reads_subwords for side in encoders):
            raise ValueError("this method needs encoders that read nothing but subwords")
        network, training = configs(resolve(PRESETS[settings.get("preset") or "small"], [], settings))
        network = idea.network(network)
        for side in encoders:
            side.check_network(network)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    models = Path(settings["models"]) if "models" in settings else None
    if models is None or idea.trains_model:
        layer = idea.fixed_layer(network)
        if layer > network.decoder_layers:
            raise WrongUsage(f"this method reads decoder layer {layer}, which there is not")
        if not all(map(network.crosses, [layer] if layer else range(1, network.decoder_layers + 1))):
            raise WrongUsage(
                "this method reads a decoder layer that does not attend to the source; --cross-attention all"
            )
    return TranslationFitConfig(network, training, encoders, models)


def ties_subwords(idea: LinkIdea) -> bool:
    """Return whether a method, or one that it learns from, needs the same subwords in both directions."""
    from synmt.alignment import ALIGNERS

    guide = ALIGNERS[idea.guide]() if idea.guide else None
    return idea.ties_subwords or (isinstance(guide, LinkIdea) and ties_subwords(guide))
