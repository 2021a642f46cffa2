"""Checkpoints: the state of a training run in one file. A resumed run gets the same numbers as an uninterrupted one.

checkpoint/update-N.safetensors holds the parameters, Adam's moments and the recent parameters that averaging needs. Its
metadata holds the counters and a checksum. We keep the last two files, in case the newest is damaged. Random numbers
and the order of batches need no state, since they depend only on seed, epoch and update.
"""

import json
import math
import re
import zlib
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from synmt.model.files import naming, save_tensors
from synmt.parameters import check_header, check_shapes
from synmt.streams import BadInput, note

KEPT = 2
NAME = re.compile(r"update-(\d+)\.safetensors")


@dataclass
class Progress:
    """The progress of a training run.

    update, epoch: the number of finished updates and epochs.
    batches_of_epoch: finished batches of the current epoch, over all processes.
    order: a checksum of the order of batches.
    validated: the update of the last validation; −1 asks for one before the first update.
    best, best_loss, best_update: score, loss and update of the best validation; −∞ and ∞ if the latest model
    is kept, without comparison. stale: the number of validations since.
    ties: the number of validations after the first, as long as all have the same score; −1 once their scores differ.
    seconds: training time; log_rows: the number of rows in log.tsv.
    most_epochs, most_updates: the limits of the run, as in TrainingConfig; 0 epochs if they are unknown.
    sentences, all_tokens: sentences and target tokens so far, counted in each epoch.
    loss, tokens, norms, updates, interval_seconds: sums since the last row of log.tsv.
    """

    update: int = 0
    epoch: int = 0
    batches_of_epoch: int = 0
    order: int = 0
    validated: int = 0
    best: float = -math.inf
    best_loss: float = math.inf
    best_update: int = 0
    stale: int = 0
    ties: int = 0
    seconds: float = 0.0
    log_rows: int = 0
    most_epochs: int = 0
    most_updates: int = 0
    sentences: int = 0
    all_tokens: int = 0
    loss: float = 0.0
    tokens: int = 0
    norms: float = 0.0
    updates: int = 0
    interval_seconds: float = 0.0

    def count_update(self, batches: int, batches_an_epoch: int) -> None:
        """Count an update of this many batches; the last update of an epoch may have fewer."""
        self.update += 1
        self.batches_of_epoch += batches
        if self.batches_of_epoch >= batches_an_epoch:
            self.epoch, self.batches_of_epoch = self.epoch + 1, 0

    def keep_if_best(self, score: float, loss: float) -> bool:
        """Count a validation of the current model; return whether it is the best so far, by `rank`."""
        if self.best > -math.inf and self.ties >= 0:
            self.ties = self.ties + 1 if score == self.best else -1
        if is_best := rank(score, loss) > rank(self.best, self.best_loss):
            self.best, self.best_loss, self.best_update, self.stale = score, loss, self.update, 0
        else:
            self.stale += 1
        self.validated = self.update
        return is_best

    def keep_latest(self) -> None:
        """Count the current model as the one to keep."""
        self.best, self.best_loss, self.best_update = -math.inf, math.inf, self.update
        self.validated = self.update


def rank(score: float, loss: float) -> tuple[float, float]:
    """Return how good a validated model is: higher scores are better and, if they are equal, lower losses.

    So the best model is never one with a higher loss than another whose score is at least as high.
    """
    return (-math.inf if math.isnan(score) else score, -math.inf if math.isnan(loss) else -loss)


