"""`neural-hmm`: a hidden Markov model whose probabilities come from embeddings of subwords, not from tables of counts.

Wang, Alkhouli, Zhu & Ney (2017), "Hybrid Neural Network Alignment and Lexicon Model in Direct HMM for Statistical
Machine Translation", ACL, and Wang, Zhu, Alkhouli, Gan & Ney (2018), "Neural Hidden Markov Model for Machine
Translation", ACL; the chain follows Vogel, Ney & Tillmann (1996) and Och & Ney (2003):

    p(y, a | x) = Π_i  (1 − p₀) p(a_i | a_{i−1}) p(y_i | x_{a_i})   or   p₀ p(y_i | none), after which a_i = a_{i−1}

The model is small (our own choice). Each subword of either side has one vector, which both directions share:

    p(v | u) = softmax_v(f_v · e_u + b_v),   p(u | v) = softmax_u(e_u · f_v + b′_u),   p(v | none) = softmax_v(n_v)
    p(j | j′) = softmax_j(s_d + w_d · e_u),   u = x_j′, d = j − j′, where all d beyond `jump` count as one

Each direction has its own s, w, b and n. The first word is likelier to come from near the start: p(j) ∝ exp(−κ j/J).

Both directions learn from the links that both support, as in Liang, Taskar & Klein (2006), "Alignment by Agreement",
NAACL. Forward–backward computes γ_ij = p(a_i = j | x, y) in one direction and γ′_ji in the other, with `agreement`
steps (chains.py). The update treats γ, γ′ and the ξ of jumps as constants and minimizes

    L = −Σ_ij γ_ij γ′_ji (log p(y_i | x_j) + log p(x_j | y_i)) − Σ_i γ_i0 log p(y_i | none) − Σ_jj′ ξ_jj′ log p(j | j′)

with the last two sums over both directions. Without steps of agreement, and with γ and γ′ in place of their product,
L has the same gradient as −log p(y | x) − log p(x | y).

Training starts from counts (`start` in model.py): e and f are factors of a matrix of associations between subwords,
that is, how much more often than by chance two subwords occur in the same pair. Started from random vectors, the same
model is far worse after twice as many updates (docs/lab-notes/alignment.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from synmt.alignment.aligner import FitBitext, FittedAligner, FittedText, Fitting, copy_saved
from synmt.alignment.config import Heuristic
from synmt.alignment.corpus import LearningBitext, Opened
from synmt.alignment.extraction import SoftLinks
from synmt.alignment.neural_hmm.config import NeuralHmmConfig, NeuralHmmModelConfig, epochs_for, fitting_config
from synmt.alignment.neural_hmm.model import NeuralHmmModel, start
from synmt.alignment.neural_hmm.readers import CompiledReader, TorchReader, in_lower_case
from synmt.data.bitext import Bitext
from synmt.data.records import SentencePair
from synmt.model.files import check_new
from synmt.training.distribution import joined_processes
from synmt.training.fit import Recipe, fit


@dataclass(frozen=True)
class NeuralHmm(FittedAligner):
    """folder: of its model; reader: computes the links of pairs."""

    config: NeuralHmmConfig
    text: FittedText
    folder: Path
    reader: CompiledReader | TorchReader
    heuristic: ClassVar[Heuristic] = "mean"

    @classmethod
    def fit(cls, config: NeuralHmmConfig, bitext: FitBitext, how: Fitting) -> Self:
        learned = Bitext(map(in_lower_case, bitext.pairs.spread(config.pairs)))
        if len(learned) < len(bitext.pairs):
            how.notes.add(f"neural-hmm learns from some of the pairs ({len(learned)} of {len(bitext.pairs)})")
        network, training = fitting_config({"epochs": epochs_for(len(learned)), **how.settings})
        of_model = NeuralHmmModelConfig(config, bitext.text, network.width, network.dropout)
        check_new(how.out, how.resume)
        with joined_processes(how.device) as processes:
            data = LearningBitext(learned, how.notes)

            def started(folder: Any) -> NeuralHmmModel:
                model: NeuralHmmModel = folder.new_model()
                if data.corpus:
                    start(model, data.corpus)
                return model

            fit(how.out, of_model, data, Recipe(training), processes, started, lambda *_: how.notes.say())
            return cls.load(type(config), how.out, str(processes.device))

    def save(self, folder: Path) -> None:
        copy_saved(self.folder, folder)

    @classmethod
    def load(cls, method: type[NeuralHmmConfig], folder: Path, device: str) -> Self:
        opened = Opened.open(folder, NeuralHmmModelConfig, device)
        config = opened.folder.config
        return cls(config.options, config.text, folder, CompiledReader.of(opened) or TorchReader.of(opened))

    def links(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return γ of both directions, between subwords."""
        return self.reader.links(pairs)
