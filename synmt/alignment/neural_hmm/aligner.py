"""A neural-hmm model at work."""

from collections.abc import Sequence
from pathlib import Path

import torch

from synmt.alignment.aligner import KnownWords, Needs
from synmt.alignment.config import Heuristic
from synmt.alignment.corpus import AlignerCorpus, encode, features_of
from synmt.alignment.extraction import SoftLinks
from synmt.alignment.neural_hmm.config import NeuralHmmConfig
from synmt.alignment.neural_hmm.model import NeuralHmmModel
from synmt.alignment.statistical import NO_NEEDS
from synmt.device import autocast
from synmt.model.batches import in_batches
from synmt.model.folder import ModelFolder
from synmt.model.records import SentencePair
from synmt.text.tokenization import TokenizerName
from synmt.trees.record import ParseRecord

BATCH_TOKENS = 2048  # sentences × longest side of a batch; the jumps of more do not stay in a core's cache
ON_GPU = 32  # times as many


def in_lower_case(pair: SentencePair) -> SentencePair:
    """Return the words of a pair as they are compared, and nothing else of it."""
    source, target = (ParseRecord(tokens=[word.lower() for word in each.tokens]) for each in (pair.source, pair.target))
    return SentencePair(source, target, pair.lines)


class NeuralHmmAligner:
    def __init__(self, folder: ModelFolder[NeuralHmmConfig], device: torch.device) -> None:
        """Raise BadInput if the parameters do not fit."""
        self.folder, self.device = folder, device
        self.model: NeuralHmmModel = folder.load_model(device)
        self._totals = self.model.unknown_totals()
        self.heuristic: Heuristic = "mean"
        self.needs: Needs = NO_NEEDS
        self.languages: tuple[str, str] | None = folder.config.languages
        self.tokenizer: TokenizerName | None = folder.config.tokenizer
        self.words: KnownWords = folder.config.words

    @classmethod
    def open(cls, folder: Path, device: torch.device) -> "NeuralHmmAligner":
        return cls(ModelFolder.open(folder, NeuralHmmConfig), device)

    def align(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return γ of both directions, of subwords."""
        features = [features_of(in_lower_case(pair), self.folder.config, self.folder.bpe) for pair in pairs]
        corpus = encode(features, self.folder.vocabularies)
        tokens = BATCH_TOKENS * (1 if self.device.type == "cpu" else ON_GPU)
        return in_batches(corpus.lengths().tolist(), tokens, lambda batch: self._align_batch(corpus, batch))

    def _align_batch(self, corpus: AlignerCorpus, batch: list[int]) -> list[SoftLinks]:
        x, y, _ = corpus.batch(batch, self.device)
        with autocast(self.device):
            forward, backward = self.model.posteriors(x, y, self._totals)
        of_targets, of_sources = forward.transpose(1, 2).cpu().numpy(), backward.cpu().numpy()
        links = []
        for row, number in enumerate(batch):
            words = corpus.source.words[number], corpus.target.words[number]
            cells = row, slice(len(words[0])), slice(len(words[1]))
            links.append(SoftLinks(of_targets[cells], of_sources[cells], *words))
        return links
