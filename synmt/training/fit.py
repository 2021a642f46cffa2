"""Training of any model on a bitext: a translation model, an aligner, or a module on top of either."""

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import torch
from torch import nn

from synmt import __version__
from synmt.model.files import CONFIG_FILE, locked, naming
from synmt.model.fingerprint import check_same, flat
from synmt.model.folder import FolderConfig, ModelFolder
from synmt.streams import BadInput, readable
from synmt.text.bpe import Bpe
from synmt.text.vocabulary import Vocabulary
from synmt.training.checkpoint import Progress
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.loop import Trainer
from synmt.training.update import Examples
from synmt.training.validation import Validate

Config = TypeVar("Config", bound=FolderConfig)
# Options that a resumed run may not change.
FIXED = "seed", "merges", "batch_tokens", "batch_by", "max_length", "select", "subword_dropout"
NO_PAIRS = "no sentence pairs to train on"
INPUTS = "data", "links", "dev"  # what TrainingData.fingerprint may name


class TrainingData(Protocol[Config]):
    """A bitext in the form that models with this kind of config learn from."""

    def __len__(self) -> int:
        """Return the number of pairs."""

    def fingerprint(self) -> Mapping[str, str]:
        """Return checksums of the pairs and, if there are any, of the links and validation data, by their names in
        INPUTS."""

    def vocabularies(self, config: Config, recipe: "Recipe[Config]") -> tuple[Bpe, tuple[Vocabulary, ...]]:
        """Return the merges and the vocabularies of a new model."""

    def examples(self, folder: ModelFolder[Config], training: TrainingConfig) -> Examples:
        """Return the training examples. Raises BadInput with the line of an unusable record."""

    def validation(self, folder: ModelFolder[Config], training: TrainingConfig) -> Validate | None:
        """Return the function that scores a model, None without validation data."""


@dataclass(frozen=True)
class Recipe(Generic[Config]):
    """The options of a training run, and what a new model begins with.

    codes: a file of merges to use instead of learning new ones.
    start: a trained model whose merges, vocabularies and parameters the new model starts with.
    """

    training: TrainingConfig
    codes: str | None = None
    start: ModelFolder[Config] | None = None

    def merges(self, learn: Callable[[int], Bpe]) -> Bpe:
        """Return the merges of a new model: those of `start`, those in `codes`, or newly learned ones."""
        if self.start:
            return self.start.bpe
        return Bpe.load(self.codes) if self.codes else learn(self.training.merges)


def fit(
    path: Path,
    config: Config,
    data: TrainingData[Config],
    recipe: Recipe[Config],
    processes: Processes,
    learner: Callable[[ModelFolder[Config]], nn.Module] | None = None,
    announce: Callable[[ModelFolder[Config], nn.Module], None] = lambda folder, model: None,
    conclude: Callable[[Progress], None] = lambda progress: None,
) -> ModelFolder[Config]:
    """Train a model into a new folder, or resume the training run of an existing one. Raises BadInput.

    learner: makes a module to train that contains the folder's model, instead of that model itself.
    announce: called when nothing can be refused any more; conclude: called at the end.
    """
    training, start = recipe.training, recipe.start
    # The first process may write the config before the others look.
    resume = bool(processes.from_first((path / CONFIG_FILE).exists()))
    if not len(data):
        raise BadInput(NO_PAIRS)
    with naming(path):
        path.mkdir(parents=True, exist_ok=True)
    with locked(path) if processes.first else nullcontext():
        folder = _matching(path, config, data, recipe) if resume else _new(path, config, data, recipe, processes)
        new_model = folder.new_model
        if start:
            new_model = partial(start.load_into, folder.new_model)
        elif learner:
            new_model = partial(learner, folder)
        examples, validation = data.examples(folder, training), data.validation(folder, training)
        folder = replace(folder, training={**folder.training, "examples": len(examples)})  # without pairs left out
        trainer = Trainer(path, new_model, examples, validation, training, processes, trained=start is not None)
        if resume:
            trainer.resume()
            folder = _with_changes(folder, training, trainer.progress.update)
        if processes.first:
            folder.save()
            announce(folder, trainer.model)
        trainer.run()
        if processes.first:
            conclude(trainer.progress)
    return folder


def _new(
    path: Path, config: Config, data: TrainingData[Config], recipe: Recipe[Config], processes: Processes
) -> ModelFolder[Config]:
    """Return a new folder, still without parameters."""
    bpe, vocabularies = data.vocabularies(config, recipe)
    made_by = {
        "synmt": __version__,
        "torch": str(torch.__version__),
        "python": sys.version.split()[0],
        "command": [*map(readable, sys.argv[1:])],
        "processes": processes.size,
        "pairs": len(data),
        **data.fingerprint(),
        **({"init": recipe.start.checksum()} if recipe.start else {}),
        **asdict(recipe.training),
    }
    return ModelFolder(path, config, bpe, vocabularies, made_by)


def _matching(path: Path, config: Config, data: TrainingData[Config], recipe: Recipe[Config]) -> ModelFolder[Config]:
    """Open the folder of a run to resume. Raises BadInput if its model, its data or their order would change."""
    folder = ModelFolder.open(path, type(config))
    if folder.config != config:
        check_same(path, flat(folder.config.fields()), flat(config.fields()), "was trained")
    fingerprint = data.fingerprint()
    before: dict[str, object] = {
        **{name: folder.training.get(name) for name in INPUTS},
        "dev": folder.training.get("dev", fingerprint.get("dev")),  # which older folders do not name
        "--init": folder.training.get("init"),
        "--codes": folder.bpe.codes,
        **{_option(name): folder.training.get(name, getattr(TrainingConfig, name)) for name in FIXED},
    }
    now: dict[str, object] = {
        **{name: fingerprint.get(name) for name in INPUTS},
        "--init": recipe.start and recipe.start.checksum(),
        "--codes": Bpe.load(recipe.codes).codes if recipe.codes else folder.bpe.codes,
        **{_option(name): getattr(recipe.training, name) for name in FIXED},
    }
    check_same(path, before, now, "was trained")
    return folder


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _with_changes(folder: ModelFolder[Config], training: TrainingConfig, update: int) -> ModelFolder[Config]:
    """Return the folder with the settings from this update on, and a history of earlier ones."""
    old, new = folder.training, asdict(training)
    before = {name: old.get(name) for name, value in new.items() if old.get(name) != value}
    if not before:
        return folder
    changes = [*old.get("changes", []), {"update": update, "before": before}]
    return replace(folder, training={**old, **new, "changes": changes})
