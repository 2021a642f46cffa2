"""`hmm` as a method of aligning. Free of numpy, as `--help` is."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import Aligner, FitConfig, Needs
from synmt.alignment.config import OF_WEIGHTS
from synmt.alignment.hmm.idea import Hmm, needs_of


@dataclass(frozen=True)
class HmmMethod(Hmm):
    """A Method with the options of the idea."""

    @classmethod
    def uses(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        return OF_WEIGHTS

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        return needs_of(self)

    def fit(self, config: FitConfig) -> Aligner:
        from synmt.alignment.hmm.aligner import fit_folder

        return fit_folder(Hmm(**asdict(self)), config)

    def open(self, folder: Path, device: str) -> Aligner:
        from synmt.alignment.hmm.aligner import open_folder

        return open_folder(folder)
