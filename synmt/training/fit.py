"""The one way to fit a model to a bitext: of a translation model, of an aligner, and of what stands on top of one."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import nn

from synmt import __version__
from synmt.model.files import CONFIG_FILE
from synmt.model.folder import FolderConfig, ModelFolder
from synmt.streams import BadInput
from synmt.text.bpe import Bpe
from synmt.text.vocabulary import Vocabulary
from synmt.training.bitext import Bitext
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.loop import Trainer
from synmt.training.preparation import joint_bpe
from synmt.training.update import Examples
from synmt.training.validation import ValidationScores

Config = TypeVar("Config", bound=FolderConfig)
Validate = Callable[[Any], ValidationScores]


class TrainingData(Protocol[Config]):
    """A bitext as models of some kind learn from it."""

    @property
    def bitext(self) -> Bitext: ...

    def vocabularies(self, config: Config, bpe: Bpe) -> tuple[Vocabulary, ...]:
        """Return what the models read and write of the bitext."""

    def examples(self, folder: ModelFolder[Config], training: TrainingConfig) -> Examples:
        """Return what is learned. Raises BadInput with the line of a record that cannot be used."""

    def validation(self, folder: ModelFolder[Config], training: TrainingConfig) -> Validate | None:
        """Return what scores a model, if anything does."""


def fit(
    path: Path,
    config: Config,
    data: TrainingData[Config],
    training: TrainingConfig,
    processes: Processes,
    codes: str | None = None,
    learner: Callable[[ModelFolder[Config]], nn.Module] | None = None,
) -> ModelFolder[Config]:
    """Fit a model into a new folder, or go on with the run of the one that is there. Raises BadInput.

    codes: a file of merges to use instead of learning some; learner: a model with the parameters of the folder's own
    that learns more than it does.
    """
    resume = (path / CONFIG_FILE).exists()
    if not len(data.bitext):
        raise BadInput("no sentence pairs to train on")
    folder = _matching(path, config, data) if resume else _new(path, config, data, training, processes, codes)
    new_model = folder.new_model if learner is None else lambda: learner(folder)
    examples, validation = data.examples(folder, training), data.validation(folder, training)
    learn(path, new_model, examples, validation, training, processes, resume)
    return folder


def learn(
    path: Path,
    new_model: Callable[[], nn.Module],
    examples: Examples,
    validation: Validate | None,
    training: TrainingConfig,
    processes: Processes,
    resume: bool,
) -> None:
    """Train a model, and keep its parameters, log and checkpoints in a folder. Raises BadInput."""
    trainer = Trainer(path, new_model, examples, validation, training, processes)
    if resume:
        trainer.resume()
    trainer.run()


def _new(
    path: Path,
    config: Config,
    data: TrainingData[Config],
    training: TrainingConfig,
    processes: Processes,
    codes: str | None,
) -> ModelFolder[Config]:
    """Make the folder, with all but the parameters."""
    bitext = data.bitext
    bpe = Bpe.load(codes) if codes else joint_bpe(bitext, training.merges)
    made_by = {
        "synmt": __version__,
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "command": sys.argv[1:],
        "processes": processes.size,
        "pairs": len(bitext),
        "data": bitext.checksum,
        **asdict(training),
    }
    folder = ModelFolder(path, config, bpe, data.vocabularies(config, bpe), made_by)
    if processes.first:
        folder.save()
    return folder


def _matching(path: Path, config: Config, data: TrainingData[Config]) -> ModelFolder[Config]:
    """Open the folder of a run that is to go on. Raises BadInput if it was of another model or other data."""
    folder = ModelFolder.open(path, type(config))
    if folder.config != config:
        raise BadInput("was trained with another model or other sizes than this command asks for", str(path))
    if folder.training.get("data") != data.bitext.checksum:
        raise BadInput("was trained on other data than this command names", str(path))
    return folder
