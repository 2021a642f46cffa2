"""A corpus on disk, and a short training run on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from synmt.model.config import BatchBy, ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.source import source_side
from synmt.nn.config import TransformerConfig
from synmt.streams import OnError
from synmt.training.checkpoint import checkpoints
from synmt.training.config import TrainingConfig
from synmt.training.fit import Recipe
from synmt.training.run import PairFiles, TrainingText, train
from synmt.trees.record import write_record
from tests import tiny

UNTIMED = (0, 1, 3, 4, 6, 7, 8, 9, 10, 11)  # columns of log.tsv that do not depend on the clock
SHORT = TrainingConfig(
    merges=20,
    batch_tokens=40,
    learning_rate=3e-3,
    warmup=5,
    epochs=3,
    select="loss",
    report_every=2,
    word_dropout=0.1,
    average=2,
)
LEARNING = replace(SHORT, batch_tokens=200, learning_rate=0.01, epochs=100, updates=100, validate_every=100)
LEARNING = replace(LEARNING, word_dropout=0.0, label_smoothing=0.0, average=1)  # random noise slows it down
DROPPING = replace(tiny.CONFIG, dropout=0.2)


def write_corpus(folder: Path, copies: int = 8) -> PairFiles:
    """Write the tiny corpus several times over: source records, target text, and target records in train.de.jsonl."""
    records, targets = tiny.records() * copies, tiny.target_records() * copies
    files = folder / "train.jsonl", folder / "train.de"
    files[0].write_text("".join(write_record(record) + "\n" for record in records))
    files[1].write_text("".join(record.text + "\n" for record in targets))
    (folder / "train.de.jsonl").write_text("".join(write_record(record) + "\n" for record in targets))
    return PairFiles(str(files[0]), str(files[1]))


def with_target_trees(data: PairFiles) -> PairFiles:
    return PairFiles(data.source, f"{data.target}.jsonl")


def run(
    out: Path,
    data: PairFiles,
    system: str = "mask",
    config: TrainingConfig = SHORT,
    resume: bool = False,
    target: str = "sequence",
    network: TransformerConfig = DROPPING,
    dev: PairFiles | None = None,
    on_error: OnError = "fail",
    start: ModelFolder[ModelConfig] | None = None,
    prepared: Path | None = None,
    jobs: int = 1,
) -> ModelFolder[ModelConfig]:
    source, decoder = source_side({name: {} for name in system.split("+")}), tiny.TARGET_SYSTEMS[target]
    model = start.config if start else ModelConfig(source, decoder, ("en", "de"), "none", network)
    text = TrainingText(data, model, Recipe(config, start=start), jobs)
    train(out, text, dev or data, resume, "cpu", on_error, prepared)
    return ModelFolder.open(out, ModelConfig)


def state(model: Path) -> tuple[dict[str, torch.Tensor], list[list[str]]]:
    """Return the result of a training run: parameters, the newest checkpoint, and the log without times."""
    files = model / "model.safetensors", checkpoints(model / "checkpoint")[0]
    tensors = {f"{number} {name}": t for number, file in enumerate(files) for name, t in load_file(file).items()}
    rows = [line.split("\t") for line in (model / "log.tsv").read_text().splitlines()]
    return tensors, [[row[column] for column in UNTIMED] for row in rows]


@dataclass
class OnTheDevice:
    """Examples in a single batch that is on the device already."""

    tensors: tuple[Any, ...]

    def __len__(self) -> int:
        return 1

    def batch(
        self, indices: Sequence[int], device: torch.device, random: torch.Generator | None = None
    ) -> tuple[Any, ...]:
        return self.tensors

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        return [list(indices)]

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int, by: BatchBy = "tokens") -> list[list[int]]:
        return [[0]]
