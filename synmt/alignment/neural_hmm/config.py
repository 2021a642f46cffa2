"""What a neural-hmm model is, in its folder, and what it learns with where nothing else is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.alignment.config import OF_WEIGHTS
from synmt.alignment.neural_hmm.idea import NAME, NeuralHmm
from synmt.model.config import check_text
from synmt.model.source import SourceSide, source_side
from synmt.model.words import read_words
from synmt.nn.config import TransformerConfig
from synmt.options import Preset
from synmt.streams import WrongUsage
from synmt.systems import PLAIN
from synmt.text.tokenization import TokenizerName, Words
from synmt.text.vocabulary import Vocabulary
from synmt.training.config import TrainingConfig, training_options
from synmt.training.presets import configs, resolve

if TYPE_CHECKING:
    from synmt.alignment.neural_hmm.model import NeuralHmmModel

SMALL = Preset(dict(
    width=128, dropout=0.1, merges=4000, batch_tokens=1024, max_length=256, word_dropout=0.0,
    learning_rate=1e-2, schedule="cosine", warmup=100, adam_beta2=0.98, clip=0.0,
))  # fmt: skip
READ, MOST_EPOCHS = 30_000, 12  # pairs that are read in all, again and again if there are fewer
PRESETS = {"small": Preset({**SMALL.settings, "epochs": f"1 to {MOST_EPOCHS}: fewer for more pairs"})}  # in words
USED = OF_WEIGHTS | {"width", "dropout", "resume"} | training_options(
    "label-smoothing", "word-dropout", "tree-dropout", "subword-dropout", "patience", "select", "validate-every",
    "validation-beam", "prefixes", "prefix-tokens",
)  # fmt: skip


@dataclass(frozen=True)
class NeuralHmmConfig:
    """options; languages and tokenizer of raw text; sizes; and the words of both sides as in training.

    A FolderConfig.
    """

    options: NeuralHmm
    languages: tuple[str, str]
    tokenizer: TokenizerName
    width: int
    dropout: float
    words: tuple[Words | None, Words | None] = field(default=(None, None), compare=False)  # follow from the data
    aligner: ClassVar[str] = NAME
    vocabulary_folders: ClassVar[tuple[str, ...]] = ("source", "target")

    def __post_init__(self) -> None:
        """Raise ValueError for what no model can have."""
        TransformerConfig(width=self.width, heads=1, dropout=self.dropout)
        check_text(self.tokenizer, self.languages)

    @property
    def encoders(self) -> tuple[SourceSide, SourceSide]:
        """Return what is read of both sides: subwords and nothing else."""
        plain = source_side({PLAIN: {}})
        return plain, plain

    def fields(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, fields: dict[str, Any]) -> "NeuralHmmConfig":
        of_source, of_target = fields["languages"]
        source, target = map(read_words, fields.get("words", (None, None)))
        own = fields["tokenizer"], fields["width"], fields["dropout"]
        return cls(NeuralHmm(**fields["options"]), (of_source, of_target), *own, (source, target))

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
