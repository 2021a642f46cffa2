"""The methods of METHODS that read translation models."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import Fit
from synmt.alignment.translation_fitting import fit
from synmt.alignment.translation_models import TranslationAligner
from synmt.alignment.translation_settings import choose
from synmt.streams import BadInput


@dataclass(frozen=True)
class TranslationMethod:
    """A method of METHODS: one of the ideas of LINK_IDEAS."""

    name: str

    def needs(self, settings: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
        """Those of the source sides of both directions. Raises BadInput for settings of another method."""
        try:
            source, target = choose(self.name, settings).sides
        except ValueError as error:
            raise BadInput(str(error)) from None
        return source.needs(training=True), target.needs(training=True)

    def fit(self, what: Fit) -> TranslationAligner:
        return fit(self.name, what)

    def open(self, folder: Path, device: str) -> TranslationAligner:
        return TranslationAligner.open(folder, device, self.name)


naive_att = partial(TranslationMethod, "naive-att")
naive_att_last = partial(TranslationMethod, "naive-att-last")
shift_att = partial(TranslationMethod, "shift-att")
shift_aet = partial(TranslationMethod, "shift-aet")
add_sgd = partial(TranslationMethod, "add-sgd")
mtl_fullc = partial(TranslationMethod, "mtl-fullc")
bao = partial(TranslationMethod, "bao")
bao_guided = partial(TranslationMethod, "bao-guided")
