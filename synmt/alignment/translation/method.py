"""An idea that reads translation models as a method of aligning."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import Aligner, FitConfig, Needs
from synmt.alignment.translation.aligner import TranslationAligner
from synmt.alignment.translation.config import fitting_config
from synmt.alignment.translation.fitting import fit
from synmt.alignment.translation.idea import LinkIdea


@dataclass(frozen=True)
class TranslationMethod:
    """A Method."""

    name: str
    idea: LinkIdea

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        source, target = fitting_config(self.idea, settings).encoders
        return source.needs(training=True), target.needs(training=True)

    def fit(self, config: FitConfig) -> Aligner:
        return fit(self.idea, config)

    def open(self, folder: Path, device: str) -> Aligner:
        return TranslationAligner.open(folder, device, self.name)
