"""The config of a translation model: its sides, the languages and tokenizer of raw text, and all sizes."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from synmt.model.source import SourceSide, source_side
from synmt.model.target import TargetSide, target_side
from synmt.nn.config import TransformerConfig
from synmt.options import is_language
from synmt.text.tokenization import UNMARKED, TokenizerName, Words
from synmt.text.vocabulary import Vocabulary
from synmt.trees.dependency import with_marks
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.model.translation import TranslationModel

BatchBy = Literal["tokens", "target-tokens", "subwords", "sentences"]  # what --batch-tokens counts


@dataclass(frozen=True)
class ModelConfig:
    """languages: of source and target; tokenizer: of raw text in training; words: how source words were made in
    training, None in an old folder; marks: whether the model reads and writes words with marks for spacing, as
    `synmt.text.marks`. A FolderConfig."""

    source: SourceSide
    target: TargetSide
    languages: tuple[str, str]
    tokenizer: TokenizerName
    network: TransformerConfig
    words: Words | None = field(default=None, compare=False)  # determined by the data
    marks: bool = False
    aligner: ClassVar[str] = ""
    vocabulary_folders: ClassVar[tuple[str, ...]] = ("",)

    def __post_init__(self) -> None:
        """Raise ValueError for unknown names, and for components that do not fit the network."""
        self.source.check_network(self.network)
        self.target.check_network(self.network)
        labels = [name for name, own in self.target.fields.items() if own.shape == "label"]
        if twice := self.source.fields.keys() & labels:
            raise ValueError(f"encoder and decoder use the same name for fields: {min(twice)}")
        check_text(self.tokenizer, self.languages)
        if not isinstance(self.marks, bool) or (self.marks and self.tokenizer in UNMARKED):
            raise ValueError(f"marks cannot be {self.marks!r:.40} with the tokenizer {self.tokenizer}")

    def learned(self, record: ParseRecord) -> ParseRecord:
        """Return a sentence as the model reads or writes it."""
        return with_marks(record) if self.marks else record

    def fields(self) -> dict[str, Any]:
        sides = {"source": self.source.settings(), "target": self.target.settings()}
        words = self.words and asdict(self.words)
        text = {"languages": self.languages, "tokenizer": self.tokenizer, "words": words, "marks": self.marks}
        return {**sides, **text, "network": asdict(self.network)}

    @classmethod
    def read(cls, fields: dict[str, Any]) -> "ModelConfig":
        source, target = fields["languages"]
        return cls(
            source_side(fields["source"]),
            target_side(**fields["target"]),
            (source, target),
            fields["tokenizer"],
            TransformerConfig(**fields["network"]),
            Words.read(fields.get("words")),
            fields.get("marks", False),
        )

    def new_model(self, vocabularies: Sequence[Vocabulary]) -> "TranslationModel":
        from synmt.model.translation import TranslationModel

        return TranslationModel(self.network, self.source, self.target, vocabularies[0])


def check_text(tokenizer: str, languages: Iterable[str]) -> None:
    """Raise ValueError for an unknown tokenizer or language code."""
    if tokenizer not in get_args(TokenizerName):
        raise ValueError(f"unknown tokenizer {tokenizer!r}")
    for language in languages:
        if not is_language(language):
            raise ValueError(f"language {language!r} is not a code such as en")
