"""`embeddings` as a method of aligning. Free of numpy and torch, as `--help` is."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import Aligner, FitConfig, Needs
from synmt.alignment.config import OF_LINKS
from synmt.alignment.embeddings.idea import Embeddings
from synmt.alignment.statistical import NO_NEEDS


@dataclass(frozen=True)
class EmbeddingsMethod(Embeddings):
    """A Method with the options of the idea."""

    @classmethod
    def uses(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        return OF_LINKS

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        return NO_NEEDS

    def fit(self, config: FitConfig) -> Aligner:
        from synmt.alignment.embeddings.aligner import fit_folder

        return fit_folder(Embeddings(**asdict(self)), config)

    def open(self, folder: Path, device: str) -> Aligner:
        from synmt.alignment.embeddings.aligner import open_folder

        return open_folder(folder, device)
