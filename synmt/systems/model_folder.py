"""A model folder: everything that translation needs, as data that is safe to load from a stranger.

config.json, vocab.target.txt, vocab.source.txt, codes.bpe, model.safetensors. Nothing in it is code or pickle.
"""

import math
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import orjson
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from synmt.nn.config import TransformerConfig
from synmt.streams import BadInput
from synmt.systems.records import Tokenizer, TokenizerName, open_tokenizer
from synmt.systems.source import SourceSide, source_side
from synmt.systems.target import TargetSide, target_side
from synmt.systems.translation import TranslationModel
from synmt.text.bpe import Bpe
from synmt.text.vocabulary import VOCABULARY_FILES, Vocabulary
from synmt.weights import load_weights

CONFIG_FILE, CODES_FILE, WEIGHTS_FILE = "config.json", "codes.bpe", "model.safetensors"
FORMAT = 1
LARGEST_TEXT = 2**28  # bytes; more than any training makes of a config, vocabulary or codes


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
        check_text(self.tokenizer, (self.source_language, self.target_language))

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
        """Writes all but the weights, the config last: where it is, all is. Raises BadInput."""
        save_vocabulary(self.path, self.vocabulary)
        write_aside(self.path / CODES_FILE, self.bpe.codes.encode())
        config = self.config
        model = {**asdict(config), "side": config.side.settings(), "target": config.target.settings()}
        fields = {"format": FORMAT, "model": model, "training": self.training}
        write_aside(self.path / CONFIG_FILE, orjson.dumps(fields, option=orjson.OPT_INDENT_2) + b"\n")

    @classmethod
    def open(cls, path: Path) -> "ModelFolder":
        """Raises BadInput, naming the file, for a folder that is missing, incomplete or inconsistent."""
        fields = read_config(path)
        with naming(path / CONFIG_FILE):
            config = _model_config(dict(fields["model"]))
            training = dict(fields["training"])
        for name in (CODES_FILE, *VOCABULARY_FILES):
            check_inside(path, path / name, LARGEST_TEXT)
        with naming(path / CODES_FILE):
            bpe = Bpe.load(str(path / CODES_FILE))
        with naming(path / "vocab.*.txt"):
            vocabulary = Vocabulary.load(path)
        return cls(path, config, bpe, vocabulary, training)

    def new_model(self) -> TranslationModel:
        return TranslationModel(self.config.network, self.config.side, self.config.target, self.vocabulary)

    def load_model(self, device: torch.device) -> TranslationModel:
        """The trained model, ready to translate. Raises BadInput if the weights do not fit the config."""
        check_inside(self.path, self.weights)
        with naming(self.weights):
            model = load_weights(self.new_model, self.weights)
        return model.to(device).eval()


def check_text(tokenizer: str, languages: Iterable[str]) -> None:
    """Raises ValueError for a tokenizer that is not known, and for what is no code of a language."""
    if tokenizer not in get_args(TokenizerName):
        raise ValueError(f"unknown tokenizer {tokenizer!r}")
    for language in languages:
        if not re.fullmatch("[a-z]{2,3}", language):
            raise ValueError(f"language {language!r} is not a code such as en")


def _model_config(fields: dict[str, Any]) -> ModelConfig:
    network, side = TransformerConfig(**fields.pop("network")), source_side(dict(fields.pop("side")))
    target = target_side(**fields.pop("target", {"ideas": {"sequence": {}}}))
    return ModelConfig(side, target, **fields, network=network)


def save_vocabulary(folder: Path, vocabulary: Vocabulary) -> None:
    """Makes the folder, too. Raises BadInput."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in vocabulary.files().items():
        write_aside(folder / name, text.encode())


def read_config(folder: Path) -> dict[str, Any]:
    """The fields of the config in a model folder of any kind. Raises BadInput."""
    path = folder / CONFIG_FILE
    check_inside(folder, path, LARGEST_TEXT)
    with naming(path):
        fields: dict[str, Any] = orjson.loads(path.read_bytes())
        if fields["format"] != FORMAT:
            raise ValueError(f"format {fields['format']} is not known, only {FORMAT}")
        return fields


def check_inside(folder: Path, path: Path, largest: float = math.inf) -> None:
    """Raises BadInput for a file of the folder that is missing, no file, larger than so many bytes, or a link that
    leads out of the folder: a folder from a stranger is to reach nothing else."""
    with naming(path):
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
            raise ValueError("leads out of the folder")
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a file")
        if status.st_size > largest:
            raise ValueError(f"{status.st_size} bytes, where at most {largest} are expected")


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
    """Raises BadInput, as `_written_aside` does."""
    with _written_aside(path) as aside:
        save_file({name: t.detach().cpu().contiguous() for name, t in tensors.items()}, aside, metadata=metadata)


def write_aside(path: Path, data: bytes) -> None:
    """Raises BadInput, as `_written_aside` does."""
    with _written_aside(path) as aside:
        aside.write_bytes(data)


@contextmanager
def _written_aside(path: Path) -> Iterator[Path]:
    """Where to write what then takes the place of `path`: synced and renamed, so that a file is the old or the new.

    Raises BadInput, naming `path`, where that cannot be written; the old file then stays, and the new one goes.
    """
    aside = path.with_name(path.name + ".new")
    try:
        with naming(path):
            aside.unlink(missing_ok=True)  # a link would be followed
            yield aside
            _sync(aside)
            aside.replace(path)
            _sync(path.parent)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def remove_unfinished(folder: Path) -> None:
    """Takes out what a process that was killed has left half written; `.tmp` is how safetensors begins."""
    for pattern in ("*.new", ".tmp*"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
