"""Fits mask-align to a bitext."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import islice

from synmt.alignment.aligner import FitConfig
from synmt.alignment.guidance import links_of_subwords
from synmt.alignment.mask_align.aligner import Features, MaskAligner, encode, features_of
from synmt.alignment.mask_align.config import MaskAlignConfig
from synmt.alignment.mask_align.corpus import AlignerCorpus, build_vocabulary
from synmt.alignment.mask_align.idea import MaskAlign
from synmt.alignment.mask_align.presets import PRESETS
from synmt.alignment.mask_align.validation import SAMPLE, LinkValidation
from synmt.model.batches import Ids
from synmt.model.files import check_new
from synmt.model.folder import ModelFolder
from synmt.model.source import encoders_of
from synmt.streams import Line, Notes, WrongUsage
from synmt.text.bpe import Bpe
from synmt.text.links import Link
from synmt.text.vocabulary import Vocabulary
from synmt.training.bitext import Bitext
from synmt.training.config import TrainingConfig
from synmt.training.distribution import joined_processes
from synmt.training.fit import fit as fit_model
from synmt.training.presets import configs, resolve


@dataclass(frozen=True)
class AlignmentData:
    """What mask-align learns from; guide: the links of each pair, if it learns these. A TrainingData."""

    bitext: Bitext
    guide: Sequence[Set[Link]] | None
    notes: Notes

    def vocabularies(self, config: MaskAlignConfig, bpe: Bpe) -> tuple[Vocabulary, Vocabulary]:
        source, target = (
            build_vocabulary(features_of(pair, config, bpe)[side] for pair in self.bitext) for side in (0, 1)
        )
        return source, target

    def examples(self, folder: ModelFolder[MaskAlignConfig], training: TrainingConfig) -> AlignerCorpus:
        """Return all pairs of at most `max_length` tokens a side; longer ones are counted in the notes."""
        kept: list[Features] = []
        links: list[Ids] = []
        longer: list[Line] = []
        for number, pair in enumerate(self.bitext):
            features = features_of(pair, folder.config, folder.bpe)
            if max(len(side.tokens) for side in features) > training.max_length:
                longer.append(pair.lines[0])
                continue
            kept.append(features)
            if self.guide is not None:
                source, target = ([word for word in side.word_of if word >= 0] for side in features)
                links.append(links_of_subwords(self.guide[number], source, target))
        self.notes.left_out(f"pairs over {training.max_length} tokens", longer)
        corpus = encode(kept, folder)
        corpus.links = links if self.guide is not None else None
        return corpus

    def validation(self, folder: ModelFolder[MaskAlignConfig], training: TrainingConfig) -> LinkValidation:
        every = -(-len(self.bitext) // SAMPLE)
        return LinkValidation(list(islice(self.bitext, 0, None, every)), folder, training)


def fit(options: MaskAlign, config: FitConfig) -> MaskAligner:
    """Fit a model. Raises BadInput, and WrongUsage for settings that no model can have."""
    try:
        network, training = configs(resolve(PRESETS[config.settings.get("preset") or "small"], [], config.settings))
        if training.tree_dropout:
            raise ValueError("--tree-dropout is of translation models")
        encoders, guided = encoders_of(config.settings), config.guide is not None
        model = MaskAlignConfig(options, guided, encoders, config.languages, config.tokenizer, network, config.words)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    check_new(config.out, config.resume)
    with joined_processes(config.device) as processes:
        data = AlignmentData(config.bitext, config.guide, config.notes)
        fit_model(config.out, model, data, training, processes, announce=lambda *_: config.notes.say())
        return MaskAligner.open(config.out, processes.device)
