"""Scores of a model under training on the validation data."""

from collections import Counter
from dataclasses import dataclass

import torch

from synmt.decoding.config import SearchConfig
from synmt.decoding.translation import Translator
from synmt.device import autocast
from synmt.metrics.metric import corpus_score
from synmt.metrics.sacre import bleu
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.translation import TranslationModel
from synmt.training.bitext import Bitext
from synmt.training.config import TrainingConfig
from synmt.training.corpus import Corpus


@dataclass(frozen=True)
class ValidationScores:
    """loss: nats a target token, without smoothing; bleu: detokenized, of decoded text, or None if not asked;
    accuracies: in percent, of what the source side's ideas predict."""

    loss: float
    bleu: float | None
    accuracies: dict[str, float]

    @property
    def value(self) -> float:
        """Return what a better model has more of."""
        return -self.loss if self.bleu is None else self.bleu


class Validation:
    def __init__(
        self, bitext: Bitext, corpus: Corpus, folder: ModelFolder[ModelConfig], training: TrainingConfig
    ) -> None:
        self.bitext, self.corpus, self.folder, self.training = bitext, corpus, folder, training

    def __call__(self, model: TranslationModel) -> ValidationScores:
        model.eval()
        loss, accuracies = self._loss(model)
        return ValidationScores(loss, self._bleu(model) if self.training.select == "bleu" else None, accuracies)

    @torch.inference_mode()
    def _loss(self, model: TranslationModel) -> tuple[float, dict[str, float]]:
        device = model.network.embedding.device
        loss, tokens = 0.0, 0
        right: Counter[str] = Counter()
        predicted: Counter[str] = Counter()
        batches = self.corpus.shuffled_batches(self.training.batch_tokens, seed=0, epoch=0)
        for indices in (part for batch in batches for part in self.corpus.parts(batch)):
            source, target = self.corpus.batch(indices, device)
            with autocast(device, self.training.precision):
                losses = model.loss(source, target)
            loss += float(losses.translation)
            tokens += target.tokens
            for name, accuracy in losses.accuracies.items():
                counts = accuracy()
                right[name] += counts[0]
                predicted[name] += counts[1]
        return loss / tokens, {name: 100 * right[name] / max(1, total) for name, total in predicted.items()}

    def _bleu(self, model: TranslationModel) -> float:
        search, training = SearchConfig(beam=self.training.validation_beam), self.training
        translator = Translator(model, self.folder, search, training.batch_tokens, precision=training.precision)
        sources = (translator.features(pair.source) for pair in self.bitext)
        hypotheses = [translations[0].text for translations in translator.translate(sources)]
        return corpus_score(bleu(), hypotheses, [[pair.target.text for pair in self.bitext]]).score
