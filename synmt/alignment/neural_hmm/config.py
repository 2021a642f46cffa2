"""The options of `neural-hmm`, which aligner.py explains, and the config in its folder.

Imports no torch, so that `--help` is fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from synmt.alignment.aligner import NO_NEEDS, FittedText, MethodConfig, Needs, Settings, options_of
from synmt.alignment.config import OF_WEIGHTS
from synmt.components import PLAIN
from synmt.model.source import SourceSide, source_side
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, rate, setting
from synmt.streams import WrongUsage
from synmt.text.vocabulary import Vocabulary
from synmt.training.config import TrainingConfig, training_options
from synmt.training.presets import configs

if TYPE_CHECKING:
    from synmt.alignment.neural_hmm.model import NeuralHmmModel

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
class NeuralHmmConfig(MethodConfig):
    aligner: ClassVar[str] = "synmt.alignment.neural_hmm.aligner:NeuralHmm"
    cites: ClassVar[tuple[str, ...]] = ("wang2017hybrid", "wang2018neural", "liang2006alignment")
    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    several: ClassVar[bool] = True
    agreement: int = setting(1, "steps towards the same links in both directions", 0, most=100)
    null: float = rate(0.04, "p₀, the share of subwords without a counterpart", least=1e-9)
    jump: int = setting(10, "longest jump with its own probability", 1, 1000)
    pairs: int = setting(50_000, "maximum pairs to learn from, spread over the bitext; 0: all")

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return USED

    def needs(self, settings: Settings) -> Needs:
        fitting_config(settings)
        return NO_NEEDS


@dataclass(frozen=True)
class NeuralHmmModelConfig:
    """The config in the folder: the options, the text that the model was fitted to, and sizes. A FolderConfig."""

    options: NeuralHmmConfig
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
        return cls(NeuralHmmConfig(**fields["options"]), FittedText.read(fields), fields["width"], fields["dropout"])

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
