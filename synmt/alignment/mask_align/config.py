"""What a mask-align model is, in its folder."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.alignment.config import ALL_OF_LINKS
from synmt.alignment.mask_align.idea import MaskAlign
from synmt.alignment.mask_align.presets import PRESETS
from synmt.model.config import check_text
from synmt.model.source import ENCODERS, SourceSide, encoders_of, source_side
from synmt.model.words import read_words
from synmt.nn.config import TransformerConfig
from synmt.options import option_names
from synmt.streams import WrongUsage
from synmt.text.tokenization import TokenizerName, Words
from synmt.text.vocabulary import Vocabulary
from synmt.training.config import TrainingConfig, training_options
from synmt.training.presets import configs, resolve

if TYPE_CHECKING:
    from synmt.alignment.mask_align.model import MaskAlignModel

# No link is known to be right, so no validation decides.
USED = ALL_OF_LINKS | {*option_names(TransformerConfig), "guide", "resume", "preset", *ENCODERS} | training_options(
    "patience", "select", "validation-beam", "prefixes", "prefix-tokens", "tree-dropout", "subword-dropout"
)  - {"positions"}  # fmt: skip


@dataclass(frozen=True)
class MaskAlignConfig:
    """options; guided: whether it has learnt links from others; encoders: what those of source and target read;
    languages and tokenizer of raw text; all sizes; and the words of both sides as in training. A FolderConfig."""

    options: MaskAlign
    guided: bool
    encoders: tuple[SourceSide, SourceSide]
    languages: tuple[str, str]
    tokenizer: TokenizerName
    network: TransformerConfig
    words: tuple[Words | None, Words | None] = field(default=(None, None), compare=False)  # follow from the data
    aligner: ClassVar[str] = "mask-align"
    vocabulary_folders: ClassVar[tuple[str, ...]] = ("source", "target")

    def __post_init__(self) -> None:
        """Raise ValueError for names that are not known, and for what does not go together."""
        if type(self.guided) is not bool:
            raise ValueError(f"guided cannot be {self.guided!r}")
        if self.guided and self.options.causal:
            raise ValueError("a causal decoder learns no links from others")
        for side in self.encoders:
            side.check_network(self.network)
        check_text(self.tokenizer, self.languages)

    def fields(self) -> dict[str, Any]:
        return {**asdict(self), "encoders": [side.settings() for side in self.encoders]}

    @classmethod
    def read(cls, fields: dict[str, Any]) -> "MaskAlignConfig":
        source, target = (source_side(side) for side in fields["encoders"])
        of_source, of_target = fields["languages"]
        source_words, target_words = map(read_words, fields.get("words", (None, None)))
        return cls(
            MaskAlign(**fields["options"]),
            fields["guided"],
            (source, target),
            (of_source, of_target),
            fields["tokenizer"],
            TransformerConfig(**fields["network"]),
            (source_words, target_words),
        )

    def new_model(self, vocabularies: Sequence[Vocabulary]) -> "MaskAlignModel":
        from synmt.alignment.mask_align.model import MaskAlignModel

        source, target = vocabularies
        return MaskAlignModel(self.network, self.options, self.guided, self.encoders, (source, target))


def fitting_config(
    settings: Mapping[str, Any],
) -> tuple[tuple[SourceSide, SourceSide], TransformerConfig, TrainingConfig]:
    """Return the encoders, the network and the training of these settings. Raises WrongUsage for those that no model
    can have."""
    try:
        encoders = encoders_of(settings)
        network, training = configs(resolve(PRESETS[settings.get("preset") or "small"], [], settings))
        for side in encoders:
            side.check_network(network)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    return encoders, network, training
