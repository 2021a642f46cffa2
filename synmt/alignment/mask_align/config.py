"""What a mask-align model is, in its folder."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.alignment.mask_align.idea import MaskAlign
from synmt.model.config import check_text
from synmt.model.source import SourceSide, source_side
from synmt.model.words import read_words
from synmt.nn.config import TransformerConfig
from synmt.text.tokenization import TokenizerName, Words
from synmt.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from synmt.alignment.mask_align.model import MaskAlignModel


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
