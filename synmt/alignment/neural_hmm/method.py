"""neural-hmm as a method of aligning."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from synmt.alignment.aligner import Aligner, FitConfig, Needs
from synmt.alignment.neural_hmm.config import PRESETS, USED, fitting_config
from synmt.alignment.neural_hmm.idea import NeuralHmm
from synmt.alignment.statistical import NO_NEEDS
from synmt.options import Preset


@dataclass(frozen=True)
class NeuralHmmMethod(NeuralHmm):
    """A Method with the options of the idea."""

    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    several: ClassVar[bool] = True

    @classmethod
    def uses(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        return USED

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        fitting_config(settings)
        return NO_NEEDS

    def fit(self, config: FitConfig) -> Aligner:
        from synmt.alignment.neural_hmm.fitting import fit

        return fit(NeuralHmm(**asdict(self)), config)

    def open(self, folder: Path, device: str) -> Aligner:
        from synmt.alignment.neural_hmm.aligner import NeuralHmmAligner
        from synmt.device import local_device

        return NeuralHmmAligner.open(folder, local_device(device))
