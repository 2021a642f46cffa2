"""Scores of a model on the validation data, during training."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from synmt.decoding.config import SearchConfig
from synmt.decoding.translation import Translator
from synmt.device import autocast
from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig
from synmt.metrics.metric import corpus_score
from synmt.model.config import ModelConfig
from synmt.model.corpus import Corpus
from synmt.model.folder import ModelFolder
from synmt.model.translation import TranslationModel
from synmt.training.bitext import Bitext
from synmt.training.config import TrainingConfig
from synmt.trees.arc_tokens import is_arc

# Tokenizations for BLEU, by language. 13a needs spaces between words.
TOKENIZATIONS: dict[str, Any] = {"zh": "zh", **dict.fromkeys(["ja", "ko", "th", "lo", "km", "my"], "char")}


@dataclass(frozen=True)
class ValidationScores:
    """loss: nats per target token, without label smoothing.
    metrics: BLEU or chrF of translations, by name, if `--select` names one.
    measures: other numbers, such as the accuracy of the source ideas' predictions in percent.
    decides: whether the scores tell which model is better; if not, the later one is.
    losses: for a model that writes arcs, nats per other token and nats per arc, by name.
    """

    loss: float
    metrics: dict[str, float]
    measures: dict[str, float]
    decides: bool = True
    losses: dict[str, float] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """Return the score that selects the best model; higher is better."""
        return next(iter(self.metrics.values()), -self.loss)


class Validation:
    def __init__(
        self, bitext: Bitext, corpus: Corpus, folder: ModelFolder[ModelConfig], training: TrainingConfig
    ) -> None:
        self.bitext, self.corpus, self.folder, self.training = bitext, corpus, folder, training

    def __call__(self, model: TranslationModel) -> ValidationScores:
        model.eval()
        loss, losses, accuracies = self._losses(model)
        name = self.training.select
        metrics: dict[str, float] = {} if name == "loss" else {name: self._score(model, name)}
        return ValidationScores(loss, metrics, accuracies, losses=losses)

    @torch.inference_mode()
    def _losses(self, model: TranslationModel) -> tuple[float, dict[str, float], dict[str, float]]:
        device = model.network.embedding.device
        is_one = torch.tensor([is_arc(entry) for entry in self.corpus.vocabulary.target], device=device)
        loss, tokens = 0.0, 0
        loss_of_arcs, arcs = 0.0, 0.0
        right: Counter[str] = Counter()
        predicted: Counter[str] = Counter()
        batches = self.corpus.shuffled_batches(self.training.batch_tokens, seed=0, epoch=0)
        for indices in (part for batch in batches for part in self.corpus.parts(batch)):
            source, target = self.corpus.batch(indices, device)
            with autocast(device, self.training.precision):
                losses = model.loss(source, target)
            loss += float(losses.translation)
            tokens += target.tokens
            if is_one.any():
                these = is_one[target.gold] * (1.0 if target.counts is None else target.counts)
                loss_of_arcs += float(losses.each @ these)
                arcs += float(these.sum())
            for name, accuracy in losses.accuracies.items():
                counts = accuracy()
                right[name] += counts[0]
                predicted[name] += counts[1]
        of_kinds = {"words": (loss - loss_of_arcs) / (tokens - arcs), "arcs": loss_of_arcs / max(1, arcs)}
        accuracies = {name: 100 * right[name] / max(1, total) for name, total in predicted.items()}
        return loss / tokens, of_kinds if is_one.any() else {}, accuracies

    def _score(self, model: TranslationModel, name: str) -> float:
        search, training = SearchConfig(beam=self.training.validation_beam), self.training
        translator = Translator(model, self.folder, search, training.batch_tokens, precision=training.precision)
        sources = (translator.features(pair.source) for pair in self.bitext)
        hypotheses = [translations[0].text for translations in translator.translate(sources)]
        language = self.folder.config.languages[1]
        return score_of_text(name, language, hypotheses, [pair.target.text for pair in self.bitext])


def score_of_text(metric: str, language: str, hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return a score of translations into a language, over characters if its words have no spaces between them."""
    config = MetricConfig(TOKENIZATIONS.get(language, "13a"))
    return corpus_score(METRICS[metric](config), hypotheses, [references]).score
