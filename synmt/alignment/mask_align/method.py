"""mask-align as a method of aligning."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from synmt.alignment.aligner import Aligner, FitConfig, Needs
from synmt.alignment.mask_align.config import USED, fitting_config
from synmt.alignment.mask_align.idea import MaskAlign
from synmt.alignment.mask_align.presets import PRESETS
from synmt.options import Preset


@dataclass(frozen=True)
class MaskAlignMethod(MaskAlign):
    """A Method with the options of the idea."""

    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    several: ClassVar[bool] = True

    @classmethod
    def uses(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        return USED - {"links-by"} if settings.get("guide") else USED

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        (source, target), _, _ = fitting_config(settings)
        return source.needs(training=True), target.needs(training=True)

    def fit(self, config: FitConfig) -> Aligner:
        from synmt.alignment.mask_align.fitting import fit

        return fit(MaskAlign(**asdict(self)), config)

    def open(self, folder: Path, device: str) -> Aligner:
        from synmt.alignment.mask_align.aligner import MaskAligner
        from synmt.device import local_device

        return MaskAligner.open(folder, local_device(device))
