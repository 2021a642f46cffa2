"""Aligners that read word links from translation models, as their methods decide (method.py).

A folder holds config.json, or begun.json while it is unfinished; in `forward` and `backward` the folders of the
translation models; in `forward-part` and `backward-part` the modules trained on top of them; and in `guide` the
aligner that this one learned from, if any.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from synmt.alignment.aligner import (
    FitBitext,
    FittedAligner,
    FittedText,
    Fitting,
    Needs,
    check_fitted,
    copy_saved,
    fingerprint,
    is_begun,
    name_of,
    write_saved,
)
from synmt.alignment.config import Heuristic, LinksBy
from synmt.alignment.extraction import SoftLinks
from synmt.alignment.published.attention import DIRECTIONS
from synmt.alignment.published.attention.fitting import FitModels
from synmt.alignment.published.attention.method import AttentionMethod, attention_method, fitting_config
from synmt.alignment.published.attention.models import Models, layers_of_another
from synmt.data.records import SentencePair
from synmt.model.files import CONFIG_FILE, check_inside, check_new, locked, naming, read_config, write_aside
from synmt.model.fingerprint import check_same
from synmt.streams.decoding import decoded

BEGUN_FILE = "begun.json"


@dataclass(frozen=True)
class AttentionAligner(FittedAligner):
    """links_by: read the attention as it is, or its posterior given the target word."""

    config: AttentionMethod
    text: FittedText
    models: Models
    links_by: LinksBy = "attention"
    heuristic: ClassVar[Heuristic] = "grow-diag-lilt"

    @classmethod
    def fit(cls, config: AttentionMethod, bitext: FitBitext, how: Fitting) -> Self:
        check_new(how.out, how.resume, is_begun(how.out, type(config)))
        asked = fitting_config(config, how.settings)
        of_models = asked.fingerprint()
        with locked(how.out):
            if (how.out / CONFIG_FILE).exists():
                check_fitted(how.out, config, bitext, of_models)
            else:
                made = fingerprint(config, bitext)
                _begin(how, {**made, "--models": of_models["--models"]})
                models = FitModels(config, bitext, how, asked).run()
                layers = [models.forward.layer, models.backward.layer]
                write_saved(how.out, config, models.text, layers=layers, fingerprint={**made, **of_models})
                (how.out / BEGUN_FILE).unlink()
        return cls.load(type(config), how.out, how.device)

    def save(self, folder: Path) -> None:
        copy_saved(self.models.folder, folder)

    @classmethod
    def load(cls, method: type[AttentionMethod], folder: Path, device: str) -> Self:
        """Load the aligner of a folder, or its models for a method that reads them at a layer of its own.

        Raises BadInput, naming the file, for a folder that is missing, incomplete, inconsistent or unsuitable.
        """
        fields = read_config(folder)
        for name in DIRECTIONS:
            check_inside(folder, folder / name / CONFIG_FILE)  # the folder of a model must not be elsewhere
        with naming(folder / CONFIG_FILE):
            made_by, saved = fields["aligner"], fields.get("model", fields)
            layers = [int(layer) for layer in saved["layers"]]
            if len(layers) != len(DIRECTIONS):
                raise ValueError(f"expected a layer for each of {len(DIRECTIONS)} directions, found {len(layers)}")
            config = attention_method(made_by, dict(saved["options"]))
        if not isinstance(config, method):
            config = method()
            layers = layers_of_another(folder, name_of(method), config, made_by)
        models = Models.open(folder, config, layers, device)
        return cls(config, models.text, models)

    def needs(self) -> Needs:
        source, target = (each.folder.config.source for each in self.models)
        return source.needs(training=False), target.needs(training=False)

    def links(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return the weights of each pair in order. Raises BadInput."""
        return self.models.links(self.config, pairs, self.links_by)


def _begin(how: Fitting, made: Mapping[str, object]) -> None:
    """Record what an unfinished fit depends on besides the options of training, which may change. Raises BadInput if a
    fit to resume depended on something else."""
    file = how.out / BEGUN_FILE
    if how.resume and file.exists():
        with naming(file):
            before = dict(decoded(file.read_bytes()))
        check_same(how.out, before, made, "was begun")
    write_aside(file, msgspec.json.encode(made))
