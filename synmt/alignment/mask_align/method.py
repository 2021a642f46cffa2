"""mask-align as a method of aligning."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import Aligner, FitConfig, Needs
from synmt.alignment.mask_align.idea import MaskAlign
from synmt.streams import WrongUsage


@dataclass(frozen=True)
class MaskAlignMethod(MaskAlign):
    """A Method with the options of the idea."""

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        from synmt.model.source import encoders_of

        try:
            source, target = encoders_of(settings)
        except ValueError as error:
            raise WrongUsage(str(error)) from None
        return source.needs(training=True), target.needs(training=True)

    def fit(self, config: FitConfig) -> Aligner:
        from synmt.alignment.mask_align.fitting import fit

        return fit(MaskAlign(**asdict(self)), config)

    def open(self, folder: Path, device: str) -> Aligner:
        from synmt.alignment.mask_align.aligner import MaskAligner
        from synmt.device import local_device

        return MaskAligner.open(folder, local_device(device))
