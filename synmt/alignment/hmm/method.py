"""`hmm` as a method of aligning. Free of numpy, as `--help` is."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import Aligner, FitConfig, Needs
from synmt.alignment.hmm.idea import NAME, Hmm, needs_of
from synmt.alignment.statistical import check_settings
from synmt.options import settings_of


@dataclass(frozen=True)
class HmmMethod(Hmm):
    """A Method with the options of the idea."""

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        own = {f"{NAME}_{each.name}" for each in settings_of(Hmm)}
        check_settings(NAME, {name: value for name, value in settings.items() if name not in own})
        return needs_of(self)

    def fit(self, config: FitConfig) -> Aligner:
        from synmt.alignment.hmm.aligner import fit_folder

        return fit_folder(Hmm(**asdict(self)), config)

    def open(self, folder: Path, device: str) -> Aligner:
        from synmt.alignment.hmm.aligner import open_folder

        return open_folder(folder)
