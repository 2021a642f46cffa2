"""Scores of a model under training on the validation data."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import torch

from synmt.decoding.beam import SearchConfig
from synmt.decoding.translation import Translator
from synmt.device import autocast
from synmt.metrics.metric import corpus_score
from synmt.metrics.sacre import bleu
from synmt.systems.model_folder import ModelFolder
from synmt.systems.translation import TranslationModel
from synmt.training.bitext import Bitext
from synmt.training.corpus import Corpus


@dataclass(frozen=True)
class Scores:
    """loss: nats a target token, without smoothing; bleu: detokenized, of decoded text, or None if not asked;
    accuracies: in percent, of what the source side's ideas predict."""

    loss: float
    bleu: float | None
    accuracies: dict[str, float]

    @property
    def value(self) -> float:
        """What a better model has more of."""
        return -self.loss if self.bleu is None else self.bleu


class Validation:
    def __init__(
        self,
        bitext: Bitext,
        corpus: Corpus,
        folder: ModelFolder,
        select: Literal["bleu", "loss"],
        beam: int,
        batch_tokens: int,
    ) -> None:
        self.bitext, self.corpus, self.folder = bitext, corpus, folder
        self.select, self.search, self.batch_tokens = select, SearchConfig(beam=beam), batch_tokens

    def __call__(self, model: TranslationModel) -> Scores:
        model.eval()
        loss, accuracies = self._loss(model)
        return Scores(loss, self._bleu(model) if self.select == "bleu" else None, accuracies)

    @torch.inference_mode()
    def _loss(self, model: TranslationModel) -> tuple[float, dict[str, float]]:
        device = model.network.embedding.device
        loss, tokens = 0.0, 0
        right: Counter[str] = Counter()
        predicted: Counter[str] = Counter()
        batches = self.corpus.shuffled_batches(self.batch_tokens, seed=0, epoch=0)
        for indices in (part for batch in batches for part in self.corpus.parts(batch)):
            source, target = self.corpus.batch(indices, self.folder.vocabulary, device)
            with autocast(device):
                found = model.loss(source, target)
            loss += float(found.translation)
            tokens += target.tokens
            for name, accuracy in found.accuracies.items():
                counts = accuracy()
                right[name] += counts[0]
                predicted[name] += counts[1]
        return loss / tokens, {name: 100 * right[name] / max(1, total) for name, total in predicted.items()}

    def _bleu(self, model: TranslationModel) -> float:
        folder = self.folder
        translator = Translator(model, folder.config, folder.bpe, folder.vocabulary, self.search, self.batch_tokens)
        sources = (translator.features(pair.source) for pair in self.bitext)
        hypotheses = [found[0].text for found in translator.translate(sources)]
        return corpus_score(bleu(), hypotheses, [[pair.target.text for pair in self.bitext]]).score
