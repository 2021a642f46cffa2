"""The folder of a mask-align model: as that of a translation model, with a vocabulary of each side.

config.json, source/vocab.*.txt, target/vocab.*.txt, codes.bpe, model.safetensors.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import torch

from synmt.nn.config import TransformerConfig
from synmt.systems.mask_align import MaskAlign
from synmt.systems.mask_align_model import MaskAlignModel
from synmt.systems.model_folder import (
    CODES_FILE,
    CONFIG_FILE,
    FORMAT,
    LARGEST_TEXT,
    WEIGHTS_FILE,
    check_inside,
    check_text,
    naming,
    read_config,
    save_vocabulary,
    write_aside,
)
from synmt.systems.records import TokenizerName
from synmt.systems.source import SourceSide, source_side
from synmt.text.bpe import Bpe
from synmt.text.vocabulary import VOCABULARY_FILES, Vocabulary
from synmt.weights import load_weights

ALIGNER = "mask-align"
SIDES = ("source", "target")


@dataclass(frozen=True)
class AlignerConfig:
    """What an aligner is: its options, whether it has learnt links from others, what the encoders of source and
    target read, and all sizes."""

    options: MaskAlign
    guided: bool
    sides: tuple[SourceSide, SourceSide]
    languages: tuple[str, str]
    tokenizer: TokenizerName
    network: TransformerConfig

    def __post_init__(self) -> None:
        """Raises ValueError for names that are not known, and for what does not go together."""
        if type(self.guided) is not bool:
            raise ValueError(f"guided cannot be {self.guided!r}")
        if self.guided and self.options.causal:
            raise ValueError("a causal decoder learns no links from others")
        for side in self.sides:
            side.check_network(self.network)
        check_text(self.tokenizer, self.languages)

    def fields(self) -> dict[str, Any]:
        return {**asdict(self), "sides": [side.settings() for side in self.sides]}

    @classmethod
    def read(
        cls,
        options: dict[str, Any],
        guided: bool,
        sides: list[dict[str, Any]],
        languages: list[str],
        tokenizer: TokenizerName,
        network: dict[str, Any],
    ) -> "AlignerConfig":
        """The inverse of `fields`. Raises ValueError or TypeError."""
        source, target = (source_side(side) for side in sides)
        of_source, of_target = languages
        return cls(
            MaskAlign(**options),
            guided,
            (source, target),
            (of_source, of_target),
            tokenizer,
            TransformerConfig(**network),
        )


@dataclass(frozen=True)
class AlignerFolder:
    """path; config; the pieces of words; their ids on either side; and how the model was made."""

    path: Path
    config: AlignerConfig
    bpe: Bpe
    vocabulary: tuple[Vocabulary, Vocabulary]
    training: dict[str, Any]

    @property
    def weights(self) -> Path:
        return self.path / WEIGHTS_FILE

    def save(self) -> None:
        """Writes all but the weights, the config last."""
        for name, vocabulary in zip(SIDES, self.vocabulary, strict=True):
            save_vocabulary(self.path / name, vocabulary)
        write_aside(self.path / CODES_FILE, self.bpe.codes.encode())
        fields = {"format": FORMAT, "aligner": ALIGNER, "model": self.config.fields(), "training": self.training}
        write_aside(self.path / CONFIG_FILE, orjson.dumps(fields, option=orjson.OPT_INDENT_2) + b"\n")

    @classmethod
    def open(cls, path: Path) -> "AlignerFolder":
        """Raises BadInput, naming the file, for a folder that is missing, incomplete or inconsistent."""
        fields = read_config(path)
        with naming(path / CONFIG_FILE):
            if fields["aligner"] != ALIGNER:
                raise ValueError(f"a model of {fields['aligner']}, not of {ALIGNER}")
            config = AlignerConfig.read(**fields["model"])
            training = dict(fields["training"])
        vocabularies = (f"{side}/{name}" for side in SIDES for name in VOCABULARY_FILES)
        for name in (CODES_FILE, *vocabularies):
            check_inside(path, path / name, LARGEST_TEXT)
        with naming(path / CODES_FILE):
            bpe = Bpe.load(str(path / CODES_FILE))
        with naming(path / "*" / "vocab.*.txt"):
            source, target = (Vocabulary.load(path / name) for name in SIDES)
        return cls(path, config, bpe, (source, target), training)

    def new_model(self) -> MaskAlignModel:
        config = self.config
        return MaskAlignModel(config.network, config.options, config.guided, config.sides, self.vocabulary)

    def load_model(self, device: torch.device) -> MaskAlignModel:
        """The trained model, ready to align. Raises BadInput if the weights do not fit the config."""
        check_inside(self.path, self.weights)
        with naming(self.weights):
            model = load_weights(self.new_model, self.weights)
        return model.to(device).eval()
