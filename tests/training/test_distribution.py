"""Any number of processes makes the updates of one process with the same global batch."""

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes, joined_processes
from synmt.training.update import Updater
from tests import tiny
from tests.hostile import FORKS

ALONE = Processes(0, 1, torch.device("cpu"))
SYSTEMS = [("multitask", "sequence"), ("lisa", "tags"), ("sequence", "parent+gcn"), ("mask", "compose")]
CONFIGS = [TrainingConfig(tree_dropout=0.5, word_dropout=0.2, prefixes=2, precision=p) for p in ("fp32", "bf16")]
BATCHES = [[0, 1], [2], [3]]  # of four processes, the last has none; of two processes, the first has two


def updates(processes: Processes) -> dict[str, Any]:
    """Return the losses, norms and gradients of three updates of each system. The learning rate is 0, since a gradient
    that is 0 up to rounding would determine a step of Adam."""
    found: dict[str, Any] = {}
    for number, (system, target) in enumerate(SYSTEMS):
        for config in CONFIGS:
            corpus, vocabulary = tiny.corpus(system, target, prefixes=2, prefix_tokens=10)
            model = tiny.model(system, vocabulary, replace(tiny.CONFIG, dropout=0.2), target=target)
            model.register_parameter("idle", nn.Parameter(torch.ones(3)))  # has no gradient in any update
            updater = Updater(model, corpus, config, processes)
            for update in (1, 2, 3):
                numbers = updater(updater.step(BATCHES[: 4 - update], update), learning_rate=0.0)
                name = f"{number} {config.precision} {update}"
                found[name] = torch.tensor([float(each) for each in numbers])
                found |= {f"{name} {place}": each.clone() for place, each in enumerate(updater.gradients)}
    return found


def work(folder: Path, rank: int, size: int, port: int) -> None:
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()})
    with joined_processes("cpu") as processes:
        torch.save(updates(processes), folder / f"{rank}.pt")


@pytest.mark.parametrize("size", [2, 4])
def test_several_processes_make_the_updates_of_one(size: int, tmp_path: Path) -> None:
    """The updates have dropout of all kinds, parameters without a gradient, and processes without a batch, in fp32 and
    bf16."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = [FORKS.Process(target=work, args=(tmp_path, rank, size, port)) for rank in range(size)]
    for process in started:
        process.start()
    for process in started:
        process.join()
        assert process.exitcode == 0
    expected = updates(ALONE)
    for rank in range(size):
        found = torch.load(tmp_path / f"{rank}.pt")
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            torch.testing.assert_close(found[name], value, atol=1e-6, rtol=1e-4, msg=name)
