"""`hmms` as a method of aligning."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from synmt.alignment.aligner import Aligner, FitConfig, Needs
from synmt.alignment.hmms.idea import HMM, NEURAL, methods, split


@dataclass(frozen=True)
class HmmsMethod:
    """A Method; its options are those of its parts."""

    parts: ClassVar[tuple[str, ...]] = (HMM, NEURAL)

    @classmethod
    def uses(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        return frozenset()

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        (hmm, neural), (own, others) = methods(settings), split(settings)
        of_hmm, of_neural = hmm.needs(own), neural.needs(others)
        return of_hmm[0] | of_neural[0], of_hmm[1] | of_neural[1]

    def fit(self, config: FitConfig) -> Aligner:
        from synmt.alignment.hmms.aligner import fit_folder

        return fit_folder(config)

    def open(self, folder: Path, device: str) -> Aligner:
        from synmt.alignment.hmms.aligner import open_folder

        return open_folder(folder, device)
