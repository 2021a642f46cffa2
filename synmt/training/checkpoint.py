"""The state of a run in one file, from which it goes on to the numbers of an uninterrupted one.

checkpoint/last.safetensors holds the parameters, Adam's moments and the recent weights that averaging needs;
its metadata holds the counters. Randomness and order need no state: they are functions of seed, epoch and update.
"""

import math
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson
import torch
from safetensors import safe_open
from torch import Tensor, nn

from synmt.systems.model_folder import naming, save_tensors


@dataclass
class Progress:
    """Updates and epochs done; updates done of the epoch under way; the best validation score, and how many
    validations have passed since; seconds of training; where log.tsv ends, in bytes."""

    update: int = 0
    epoch: int = 0
    update_of_epoch: int = 0
    best: float = -math.inf
    stale: int = 0
    seconds: float = 0.0
    log_bytes: int = 0

    def count_update(self, updates_an_epoch: int) -> None:
        self.update += 1
        self.update_of_epoch += 1
        if self.update_of_epoch == updates_an_epoch:
            self.epoch, self.update_of_epoch = self.epoch + 1, 0


@dataclass
class TrainingState:
    model: nn.Module
    optimizer: torch.optim.Adam
    recent: deque[dict[str, Tensor]]
    progress: Progress = field(default_factory=Progress)

    def save(self, path: Path) -> None:
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, parameter in self.model.named_parameters():
            for kind, tensor in self.optimizer.state.get(parameter, {}).items():
                tensors[f"adam.{kind}.{name}"] = tensor
        for age, weights in enumerate(self.recent):
            tensors |= {f"recent.{age}.{name}": tensor for name, tensor in weights.items()}
        path.parent.mkdir(exist_ok=True)
        save_tensors(path, tensors, {"progress": orjson.dumps(asdict(self.progress)).decode()})

    def load(self, path: Path) -> None:
        """Raises BadInput for a file that is missing, damaged, or of another model."""
        with naming(path), safe_open(path, "pt") as file:
            groups: dict[str, dict[str, Tensor]] = {}
            for key in file.keys():  # noqa: SIM118 (a safetensors file is no mapping)
                depth = 1 if key.startswith("model.") else 2
                *group, name = key.split(".", depth)
                groups.setdefault(".".join(group), {})[name] = file.get_tensor(key)
            self.progress = Progress(**orjson.loads(file.metadata()["progress"]))
            try:
                self.model.load_state_dict(groups.pop("model"))
            except RuntimeError as error:
                raise ValueError(f"not of this model: {error}") from None
            for name, parameter in self.model.named_parameters():
                self.optimizer.state[parameter] = {
                    kind: groups[f"adam.{kind}"][name].to(parameter.device)
                    for kind in ("step", "exp_avg", "exp_avg_sq")
                }
            ages = sorted(int(group.removeprefix("recent.")) for group in groups if group.startswith("recent."))
            self.recent.extend(groups[f"recent.{age}"] for age in ages)

    def average(self) -> dict[str, Tensor]:
        """The mean of the recent weights, those of this moment among them."""
        self.recent.append({n: t.detach().cpu().clone() for n, t in self.model.state_dict().items()})
        return {n: torch.stack([weights[n] for weights in self.recent]).mean(dim=0) for n in self.recent[0]}
