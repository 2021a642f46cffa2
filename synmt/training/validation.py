"""Scores of a model under training on the validation data."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

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
        self,
        bitext: Bitext,
        corpus: Corpus,
        folder: ModelFolder[ModelConfig],
        select: Literal["bleu", "loss"],
        beam: int,
        batch_tokens: int,
    ) -> None:
        self.bitext, self.corpus, self.folder = bitext, corpus, folder
        self.select, self.search, self.batch_tokens = select, SearchConfig(beam=beam), batch_tokens

    def __call__(self, model: TranslationModel) -> ValidationScores:
        model.eval()
        loss, accuracies = self._loss(model)
        return ValidationScores(loss, self._bleu(model) if self.select == "bleu" else None, accuracies)

    @torch.inference_mode()
    def _loss(self, model: TranslationModel) -> tuple[float, dict[str, float]]:
        device = model.network.embedding.device
        loss, tokens = 0.0, 0
        right: Counter[str] = Counter()
        predicted: Counter[str] = Counter()
        batches = self.corpus.shuffled_batches(self.batch_tokens, seed=0, epoch=0)
        for indices in (part for batch in batches for part in self.corpus.parts(batch)):
            source, target = self.corpus.batch(indices, device)
            with autocast(device):
                losses = model.loss(source, target)
            loss += float(losses.translation)
            tokens += target.tokens
            for name, accuracy in losses.accuracies.items():
                counts = accuracy()
                right[name] += counts[0]
                predicted[name] += counts[1]
        return loss / tokens, {name: 100 * right[name] / max(1, total) for name, total in predicted.items()}

    def _bleu(self, model: TranslationModel) -> float:
        translator = Translator(model, self.folder, self.search, self.batch_tokens)
        sources = (translator.features(pair.source) for pair in self.bitext)
        hypotheses = [translations[0].text for translations in translator.translate(sources)]
        return corpus_score(bleu(), hypotheses, [[pair.target.text for pair in self.bitext]]).score
