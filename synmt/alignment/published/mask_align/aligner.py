"""`mask-align`: aligns words by predicting each word from all others and from the translation.

Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL. Two Transformers, one per direction,
are trained together. The decoder's queries start from positions alone. Its keys and values are the word embeddings in
every layer, and no position sees its own word (static-KV attention, section 2.1). The prediction of y_i therefore never
depends on y_i, and one pass predicts all words. Only the last layer attends to the source, with an additional key and
value for words without a counterpart (leaky attention). W_xy [I,J] is the mean of that attention's weights over heads,
and

    L = L_xy + L_yx + α ‖W_xy − W_yxᵀ‖² + β (H(W̃_xy) + H(W̃_yx)),   W̃ = (W + λ) / Σ_j (W + λ)

The square is averaged over cells, and H is the mean entropy of a row (`loss_form` paper). The paper's code, with which
α and β were tuned, halves L_xy + L_yx and averages the entropy over cells instead of rows (`loss_form` code).

Ablations (Table 2): `causal` decoders, `no_leak`, `no_agreement` (neither α nor β; links go from each word to its best
counterpart and are symmetrized), and `--cross-attention all`.

Our own addition is `diagonal` κ: it lowers the logits of attention to the source by κ_h |(i+½)/I − (j+½)/J|, where each
head learns κ_h ≥ 0, starting from κ. Until a word is learned, it is linked as in fast_align (Dyer, Chahuneau & Smith
2013), and the words around it are learned sooner.

If there are links to learn from (a guide), as in the guided systems of Table 1, we add γ times the cross-entropy of W
with the links of each linked word, in both directions (our own form of the loss). The attention that predicts y_i has
to guess where y_i comes from, and models of few pairs guess badly. A guided model therefore takes W from a second pass,
as in Garg et al. (2019), which predicts nothing and in which every word sees itself. It attends to whole words: W_ij is
the total weight of the subwords of x_j's word.

Differences from the paper's code: we also train on and align sides of one word, which in that code sees itself. No
softmax includes padding; label smoothing is the same as in all other systems.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self

import torch

from synmt.alignment.aligner import FitBitext, FittedAligner, FittedText, Fitting, Needs, copy_saved
from synmt.alignment.config import Heuristic, LinksBy
from synmt.alignment.corpus import BATCH_TOKENS, LearningBitext, Opened
from synmt.alignment.extraction import HARMONIC_THRESHOLD, SoftLinks
from synmt.alignment.published.mask_align.config import MaskAlignConfig, MaskAlignModelConfig, fitting_config
from synmt.alignment.published.mask_align.validation import SAMPLE, LinkValidation
from synmt.data.batches import in_batches
from synmt.data.records import SentencePair
from synmt.device import autocast
from synmt.model.files import check_new
from synmt.streams import BadInput, Message, WrongUsage
from synmt.training.distribution import joined_processes
from synmt.training.fit import Recipe, fit

GUIDED_THRESHOLD = 0.4  # higher than for subwords, because whole words weigh more; tuned on 40 hand-aligned pairs


@dataclass(frozen=True)
class MaskAlign(FittedAligner):
    """opened: its model; links_by: read the attention as it is, or its posterior given the target word."""

    config: MaskAlignConfig
    text: FittedText
    opened: Opened[MaskAlignModelConfig]
    links_by: LinksBy = "attention"

    @classmethod
    def fit(cls, config: MaskAlignConfig, bitext: FitBitext, how: Fitting) -> Self:
        encoders, network, training = fitting_config(how.settings)
        guided = bitext.guide is not None
        try:
            of_model = MaskAlignModelConfig(config, guided, encoders, bitext.text, network)
        except ValueError as error:
            raise WrongUsage(str(error)) from None
        check_new(how.out, how.resume)
        with joined_processes(how.device) as processes:
            sample = islice(bitext.pairs, 0, None, -(-len(bitext.pairs) // SAMPLE))
            score = partial(LinkValidation, cls.reading, list(sample))
            data = LearningBitext(bitext.pairs, how.notes, bitext.guide, score)
            fit(how.out, of_model, data, Recipe(training), processes, announce=lambda *_: how.notes.say())
            return cls.load(type(config), how.out, str(processes.device))

    def save(self, folder: Path) -> None:
        copy_saved(self.opened.folder.path, folder)

    @classmethod
    def load(cls, method: type[MaskAlignConfig], folder: Path, device: str) -> Self:
        return cls.reading(Opened.open(folder, MaskAlignModelConfig, device))

    @classmethod
    def reading(cls, opened: Opened[MaskAlignModelConfig]) -> Self:
        """Return an aligner that reads links from this model."""
        return cls(opened.folder.config.options, opened.folder.config.text, opened)

    @property
    def heuristic(self) -> Heuristic:
        return "grow-diag-lilt" if self.config.no_agreement else "harmonic"

    def needs(self) -> Needs:
        source, target = self.opened.folder.config.encoders
        return source.needs(training=False), target.needs(training=False)

    def links(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return the weights of each pair in order. Raises BadInput for a record that lacks something its side needs,
        and for posteriors of a model trained on links, whose attention has seen the word."""
        guided, model = self.opened.folder.config.guided, self.opened.model
        if self.links_by == "posterior" and guided:
            raise BadInput(Message("--links-by posterior does not work with a model trained on links (--guide)"))
        read = model.posteriors if self.links_by == "posterior" else model.weights
        threshold = GUIDED_THRESHOLD if guided else HARMONIC_THRESHOLD
        with torch.no_grad():
            return self.opened.links(pairs, read, threshold)

    def predicted(self, pairs: Sequence[SentencePair]) -> list[list[bool]]:
        """Implement Predictor (Chen, Sun & Liu 2021, section 4.4)."""
        opened, corpus = self.opened, self.opened.encode(pairs)

        def predict(batch: list[int]) -> list[list[bool]]:
            x, y, _ = corpus.batch(batch, opened.device)
            with autocast(opened.device):
                right = opened.model.predicted(x, y).cpu().numpy()
            predictions = []
            for row, number in enumerate(batch):
                words = corpus.target.words[number]
                of_words = [False] * len(pairs[number].target.tokens)
                for subword in right[row, : len(words)].nonzero()[0]:
                    of_words[words[subword]] = True
                predictions.append(of_words)
            return predictions

        with torch.inference_mode():
            return in_batches(corpus.lengths().tolist(), BATCH_TOKENS, predict)
