"""The state of a run in one file, from which it goes on to the numbers of an uninterrupted one.

checkpoint/update-N.safetensors holds the parameters, Adam's moments and the recent weights that averaging needs;
its metadata holds the counters and a checksum. The last two files are kept: where the newest turns out torn, the
one before serves. Randomness and order need no state: they are functions of seed, epoch and update.
"""

import json
import math
import re
import sys
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
from synmt.streams import BadInput

KEPT = 2
NAME = re.compile(r"update-(\d+)\.safetensors")


@dataclass
class Progress:
    """How far a run is.

    update, epoch: how many are done; batches_of_epoch: those done of the epoch under way, by all processes; order: a
        checksum of the order of batches.
    validated: after which update the last validation was, -1 to have one before the first update; best: its best
        score so far, after best_update; stale: how many validations have passed since.
    seconds: of training; log_rows: how many log.tsv has; sentences, all_tokens: what has been learnt from so far, as
        often as it was.
    loss, tokens, norms, updates, interval_seconds: sums since the last row of log.tsv.
    """

    update: int = 0
    epoch: int = 0
    batches_of_epoch: int = 0
    order: int = 0
    validated: int = 0
    best: float = -math.inf
    best_update: int = 0
    stale: int = 0
    seconds: float = 0.0
    log_rows: int = 0
    sentences: int = 0
    all_tokens: int = 0
    loss: float = 0.0
    tokens: int = 0
    norms: float = 0.0
    updates: int = 0
    interval_seconds: float = 0.0

    def count_update(self, batches: int, batches_an_epoch: int) -> None:
        """Count one more update, of at most this number of batches: the last of an epoch may have fewer."""
        self.update += 1
        self.batches_of_epoch += batches
        if self.batches_of_epoch >= batches_an_epoch:
            self.epoch, self.batches_of_epoch = self.epoch + 1, 0


@dataclass
class TrainingState:
    model: nn.Module
    optimizer: torch.optim.Adam
    recent: deque[dict[str, Tensor]]
    progress: Progress = field(default_factory=Progress)

    def save(self, folder: Path) -> None:
        """Add the checkpoint of this update to the folder. Raises BadInput; the older ones then stay."""
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
        """Load the newest checkpoint that is whole, and name each one that is not on stderr.

        Without any checkpoint, the run is at its beginning. Raises BadInput if all are damaged.
        """
        for path in (paths := checkpoints(folder)):
            try:
                self._load(path)
                return
            except BadInput as error:
                if path == paths[-1]:
                    raise
                print(f"synmt train: passed over {error}", file=sys.stderr)

    def _load(self, path: Path) -> None:
        """Load a file. Raises BadInput for one that is damaged, or of another model, and then changes nothing."""
        with naming(path):
            progress, tensors = read_checkpoint(path)
            groups: dict[str, dict[str, Tensor]] = {}
            for key, tensor in tensors.items():
                depth = 1 if key.startswith("model.") else 2
                *group, name = key.split(".", depth)
                groups.setdefault(".".join(group), {})[name] = tensor
            parameters = dict(self.model.named_parameters())
            moments = {
                parameter: {
                    kind: groups[f"adam.{kind}"][name].to(parameter.device)
                    for kind in ("step", "exp_avg", "exp_avg_sq")
                }
                for name, parameter in parameters.items()
            }
            for kind, found in groups.items():
                if kind.startswith(("adam.exp", "recent.")):
                    expected = self.model.state_dict() if kind.startswith("recent.") else parameters
                    check_shapes(expected, {name: list(tensor.shape) for name, tensor in found.items()})
            ages = sorted(int(group.removeprefix("recent.")) for group in groups if group.startswith("recent."))
            try:
                self.model.load_state_dict(groups["model"])
            except RuntimeError as error:
                raise ValueError(f"not of this model: {error}") from None
        self.progress = progress
        for parameter, moment in moments.items():
            self.optimizer.state[parameter] = moment
        self.recent.clear()
        self.recent.extend(groups[f"recent.{age}"] for age in ages)

    def average(self) -> dict[str, Tensor]:
        """Return the mean of the recent parameters, those of this moment among them."""
        self.recent.append({n: t.detach().cpu().clone() for n, t in self.model.state_dict().items()})
        return {n: torch.stack([weights[n] for weights in self.recent]).mean(dim=0) for n in self.recent[0]}


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, the newest first."""
    numbers = {path: match for path in folder.glob("*") if (match := NAME.fullmatch(path.name))}
    return sorted(numbers, key=lambda path: -int(numbers[path][1]))


def read_checkpoint(path: Path) -> tuple[Progress, dict[str, Tensor]]:
    """Return counters and tensors of a file. Raises ValueError, and what a damaged one makes safetensors raise."""
    check_header(path)
    with safe_open(path, "pt") as file:
        metadata: dict[str, Any] = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    if metadata["crc32"] != str(checksum(metadata["progress"], tensors)):
        raise ValueError("damaged: its checksum is another")
    progress = Progress(**json.loads(metadata["progress"]))
    for each in fields(Progress):
        if type(getattr(progress, each.name)) is not type(each.default):
            raise ValueError(f"{each.name} cannot be {getattr(progress, each.name)!r}")
    return progress, tensors


def checksum(progress: str, tensors: Mapping[str, Tensor]) -> int:
    """Return a CRC-32 of the counters, all names and tensors: what a disk has lost shows, wherever it was."""
    crc = zlib.crc32(progress.encode())
    for name in sorted(tensors):
        crc = zlib.crc32(name.encode(), crc)
        crc = zlib.crc32(tensors[name].flatten().view(torch.uint8).numpy().data, crc)
    return crc
