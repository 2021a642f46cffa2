"""Fits neural-hmm to a bitext."""

from dataclasses import dataclass, field

from synmt.alignment.aligner import FitConfig
from synmt.alignment.corpus import AlignerCorpus, Vocabularies, encoded, vocabularies_of
from synmt.alignment.neural_hmm.aligner import NeuralHmmAligner, in_lower_case
from synmt.alignment.neural_hmm.config import NeuralHmmConfig, epochs_for, fitting_config
from synmt.alignment.neural_hmm.idea import NeuralHmm
from synmt.alignment.neural_hmm.model import NeuralHmmModel
from synmt.alignment.neural_hmm.start import start
from synmt.model.files import check_new
from synmt.model.folder import ModelFolder
from synmt.streams import Notes
from synmt.text.bpe import Bpe
from synmt.training.bitext import Bitext
from synmt.training.config import TrainingConfig
from synmt.training.distribution import joined_processes
from synmt.training.fit import fit as fit_model


@dataclass
class HmmData:
    """What neural-hmm learns from. A TrainingData."""

    bitext: Bitext
    notes: Notes
    corpus: AlignerCorpus | None = field(init=False, default=None)

    def vocabularies(self, config: NeuralHmmConfig, bpe: Bpe) -> Vocabularies:
        return vocabularies_of(self.bitext, config, bpe)

    def examples(self, folder: ModelFolder[NeuralHmmConfig], training: TrainingConfig) -> AlignerCorpus:
        self.corpus = encoded(self.bitext, None, folder, training.max_length, self.notes)
        return self.corpus

    def validation(self, folder: ModelFolder[NeuralHmmConfig], training: TrainingConfig) -> None:
        return None

    def started(self, folder: ModelFolder[NeuralHmmConfig]) -> NeuralHmmModel:
        """Return a model that knows what the examples count."""
        model: NeuralHmmModel = folder.new_model()
        if self.corpus:
            start(model, self.corpus)
        return model


def fit(options: NeuralHmm, config: FitConfig) -> NeuralHmmAligner:
    """Fit a model. Raises BadInput, and WrongUsage for settings that no model can have."""
    network, training = fitting_config({"epochs": epochs_for(len(config.bitext)), **config.settings})
    own = config.languages, config.tokenizer, network.width, network.dropout
    model = NeuralHmmConfig(options, *own, config.words)
    check_new(config.out, config.resume)
    with joined_processes(config.device) as processes:
        data = HmmData(Bitext(map(in_lower_case, config.bitext)), config.notes)
        learner, say = data.started, config.notes.say
        fit_model(config.out, model, data, training, processes, learner=learner, announce=lambda *_: say())
        return NeuralHmmAligner.open(config.out, processes.device)
