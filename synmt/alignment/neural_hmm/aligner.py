"""`neural-hmm`: a hidden Markov model whose probabilities come from embeddings of subwords, not from tables of counts.

Wang, Alkhouli, Zhu & Ney (2017), "Hybrid Neural Network Alignment and Lexicon Model in Direct HMM for Statistical
Machine Translation", ACL, and Wang, Zhu, Alkhouli, Gan & Ney (2018), "Neural Hidden Markov Model for Machine
Translation", ACL; the chain is that of Vogel, Ney & Tillmann (1996) and Och & Ney (2003):

    p(y, a | x) = Π_i  (1 − p₀) p(a_i | a_{i−1}) p(y_i | x_{a_i})   or   p₀ p(y_i | none), after which a_i = a_{i−1}

Of our own is how little it takes. Each subword of either side has one vector, which both directions share:

    p(v | u) = softmax_v(f_v · e_u + b_v),   p(u | v) = softmax_u(e_u · f_v + b′_u),   p(v | none) = softmax_v(n_v)
    p(j | j′) = softmax_j(s_d + w_d · e_u),   u = x_j′, d = j − j′, all d beyond `jump` being one

with s, w, b and n of each direction. The first word comes from a place near the beginning: p(j) ∝ exp(−κ j/J).

Both directions learn from the links that both believe in, as in Liang, Taskar & Klein (2006), "Alignment by
Agreement", NAACL. Forward–backward gives γ_ij = p(a_i = j | x, y) of the one and γ′_ji of the other, with `agreement`
steps (chains.py); then γ, γ′ and the ξ of jumps stay as they are for this update, and

    L = −Σ_ij γ_ij γ′_ji (log p(y_i | x_j) + log p(x_j | y_i)) − Σ_i γ_i0 log p(y_i | none) − Σ_jj′ ξ_jj′ log p(j | j′)

with the last two sums of either direction. Without steps of agreement, and with γ and γ′ in place of their product, its
gradient is that of −log p(y | x) − log p(x | y).

Learning starts from counts (`start` in model.py): e and f are the factors of how much more often than by chance two
subwords meet in a pair. From random vectors, the same model is far worse after twice the updates (docs/results.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from synmt.alignment.aligner import NO_NEEDS, FitBitext, FittedText, Fitting, Needs, Settings, copy_saved, options_of
from synmt.alignment.config import OF_WEIGHTS, Heuristic
from synmt.model.files import check_new
from synmt.model.records import SentencePair
from synmt.model.source import SourceSide, source_side
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, check_settings, rate, setting
from synmt.streams import WrongUsage
from synmt.systems import PLAIN
from synmt.text.vocabulary import Vocabulary
from synmt.training.config import TrainingConfig, training_options
from synmt.training.presets import configs, resolve
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.alignment.corpus import Opened
    from synmt.alignment.extraction import SoftLinks
    from synmt.alignment.neural_hmm.model import NeuralHmmModel

BATCH_TOKENS = 8192  # sentences × longest side of a batch that is aligned
ON_GPU = 8  # times as many
SMALL = Preset(dict(
    width=128, dropout=0.1, merges=4000, batch_tokens=2048, max_length=256, word_dropout=0.0,
    learning_rate=1e-2, schedule="cosine", warmup=50, adam_beta2=0.98, clip=0.0,
))  # fmt: skip
READ, MOST_EPOCHS = 15_000, 12  # pairs that are read in all, again and again if there are fewer
PRESETS = {"small": Preset({**SMALL.settings, "epochs": f"1 to {MOST_EPOCHS}: fewer for more pairs"})}  # in words
USED = OF_WEIGHTS | {"width", "dropout", "resume"} | training_options(
    "label-smoothing", "word-dropout", "tree-dropout", "subword-dropout", "patience", "select", "validate-every",
    "validation-beam", "prefixes", "prefix-tokens",
)  # fmt: skip


@dataclass(frozen=True)
class NeuralHmm:
    cites: ClassVar[tuple[str, ...]] = ("wang2017hybrid", "wang2018neural", "liang2006alignment")
    agreement: int = setting(1, "steps towards the same links in both directions", 0, most=100)
    null: float = rate(0.04, "p₀, the share of subwords that come from none")
    jump: int = setting(10, "the longest jump with a probability of its own", 1, 1000)
    text: FittedText | None = None
    opened: "Opened[NeuralHmmConfig] | None" = field(default=None, repr=False, compare=False)
    totals: "Sequence[Tensor]" = field(default=(), repr=False, compare=False)  # of the model, as far as they are known
    heuristic: ClassVar[Heuristic] = "mean"
    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    several: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)
        if not self.null:
            raise ValueError("null cannot be 0: some subwords come from none")

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return USED

    def needs(self, settings: Settings | None = None) -> Needs:
        if settings is not None:
            fitting_config(settings)
        return NO_NEEDS

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        from synmt.alignment.corpus import LearningBitext
        from synmt.alignment.neural_hmm.model import NeuralHmmModel, start
        from synmt.training.bitext import Bitext
        from synmt.training.distribution import joined_processes
        from synmt.training.fit import fit

        network, training = fitting_config({"epochs": epochs_for(len(bitext.pairs)), **how.settings})
        config = NeuralHmmConfig(replace(self, text=None), bitext.text, network.width, network.dropout)
        check_new(how.out, how.resume)
        with joined_processes(how.device) as processes:
            data = LearningBitext(Bitext(map(in_lower_case, bitext.pairs)), how.notes)

            def started(folder: Any) -> NeuralHmmModel:
                model: NeuralHmmModel = folder.new_model()
                if data.corpus:
                    start(model, data.corpus)
                return model

            fit(how.out, config, data, training, processes, learner=started, announce=lambda *_: how.notes.say())
            return self.open(how.out, str(processes.device))

    def save(self, folder: Path) -> None:
        assert self.opened
        copy_saved(self.opened.folder.path, folder)

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        from synmt.alignment.corpus import Opened

        opened = Opened.open(folder, NeuralHmmConfig, device)
        config = opened.folder.config
        totals = opened.model.unknown_totals()
        return cls(**options_of(config.options), text=config.text, opened=opened, totals=totals)

    def align(self, pairs: Sequence[SentencePair]) -> "list[SoftLinks]":
        """Return γ of both directions, of subwords."""
        assert self.opened
        read = partial(self.opened.model.posteriors, totals=self.totals)
        tokens = BATCH_TOKENS * (1 if self.opened.device.type == "cpu" else ON_GPU)
        return self.opened.links([in_lower_case(pair) for pair in pairs], read, batch_tokens=tokens)


def in_lower_case(pair: SentencePair) -> SentencePair:
    """Return the words of a pair as they are compared, and nothing else of it."""
    source, target = (ParseRecord(tokens=[word.lower() for word in each.tokens]) for each in (pair.source, pair.target))
    return SentencePair(source, target, pair.lines)


@dataclass(frozen=True)
class NeuralHmmConfig:
    """What a folder holds: the options, the text that the model was fitted to, and sizes. A FolderConfig."""

    options: NeuralHmm
    text: FittedText
    width: int
    dropout: float
    aligner: ClassVar[str] = "neural-hmm"
    vocabulary_folders: ClassVar[tuple[str, ...]] = ("source", "target")

    def __post_init__(self) -> None:
        """Raise ValueError for what no model can have."""
        TransformerConfig(width=self.width, heads=1, dropout=self.dropout)

    @property
    def encoders(self) -> tuple[SourceSide, SourceSide]:
        """Return what is read of both sides: subwords and nothing else."""
        plain = source_side({PLAIN: {}})
        return plain, plain

    def fields(self) -> dict[str, Any]:
        sizes = {"width": self.width, "dropout": self.dropout}
        return {"options": options_of(self.options), **self.text.fields(), **sizes}

    @classmethod
    def read(cls, fields: dict[str, Any]) -> Self:
        return cls(NeuralHmm(**fields["options"]), FittedText.read(fields), fields["width"], fields["dropout"])

    def new_model(self, vocabularies: Sequence[Vocabulary]) -> "NeuralHmmModel":
        """Raise ValueError for vocabularies of more than subwords."""
        from synmt.alignment.neural_hmm.model import NeuralHmmModel

        source, target = vocabularies
        if source.source or target.source:
            raise ValueError("a vocabulary holds what is only read")
        return NeuralHmmModel(self.options, self.width, self.dropout, (source, target))


def fitting_config(settings: Mapping[str, Any]) -> tuple[TransformerConfig, TrainingConfig]:
    """Return the network and the training of these settings. Raises WrongUsage for those out of bounds."""
    try:
        return configs(resolve(SMALL, [], {"heads": 1, **settings}))
    except ValueError as error:
        raise WrongUsage(str(error)) from None


def epochs_for(pairs: int) -> int:
    """Return how often so many pairs are read where nothing else is asked for: measured, as in docs/results.md."""
    return min(max(round(READ / max(pairs, 1)), 1), MOST_EPOCHS)
