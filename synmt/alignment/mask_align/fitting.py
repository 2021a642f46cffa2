"""Fits mask-align to a bitext."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import islice

from synmt.alignment.aligner import FitConfig
from synmt.alignment.corpus import AlignerCorpus, Vocabularies, encoded, vocabularies_of
from synmt.alignment.mask_align.aligner import MaskAligner
from synmt.alignment.mask_align.config import MaskAlignConfig, fitting_config
from synmt.alignment.mask_align.idea import MaskAlign
from synmt.alignment.mask_align.validation import SAMPLE, LinkValidation
from synmt.model.files import check_new
from synmt.model.folder import ModelFolder
from synmt.streams import Notes, WrongUsage
from synmt.text.bpe import Bpe
from synmt.text.links import Link
from synmt.training.bitext import Bitext
from synmt.training.config import TrainingConfig
from synmt.training.distribution import joined_processes
from synmt.training.fit import fit as fit_model


@dataclass(frozen=True)
class AlignmentData:
    """What mask-align learns from; guide: the links of each pair, if it learns these. A TrainingData."""

    bitext: Bitext
    guide: Sequence[Set[Link]] | None
    notes: Notes

    def vocabularies(self, config: MaskAlignConfig, bpe: Bpe) -> Vocabularies:
        return vocabularies_of(self.bitext, config, bpe)

    def examples(self, folder: ModelFolder[MaskAlignConfig], training: TrainingConfig) -> AlignerCorpus:
        return encoded(self.bitext, self.guide, folder, training.max_length, self.notes)

    def validation(self, folder: ModelFolder[MaskAlignConfig], training: TrainingConfig) -> LinkValidation:
        every = -(-len(self.bitext) // SAMPLE)
        return LinkValidation(list(islice(self.bitext, 0, None, every)), folder, training)


def fit(options: MaskAlign, config: FitConfig) -> MaskAligner:
    """Fit a model. Raises BadInput, and WrongUsage for settings that no model can have."""
    encoders, network, training = fitting_config(config.settings)
    guided = config.guide is not None
    try:
        model = MaskAlignConfig(options, guided, encoders, config.languages, config.tokenizer, network, config.words)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    check_new(config.out, config.resume)
    with joined_processes(config.device) as processes:
        data = AlignmentData(config.bitext, config.guide, config.notes)
        fit_model(config.out, model, data, training, processes, announce=lambda *_: config.notes.say())
        return MaskAligner.open(config.out, processes.device)
