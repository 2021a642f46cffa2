"""A model folder: everything that a model needs, safe to load from a stranger.

config.json, vocab.target.txt, vocab.source.txt, vocab.labels.txt (in separate folders for a model with two
vocabularies), codes.bpe, model.safetensors. Nothing in it is code or pickle. An exported model has a folder
ctranslate2 instead of model.safetensors, and its record of training names the precision of the export.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from synmt.model.files import (
    LARGEST_TEXT,
    PARAMETERS_FILE,
    check_inside,
    naming,
    read_config,
    write_aside,
    write_config,
)
from synmt.model.fingerprint import checksum
from synmt.streams import BadInput
from synmt.text.bpe import Bpe
from synmt.text.vocabulary import VOCABULARY_FILES, Vocabulary

if TYPE_CHECKING:
    import torch
    from torch import nn

CODES_FILE = "codes.bpe"
MOST_TOKENS = 2**22  # in a vocabulary


class FolderConfig(Protocol):
    """The config of a kind of model.

    aligner: the method of an aligner, "" for a translation model; vocabulary_folders: the subfolders of the
    vocabularies, "" for the model folder itself.
    """

    aligner: ClassVar[str]
    vocabulary_folders: ClassVar[tuple[str, ...]]

    def fields(self) -> dict[str, Any]:
        """Return the fields from which `read` restores the config."""

    @classmethod
    def read(cls, fields: dict[str, Any]) -> Self:
        """Raise KeyError, ValueError or TypeError for invalid fields."""

    def new_model(self, vocabularies: Sequence[Vocabulary]) -> "nn.Module":
        """Return a new, untrained model."""


Config = TypeVar("Config", bound=FolderConfig)


def read_folder_config(path: Path, kind: type[Config]) -> tuple[Config, dict[str, Any]]:
    """Return the config of a model folder of this kind, and the record of its training. Raises BadInput."""
    fields = read_config(path)
    with naming(path / "config.json"):
        if (found := fields.get("aligner", "")) != kind.aligner:
            names = (
                f"an aligner ({name!r:.40})" if name != "" else "a translation model" for name in (kind.aligner, found)
            )
            raise ValueError(f"expected {next(names)}, found {next(names)}")
        model = dict(fields["model"])
        try:
            config = kind.read(model)
            if unknown := model.keys() - config.fields().keys():
                raise TypeError(f"unknown field {min(unknown)!r}")
        except TypeError as error:
            raise ValueError(f"{error}; if another version of synmt wrote it, train the model again") from None
        training = dict(fields["training"])
    return config, training


@dataclass(frozen=True)
class ModelFolder(Generic[Config]):
    """A model on disk: its path, config, subwords and vocabularies; training: a record of how it was made."""

    path: Path
    config: Config
    bpe: Bpe
    vocabularies: tuple[Vocabulary, ...]
    training: dict[str, Any]

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the only vocabulary."""
        (only,) = self.vocabularies
        return only

    @property
    def parameters(self) -> Path:
        """Return the path of the parameters. Raises BadInput for an exported model."""
        if "exported" in self.training:
            raise BadInput("is exported for CTranslate2; only `synmt translate` takes it", str(self.path))
        return self.path / PARAMETERS_FILE

    def save(self) -> None:
        """Write all files except the parameters, the config last. Raises BadInput."""
        for name, vocabulary in zip(self.config.vocabulary_folders, self.vocabularies, strict=True):
            (self.path / name).mkdir(parents=True, exist_ok=True)
            for file, text in vocabulary.files().items():
                write_aside(self.path / name / file, text.encode())
        write_aside(self.path / CODES_FILE, self.bpe.codes.encode())
        of_aligner = {"aligner": self.config.aligner} if self.config.aligner else {}
        write_config(self.path, {**of_aligner, "model": self.config.fields(), "training": self.training})

    @classmethod
    def open(cls, path: Path, kind: type[Config]) -> "ModelFolder[Config]":
        """Open a folder with a config of this kind.

        Raises BadInput, naming the file, for a folder that is missing, incomplete or inconsistent.
        """
        config, training = read_folder_config(path, kind)
        files = [
            f"{folder}/{name}" if folder else name for folder in kind.vocabulary_folders for name in VOCABULARY_FILES
        ]
        for file in (CODES_FILE, *files):
            check_inside(path, path / file, LARGEST_TEXT)
        bpe = Bpe.load(str(path / CODES_FILE))
        rows = _rows(path)
        vocabularies = []
        for folder in kind.vocabulary_folders:
            with naming(path / folder / VOCABULARY_FILES[0]):
                vocabularies.append(Vocabulary.load(path / folder, rows))
        return cls(path, config, bpe, tuple(vocabularies), training)

    def new_model(self) -> Any:
        """Return a new, untrained model."""
        return self.config.new_model(self.vocabularies)

    def load_model(self, device: "torch.device") -> Any:
        """Return the trained model. Raises BadInput if the parameters do not fit the config."""
        return self.load_into(self.new_model).to(device).eval()

    def load_into(self, make: Callable[[], Any]) -> Any:
        """Return the module that `make` returns, with the trained parameters. Raises BadInput if they do not fit."""
        from synmt.parameters import load_parameters

        check_inside(self.path, self.parameters)
        with naming(self.parameters):
            return load_parameters(make, self.parameters)

    def checksum(self) -> str:
        """Return a checksum of the parameters. Raises BadInput."""
        check_inside(self.path, self.parameters)
        return checksum(self.parameters)


def _rows(path: Path) -> int:
    """Return the total number of rows of a folder's parameters, an upper bound on the length of its vocabularies. Reads
    only the header. A run that was stopped early has no parameters yet."""
    from synmt.parameters import shapes_in

    parameters = path / PARAMETERS_FILE
    if not os.path.lexists(parameters):
        return MOST_TOKENS
    check_inside(path, parameters)
    with naming(parameters):
        return min(MOST_TOKENS, sum(shape[0] for shape in shapes_in(parameters).values() if all(shape) and shape))
