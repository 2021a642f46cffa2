"""A model folder: everything that translation needs, as data that is safe to load from a stranger.

config.json, vocab.target.txt, vocab.source.txt, codes.bpe, model.safetensors. Nothing in it is code or pickle.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import orjson
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from synmt.nn.config import TransformerConfig
from synmt.streams import BadInput
from synmt.systems.records import Tokenizer, TokenizerName, open_tokenizer
from synmt.systems.source import SourceSide, source_side
from synmt.systems.target import TargetSide, target_side
from synmt.systems.translation import TranslationModel
from synmt.text.bpe import Bpe
from synmt.text.vocabulary import Vocabulary

CONFIG_FILE, CODES_FILE, WEIGHTS_FILE = "config.json", "codes.bpe", "model.safetensors"
FORMAT = 1


@dataclass(frozen=True)
class ModelConfig:
    """What a model is: its source and target side, languages and tokenizer of raw text, and all sizes."""

    side: SourceSide
    target: TargetSide
    source_language: str
    target_language: str
    tokenizer: TokenizerName
    network: TransformerConfig

    def __post_init__(self) -> None:
        """Raises ValueError for names that are not known, and for ideas that do not fit the network."""
        self.side.check_network(self.network)
        if self.tokenizer not in get_args(TokenizerName):
            raise ValueError(f"unknown tokenizer {self.tokenizer!r}")
        for language in (self.source_language, self.target_language):
            if not re.fullmatch("[a-z]{2,3}", language):
                raise ValueError(f"language {language!r} is not a code such as en")

    def open_tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Of the source and the target language."""
        source, target = self.source_language, self.target_language
        return open_tokenizer(self.tokenizer, source), open_tokenizer(self.tokenizer, target)


@dataclass(frozen=True)
class ModelFolder:
    """path; config; the pieces of words; their ids; and `training`, a record of how the model was made."""

    path: Path
    config: ModelConfig
    bpe: Bpe
    vocabulary: Vocabulary
    training: dict[str, Any]

    @property
    def weights(self) -> Path:
        return self.path / WEIGHTS_FILE

    def save(self) -> None:
        """Writes all but the weights."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.vocabulary.save(self.path)
        write_aside(self.path / CODES_FILE, self.bpe.codes.encode())
        config = self.config
        model = {**asdict(config), "side": config.side.settings(), "target": config.target.settings()}
        fields = {"format": FORMAT, "model": model, "training": self.training}
        write_aside(self.path / CONFIG_FILE, orjson.dumps(fields, option=orjson.OPT_INDENT_2) + b"\n")

    @classmethod
    def open(cls, path: Path) -> "ModelFolder":
        """Raises BadInput, naming the file, for a folder that is missing, incomplete or inconsistent."""
        with naming(path / CONFIG_FILE):
            fields = orjson.loads((path / CONFIG_FILE).read_bytes())
            if fields["format"] != FORMAT:
                raise ValueError(f"format {fields['format']} is not known, only {FORMAT}")
            config = _model_config(dict(fields["model"]))
            training = dict(fields["training"])
        with naming(path / CODES_FILE):
            bpe = Bpe.load(str(path / CODES_FILE))
        with naming(path / "vocab.*.txt"):
            vocabulary = Vocabulary.load(path)
        return cls(path, config, bpe, vocabulary, training)

    def new_model(self) -> TranslationModel:
        return TranslationModel(self.config.network, self.config.side, self.config.target, self.vocabulary)

    def load_model(self, device: torch.device) -> TranslationModel:
        """The trained model, ready to translate. Raises BadInput if the weights do not fit the config."""
        with torch.device("meta"):
            model = self.new_model()
        with naming(self.weights):
            check_shapes(model.state_dict(), weights := load_file(self.weights))
        model = self.new_model()
        model.load_state_dict(weights)
        return model.to(device).eval()


def check_shapes(expected: dict[str, Tensor], found: dict[str, Tensor]) -> None:
    """Raises ValueError at the first tensor that is missing, unknown, or of another shape."""
    for name in expected.keys() | found.keys():
        if name not in found or name not in expected:
            raise ValueError(f"tensor {name} is {'missing' if name in expected else 'not of this model'}")
        if expected[name].shape != found[name].shape:
            raise ValueError(f"tensor {name} is {list(found[name].shape)}, not {list(expected[name].shape)}")


def _model_config(fields: dict[str, Any]) -> ModelConfig:
    network, side = TransformerConfig(**fields.pop("network")), source_side(dict(fields.pop("side")))
    target = target_side(**fields.pop("target", {"ideas": {"sequence": {}}}))
    return ModelConfig(side, target, **fields, network=network)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turns whatever goes wrong with a file of the folder into one BadInput that names it."""
    try:
        yield
    except KeyError as error:
        raise BadInput(f"no field {error}", str(path)) from None
    except OSError as error:
        raise BadInput(error.strerror or str(error), str(error.filename or path)) from None
    except (ValueError, TypeError, SafetensorError) as error:
        raise BadInput(str(error), str(path)) from None


def save_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Written aside, synced and renamed, so that a file is either the old one or the new one."""
    aside = path.with_name(path.name + ".new")
    save_file({name: t.detach().cpu().contiguous() for name, t in tensors.items()}, aside, metadata=metadata)
    _sync_and_rename(aside, path)


def write_aside(path: Path, data: bytes) -> None:
    aside = path.with_name(path.name + ".new")
    aside.write_bytes(data)
    _sync_and_rename(aside, path)


def _sync_and_rename(aside: Path, path: Path) -> None:
    with aside.open("rb") as stream:
        os.fsync(stream.fileno())
    aside.replace(path)
