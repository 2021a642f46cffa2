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

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from synmt.alignment.aligner import NO_NEEDS, FitBitext, FittedText, Fitting, Needs, Settings, copy_saved, options_of
from synmt.alignment.config import OF_WEIGHTS, Heuristic
from synmt.components import PLAIN
from synmt.data.records import SentencePair
from synmt.model.files import check_new
from synmt.model.source import SourceSide, source_side
from synmt.nn.config import TransformerConfig
from synmt.options import Checked, Preset, rate, setting
from synmt.streams import WrongUsage
from synmt.text.vocabulary import Vocabulary
from synmt.training.config import TrainingConfig, training_options
from synmt.training.presets import configs
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.alignment.corpus import Opened
    from synmt.alignment.extraction import SoftLinks
    from synmt.alignment.neural_hmm.model import NeuralHmmModel
    from synmt.alignment.neural_hmm.saved import SavedModel

BATCH_TOKENS = 8192  # number of sentences × longest side, in aligning
ON_GPU = 8  # factor for BATCH_TOKENS
SMALL = Preset(dict(
    width=128, dropout=0.1, merges=4000, batch_tokens=2048, max_length=256, word_dropout=0.0,
    learning_rate=1e-2, schedule="cosine", warmup=50, adam_beta2=0.98, clip=0.0,
))  # fmt: skip
READ, MOST_EPOCHS = 15_000, 12  # pairs to read in total, over several epochs if the bitext has fewer
PRESETS = {"small": Preset({**SMALL.settings, "epochs": f"1 to {MOST_EPOCHS}: fewer for more pairs"})}  # in words
USED = OF_WEIGHTS | {"device", "width", "dropout", "resume"} | training_options(
    "label-smoothing", "word-dropout", "tree-dropout", "subword-dropout", "patience", "select", "validate-every",
    "validation-beam", "prefixes", "prefix-tokens",
)  # fmt: skip


@dataclass(frozen=True)
class NeuralHmm(Checked):
    cites: ClassVar[tuple[str, ...]] = ("wang2017hybrid", "wang2018neural", "liang2006alignment")
    agreement: int = setting(1, "steps towards the same links in both directions", 0, most=100)
    null: float = rate(0.04, "p₀, the share of subwords without a counterpart", least=1e-9)
    jump: int = setting(10, "longest jump with its own probability", 1, 1000)
    pairs: int = setting(50_000, "maximum pairs to learn from, spread over the bitext; 0: all")
    text: FittedText | None = None
    opened: "Opened[NeuralHmmConfig] | None" = field(default=None, repr=False, compare=False)
    saved: "SavedModel | None" = field(default=None, repr=False, compare=False)  # for compiled code
    totals: "Sequence[Tensor]" = field(default=(), repr=False, compare=False)  # normalizers, without compiled code
    heuristic: ClassVar[Heuristic] = "mean"
    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    several: ClassVar[bool] = True

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
        from synmt.data.bitext import Bitext
        from synmt.training.distribution import joined_processes
        from synmt.training.fit import Recipe, fit

        learned = Bitext(map(in_lower_case, bitext.pairs.spread(self.pairs)))
        if len(learned) < len(bitext.pairs):
            how.notes.add(f"neural-hmm learns from some of the pairs ({len(learned)} of {len(bitext.pairs)})")
        network, training = fitting_config({"epochs": epochs_for(len(learned)), **how.settings})
        config = NeuralHmmConfig(replace(self, text=None), bitext.text, network.width, network.dropout)
        check_new(how.out, how.resume)
        with joined_processes(how.device) as processes:
            data = LearningBitext(learned, how.notes)

            def started(folder: Any) -> NeuralHmmModel:
                model: NeuralHmmModel = folder.new_model()
                if data.corpus:
                    start(model, data.corpus)
                return model

            fit(how.out, config, data, Recipe(training), processes, started, lambda *_: how.notes.say())
            return self.open(how.out, str(processes.device))

    def save(self, folder: Path) -> None:
        assert self.opened
        copy_saved(self.opened.folder.path, folder)

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        from synmt.alignment.corpus import Opened
        from synmt.alignment.neural_hmm.saved import SavedModel

        opened = Opened.open(folder, NeuralHmmConfig, device)
        saved, config = SavedModel.of(opened), opened.folder.config
        totals = () if saved else opened.model.totals()
        return cls(**options_of(config.options), text=config.text, opened=opened, saved=saved, totals=totals)

    def align(self, pairs: Sequence[SentencePair]) -> "list[SoftLinks]":
        """Return γ of both directions, between subwords."""
        assert self.opened
        if self.saved:
            return self.saved.align(pairs)
        read = partial(self.opened.model.posteriors, totals=self.totals)
        tokens = BATCH_TOKENS * (1 if self.opened.device.type == "cpu" else ON_GPU)
        return self.opened.links([in_lower_case(pair) for pair in pairs], read, batch_tokens=tokens)


def in_lower_case(pair: SentencePair) -> SentencePair:
    """Return the lowercased words of a pair, without its other fields."""
    source, target = (ParseRecord(tokens=[word.lower() for word in each.tokens]) for each in (pair.source, pair.target))
    return SentencePair(source, target, pair.lines)


@dataclass(frozen=True)
class NeuralHmmConfig:
    """The config in the folder: the options, the text that the model was fitted to, and sizes. A FolderConfig."""

    options: NeuralHmm
    text: FittedText
    width: int
    dropout: float
    aligner: ClassVar[str] = "neural-hmm"
    vocabulary_folders: ClassVar[tuple[str, ...]] = ("source", "target")

    def __post_init__(self) -> None:
        """Raise ValueError for fields that no model can have."""
        TransformerConfig(width=self.width, heads=1, dropout=self.dropout)

    @property
    def encoders(self) -> tuple[SourceSide, SourceSide]:
        """Return the encoders of both sides, which read only subwords."""
        plain = source_side({PLAIN: {}})
        return plain, plain

    def fields(self) -> dict[str, Any]:
        sizes = {"width": self.width, "dropout": self.dropout}
        return {"options": options_of(self.options), **asdict(self.text), **sizes}

    @classmethod
    def read(cls, fields: dict[str, Any]) -> Self:
        return cls(NeuralHmm(**fields["options"]), FittedText.read(fields), fields["width"], fields["dropout"])

    def new_model(self, vocabularies: Sequence[Vocabulary]) -> "NeuralHmmModel":
        """Raise ValueError for vocabularies with other tokens than subwords."""
        from synmt.alignment.neural_hmm.model import NeuralHmmModel

        source, target = vocabularies
        if source.source or target.source:
            raise ValueError("a vocabulary has tokens that cannot be predicted")
        return NeuralHmmModel(self.options, self.width, self.dropout, (source, target))


def fitting_config(settings: Mapping[str, Any]) -> tuple[TransformerConfig, TrainingConfig]:
    """Return the configs of the network and of training. Raises WrongUsage for settings out of bounds."""
    try:
        return configs({**SMALL.settings, "heads": 1, **settings})
    except ValueError as error:
        raise WrongUsage(str(error)) from None


def epochs_for(pairs: int) -> int:
    """Return the default number of epochs for this number of pairs: measured, as in docs/results/alignment.md."""
    return min(max(round(READ / max(pairs, 1)), 1), MOST_EPOCHS)
