"""`embeddings` as a method of aligning. Free of numpy and torch, as `--help` is."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import Aligner, FitConfig, Needs
from synmt.alignment.embeddings.idea import NAME, Embeddings
from synmt.alignment.statistical import NO_NEEDS, check_settings
from synmt.options import settings_of


@dataclass(frozen=True)
class EmbeddingsMethod(Embeddings):
    """A Method with the options of the idea."""

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        own = {f"{NAME}_{each.name}" for each in settings_of(Embeddings)}
        check_settings(NAME, {name: value for name, value in settings.items() if name not in own})
        return NO_NEEDS

    def fit(self, config: FitConfig) -> Aligner:
        from synmt.alignment.embeddings.aligner import fit_folder

        return fit_folder(Embeddings(**asdict(self)), config)

    def open(self, folder: Path, device: str) -> Aligner:
        from synmt.alignment.embeddings.aligner import open_folder

        return open_folder(folder, device)
