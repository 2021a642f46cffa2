"""Scores of a model under training on the validation data."""

from dataclasses import dataclass
from typing import Literal

import torch

from synmt.decoding.beam import SearchConfig
from synmt.decoding.translation import Translator
from synmt.metrics.metric import corpus_score
from synmt.metrics.sacre import bleu
from synmt.nn.device import autocast
from synmt.systems.model_folder import ModelFolder
from synmt.systems.translation import TranslationModel
from synmt.training.corpus import Corpus
from synmt.training.preparation import Bitext


@dataclass(frozen=True)
class Scores:
    """loss: nats a target token, without smoothing; bleu: detokenized, of decoded text, or None if not asked."""

    loss: float
    bleu: float | None

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
        return Scores(self._loss(model), self._bleu(model) if self.select == "bleu" else None)

    @torch.inference_mode()
    def _loss(self, model: TranslationModel) -> float:
        device = model.network.embedding.device
        loss, tokens = 0.0, 0
        for indices in self.corpus.shuffled_batches(self.batch_tokens, seed=0, epoch=0):
            source, target = self.corpus.batch(indices, self.folder.vocabulary, device)
            with autocast(device):
                loss += float(model.loss(source, target))
            tokens += len(target.gold)
        return loss / tokens

    def _bleu(self, model: TranslationModel) -> float:
        folder = self.folder
        translator = Translator(model, folder.config, folder.bpe, folder.vocabulary, self.search, self.batch_tokens)
        hypotheses = [
            found[0].text for found in translator.translate(map(translator.features, self.bitext.sources))
        ]
        return corpus_score(bleu(), hypotheses, [self.bitext.references]).score
