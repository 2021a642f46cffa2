"""Statistics of a model's links during training, without gold links."""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import TYPE_CHECKING

import torch

from synmt.alignment.corpus import BATCH_TOKENS, Opened, encode, features_of
from synmt.alignment.extraction import Extraction, directions, extract
from synmt.alignment.published.mask_align.config import MaskAlignModelConfig
from synmt.alignment.published.mask_align.model import MaskAlignModel
from synmt.data.records import SentencePair
from synmt.device import autocast
from synmt.model.folder import ModelFolder
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.validation import ValidationScores

if TYPE_CHECKING:
    from synmt.alignment.published.mask_align.aligner import MaskAlign

SAMPLE = 200  # pairs


class LinkValidation:
    """Measures the links of some training pairs. There are no gold links, so this does not choose a model."""

    def __init__(
        self,
        aligner: "Callable[[Opened[MaskAlignModelConfig]], MaskAlign]",
        pairs: Sequence[SentencePair],
        folder: ModelFolder[MaskAlignModelConfig],
        training: TrainingConfig,
    ) -> None:
        """aligner: makes an aligner that reads links from a model in training."""
        self.aligner = aligner
        features = [features_of(pair, folder.config.encoders, folder.bpe) for pair in pairs]
        kept = [max(side.words for side in each) <= training.max_length for each in features]
        self.pairs, self.folder, self.training = list(compress(pairs, kept)), folder, training
        self.corpus = encode(list(compress(features, kept)), folder.vocabularies)

    def shard(self, model: MaskAlignModel, processes: Processes) -> ValidationScores:
        """Return all scores: the pairs are few, so every process reads them all."""
        opened = Opened(self.folder, model.eval(), model.tables[0].device)
        return ValidationScores(self._loss(opened), {}, self._measures(self.aligner(opened)), decides=False)

    def scores(self, shards: Sequence[ValidationScores]) -> ValidationScores:
        return shards[0]

    @torch.inference_mode()
    def _loss(self, opened: Opened[MaskAlignModelConfig]) -> float:
        """Return the cross-entropy of both sides, in nats per subword."""
        loss, tokens = 0.0, 0
        for batch in self.corpus.shuffled_batches(BATCH_TOKENS, seed=0, epoch=0):
            x, y, _ = self.corpus.batch(batch, opened.device)
            with autocast(opened.device, self.training.precision):
                losses = opened.model.loss(x, y, None)
            loss, tokens = loss + float(losses.translation), tokens + losses.tokens
        return loss / max(1, tokens)

    def _measures(self, aligner: "MaskAlign") -> dict[str, float]:
        """Return two statistics: the percentage of best-counterpart links that both directions share (F1 of one against
        the other), and the number of links per word that the model would produce."""
        agreed = directed = links = words = 0
        for pair, found in zip(self.pairs, aligner.links(self.pairs), strict=True):
            forward, backward = directions(found)
            agreed, directed = agreed + 2 * len(forward & backward), directed + len(forward) + len(backward)
            source, target = pair.source.tokens, pair.target.tokens
            links += len(extract(found, source, target, Extraction(aligner.heuristic)).links)
            words += len(source) + len(target)
        return {"agreement": 100 * agreed / max(1, directed), "links": 2 * links / max(1, words)}
