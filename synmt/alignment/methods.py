"""Methods by name: opened with their options, to be fitted or to open a model folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synmt.alignment import ALIGNERS
from synmt.alignment.aligner import Aligner, FitConfig, Method, Needs
from synmt.alignment.translation.aligner import TranslationAligner
from synmt.alignment.translation.config import fitting_config
from synmt.alignment.translation.fitting import fit
from synmt.alignment.translation.idea import LinkIdea
from synmt.caller import random_numbers_kept
from synmt.model.files import read_config
from synmt.options import chosen
from synmt.streams import BadInput, WrongUsage


@dataclass(frozen=True)
class TranslationMethod:
    """An idea that reads translation models, as a Method."""

    name: str
    idea: LinkIdea

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        source, target = fitting_config(self.idea, settings).encoders
        return source.needs(training=True), target.needs(training=True)

    def fit(self, config: FitConfig) -> Aligner:
        return fit(self.idea, config)

    def open(self, folder: Path, device: str) -> Aligner:
        return TranslationAligner.open(folder, device, self.name)


def open_method(name: str, settings: Mapping[str, Any]) -> Method:
    """Return the method with its own of the settings. Raises WrongUsage for an unknown one."""
    if name not in ALIGNERS:
        raise WrongUsage(f"unknown method {name!r}; known: {', '.join(ALIGNERS)}")
    try:
        made = ALIGNERS[name](**chosen(ALIGNERS[name], settings, f"{name}-"))
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    method: Method = TranslationMethod(name, made) if isinstance(made, LinkIdea) else made
    return method


def open_aligner(folder: Path, name: str | None, device: str) -> Aligner:
    """Open the aligner of a model folder, by the method that made it or another one. Raises BadInput."""
    if name is None:
        name = read_config(folder).get("aligner")
        if not isinstance(name, str) or name not in ALIGNERS:
            raise BadInput("is no aligner; name a --method that reads links off this model", str(folder))
    with random_numbers_kept():
        return open_method(name, {}).open(folder, device)
