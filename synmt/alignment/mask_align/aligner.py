"""A mask-align model at work."""

from collections.abc import Sequence
from pathlib import Path

import torch

from synmt.alignment.aligner import KnownWords, Needs
from synmt.alignment.config import Heuristic, LinksBy
from synmt.alignment.corpus import AlignerCorpus, encode, features_of
from synmt.alignment.extraction import HARMONIC_THRESHOLD, SoftLinks
from synmt.alignment.mask_align.config import MaskAlignConfig
from synmt.alignment.mask_align.model import MaskAlignModel
from synmt.device import autocast
from synmt.model.batches import in_batches
from synmt.model.folder import ModelFolder
from synmt.model.records import SentencePair
from synmt.streams import BadInput
from synmt.text.tokenization import TokenizerName

GUIDED_THRESHOLD = 0.4  # weights of whole words are larger than those of subwords; tuned on 40 pairs linked by hand
BATCH_TOKENS = 4096  # sentences × longest side of a batch


class MaskAligner:
    def __init__(
        self, folder: ModelFolder[MaskAlignConfig], device: torch.device, model: MaskAlignModel | None = None
    ) -> None:
        """model: under training, in place of the folder's. Raise BadInput if the parameters do not fit."""
        self.folder, self.device = folder, device
        self.model = model or folder.load_model(device)
        config = folder.config
        self.heuristic: Heuristic = "grow-diag-lilt" if config.options.no_agreement else "harmonic"
        self.threshold = GUIDED_THRESHOLD if config.guided else HARMONIC_THRESHOLD
        self.needs: Needs = config.encoders[0].needs(training=False), config.encoders[1].needs(training=False)
        self.links_by: LinksBy = "attention"
        self.languages: tuple[str, str] | None = config.languages
        self.tokenizer: TokenizerName | None = config.tokenizer
        self.words: KnownWords = config.words

    @classmethod
    def open(cls, folder: Path, device: torch.device) -> "MaskAligner":
        return cls(ModelFolder.open(folder, MaskAlignConfig), device)

    @torch.no_grad()
    def align(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return the weights of each pair, in order. Raises BadInput for a record that lacks what its side needs, and
        for posteriors of a model that has learnt links, whose attention has seen the word."""
        if self.links_by == "posterior" and self.folder.config.guided:
            raise BadInput("--links-by posterior is of models that have learnt no links from others")
        corpus = self._encode(pairs)
        return in_batches(corpus.lengths().tolist(), BATCH_TOKENS, lambda batch: self._align_batch(corpus, batch))

    def _align_batch(self, corpus: AlignerCorpus, batch: list[int]) -> list[SoftLinks]:
        x, y, _ = corpus.batch(batch, self.device)
        with autocast(self.device):
            read = self.model.posteriors if self.links_by == "posterior" else self.model.weights
            forward, backward = read(x, y)
        of_targets, of_sources = forward.transpose(1, 2).float().cpu().numpy(), backward.float().cpu().numpy()
        links = []
        for row, number in enumerate(batch):
            words = corpus.source.words[number], corpus.target.words[number]
            cells = row, slice(len(words[0])), slice(len(words[1]))
            links.append(SoftLinks(of_targets[cells], of_sources[cells], *words, self.threshold))
        return links

    @torch.inference_mode()
    def predicted(self, pairs: Sequence[SentencePair]) -> list[list[bool]]:
        """Return what Predictor says (Chen, Sun & Liu 2021, section 4.4)."""
        corpus = self._encode(pairs)

        def predict(batch: list[int]) -> list[list[bool]]:
            x, y, _ = corpus.batch(batch, self.device)
            with autocast(self.device):
                right = self.model.predicted(x, y).cpu().numpy()
            predictions = []
            for row, number in enumerate(batch):
                words = corpus.target.words[number]
                of_words = [False] * len(pairs[number].target.tokens)
                for subword in right[row, : len(words)].nonzero()[0]:
                    of_words[words[subword]] = True
                predictions.append(of_words)
            return predictions

        return in_batches(corpus.lengths().tolist(), BATCH_TOKENS, predict)

    def _encode(self, pairs: Sequence[SentencePair]) -> AlignerCorpus:
        features = [features_of(pair, self.folder.config, self.folder.bpe) for pair in pairs]
        return encode(features, self.folder.vocabularies)