@dataclass
class TrainingState:
    model: nn.Module
    optimizer: torch.optim.Adam
    recent: deque[dict[str, Tensor]]
    progress: Progress = field(default_factory=Progress)

    def save(self, folder: Path) -> None:
        """Add the checkpoint of this update to the folder, and remove all but the last two. Raises BadInput."""
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, parameter in self.model.named_parameters():
            for kind, tensor in self.optimizer.state.get(parameter, {}).items():
                tensors[f"adam.{kind}.{name}"] = tensor
        for age, weights in enumerate(self.recent):
            tensors |= {f"recent.{age}.{name}": tensor for name, tensor in weights.items()}
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        progress = json.dumps(asdict(self.progress))
        path = folder / f"update-{self.progress.update}.safetensors"
        with naming(folder):
            folder.mkdir(exist_ok=True)
        save_tensors(path, tensors, {"progress": progress, "crc32": str(checksum(progress, tensors))})
        for old in checkpoints(folder)[KEPT:]:
            old.unlink()

    def load_newest(self, folder: Path) -> None:
        """Load the newest undamaged checkpoint, and note damaged ones.

        Without any checkpoint, the run starts at the beginning. Raises BadInput if all are damaged.
        """
        for path in (paths := checkpoints(folder)):
            try:
                self._load(path)
                return
            except BadInput as error:
                if path == paths[-1]:
                    raise
                note(f"skipped a checkpoint: {error}")

    def _load(self, path: Path) -> None:
        """Load a file. Raises BadInput, and changes nothing, if it is damaged or belongs to another model."""
        with naming(path):
            progress, tensors = read_checkpoint(path)
            groups: dict[str, dict[str, Tensor]] = {}
            for key, tensor in tensors.items():
                depth = 1 if key.startswith("model.") else 2
                *group, name = key.split(".", depth)
                groups.setdefault(".".join(group), {})[name] = tensor
            parameters: dict[str, Tensor] = dict(self.model.named_parameters())
            counts = {name: torch.zeros(()) for name in parameters}
            of_adam = {"adam.step": counts, "adam.exp_avg": parameters, "adam.exp_avg_sq": parameters}
            for kind in {"model", *of_adam, *groups}:
                shapes = {name: list(tensor.shape) for name, tensor in groups.get(kind, {}).items()}
                check_shapes(of_adam.get(kind, self.model.state_dict()), shapes)
            ages = sorted(int(group.removeprefix("recent.")) for group in groups if group.startswith("recent."))
        self.model.load_state_dict(groups["model"])
        self.progress = progress
        for name, parameter in parameters.items():
            moments = {kind.removeprefix("adam."): groups[kind][name].to(parameter.device) for kind in of_adam}
            self.optimizer.state[parameter] = moments
        self.recent.clear()
        self.recent.extend(groups[f"recent.{age}"] for age in ages)

    def average(self) -> dict[str, Tensor]:
        """Return the mean of the recent parameters, including the current ones."""
        self.recent.append({n: t.detach().cpu().clone() for n, t in self.model.state_dict().items()})
        return {n: torch.stack([weights[n] for weights in self.recent]).mean(dim=0) for n in self.recent[0]}


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, newest first."""
    numbers = {path: match for path in folder.glob("*") if (match := NAME.fullmatch(path.name))}
    return sorted(numbers, key=lambda path: -int(numbers[path][1]))


def read_checkpoint(path: Path) -> tuple[Progress, dict[str, Tensor]]:
    """Return the counters and tensors of a file. Raises ValueError, or an error of safetensors for a damaged file."""
    check_header(path)
    with safe_open(path, "pt") as file:
        metadata: dict[str, Any] = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    if metadata["crc32"] != str(checksum(metadata["progress"], tensors)):
        raise ValueError("damaged: its checksum does not match")
    progress = Progress(**json.loads(metadata["progress"]))
    for each in fields(Progress):
        if type(getattr(progress, each.name)) is not type(each.default):
            raise ValueError(f"{each.name} cannot be {getattr(progress, each.name)!r}")
    return progress, tensors


def checksum(progress: str, tensors: Mapping[str, Tensor]) -> int:
    """Return a CRC-32 of the counters, the names and the tensors."""
    crc = zlib.crc32(progress.encode())
    for name in sorted(tensors):
        crc = zlib.crc32(name.encode(), crc)
        crc = zlib.crc32(tensors[name].flatten().view(torch.uint8).numpy().data, crc)
    return crc
