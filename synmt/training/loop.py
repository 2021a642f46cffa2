"""The training loop: one code path for a CPU, a GPU, and many processes."""

import math
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import torch
from tqdm import tqdm

from synmt.streams import BadInput
from synmt.systems.model_folder import ModelFolder, save_tensors
from synmt.training.checkpoint import Progress, TrainingState
from synmt.training.config import TrainingConfig
from synmt.training.corpus import Corpus
from synmt.training.distribution import Processes
from synmt.training.log import Log
from synmt.training.schedule import learning_rate
from synmt.training.update import Updater
from synmt.training.validation import Scores, Validation

CHECKPOINT = Path("checkpoint", "last.safetensors")


class Trainer:
    """Trains the model of a folder; the folder gets weights, log and checkpoints as it goes."""

    def __init__(
        self,
        folder: ModelFolder,
        corpus: Corpus,
        validation: Validation | None,
        config: TrainingConfig,
        processes: Processes,
    ) -> None:
        if not len(corpus):
            raise BadInput("no sentence pairs to train on")
        self.folder, self.corpus, self.validation = folder, corpus, validation
        self.config, self.processes = config, processes
        torch.manual_seed(config.seed)
        self.model = folder.new_model().to(processes.device)
        self.updater = Updater(self.model, corpus, folder.vocabulary, config, processes)
        self.state = TrainingState(self.model, self.updater.optimizer, deque(maxlen=config.average))
        self.log = Log(folder.path / "log.tsv")
        self.updates_an_epoch = math.ceil(len(self._batches(0)) / self._batches_an_update)
        self.total = min(config.updates or sys.maxsize, config.epochs * self.updates_an_epoch)

    @property
    def progress(self) -> Progress:
        return self.state.progress

    def resume(self) -> None:
        """Goes back to the last checkpoint. Raises BadInput if there is none, or if it is damaged."""
        self.state.load(self.folder.path / CHECKPOINT)
        self.log.truncate(self.progress.log_bytes)

    def run(self) -> None:
        """Trains until the last update, or until patience or time runs out after a validation."""
        if self._has_ended():
            return
        clock = time.monotonic() - self.progress.seconds
        interval = Interval()
        with self._progress_line() as line:
            for batches in self._updates():
                rate = self._rate()
                loss, tokens = self.updater(batches, self.progress.update + 1, rate)
                self.progress.count_update(self.updates_an_epoch)
                interval.add(loss, tokens)
                line.update()
                if self.progress.update % self.config.report_every == 0:
                    self.progress.seconds = time.monotonic() - clock
                    row = interval.row()
                    self._write({"rate": rate, **row})
                    line.set_postfix_str(f"loss {row['loss']:.3f}, {row['tokens_per_second']:.0f} tokens/s")
                    interval = Interval()
                if self._validation_is_due():
                    self.progress.seconds = time.monotonic() - clock
                    self._validate()
                    interval = Interval()  # begun anew, as a run resumed from here would
                    if self._has_ended():
                        break

    @property
    def _batches_an_update(self) -> int:
        return self.config.accumulate * self.processes.size

    def _batches(self, epoch: int) -> list[list[int]]:
        return self.corpus.shuffled_batches(self.config.batch_tokens, self.config.seed, epoch)

    def _updates(self) -> Iterator[list[list[int]]]:
        """This process' batches for each update that is left of the run."""
        while self.progress.update < self.total:
            yield from self._rest_of_epoch()

    def _rest_of_epoch(self) -> Iterator[list[list[int]]]:
        """This process' batches for each update that is left of the epoch, up to the last update of the run."""
        size, rank, step = self._batches_an_update, self.processes.rank, self.processes.size
        batches = self._batches(self.progress.epoch)
        first = self.progress.update_of_epoch
        last = min(self.updates_an_epoch, first + self.total - self.progress.update)
        for update in range(first, last):
            yield batches[update * size : (update + 1) * size][rank::step]

    def _rate(self) -> float:
        config = self.config
        return learning_rate(
            self.progress.update + 1, config.learning_rate, config.warmup, config.schedule, self.total
        )

    def _progress_line(self) -> "tqdm[None]":
        silent = not self.processes.first or not sys.stderr.isatty()
        return tqdm(total=self.total, initial=self.progress.update, unit="update", disable=silent)

    def _write(self, row: dict[str, float | int]) -> None:
        if self.processes.first:
            progress = self.progress
            self.log.write({"update": progress.update, "epoch": progress.epoch, "seconds": progress.seconds, **row})

    def _has_ended(self) -> bool:
        config, progress = self.config, self.progress
        out_of_patience = bool(config.patience) and progress.stale >= config.patience
        out_of_time = bool(config.minutes) and progress.seconds > 60 * config.minutes
        return out_of_patience or out_of_time

    def _validation_is_due(self) -> bool:
        progress, every = self.progress, self.config.validate_every
        due = progress.update % every == 0 if every else progress.update_of_epoch == 0
        return due or progress.update == self.total

    def _validate(self) -> None:
        """Scores the mean of the recent weights, keeps it as the model if it is the best, and saves the state."""
        processes, progress = self.processes, self.progress
        value = 0.0
        if processes.first:
            weights = self.state.average()
            value = self._score(weights)
            if value > progress.best:
                save_tensors(self.folder.weights, weights)
        value = processes.from_first(value)
        progress.seconds = processes.from_first(progress.seconds)
        progress.stale = 0 if value > progress.best else progress.stale + 1
        progress.best = max(value, progress.best)
        if processes.first:
            progress.log_bytes = self.log.size()
            self.state.save(self.folder.path / CHECKPOINT)

    def _score(self, weights: dict[str, torch.Tensor]) -> float:
        """What the validation gives these weights; without one, later is better."""
        if self.validation is None:
            return float(self.progress.update)
        own = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        self.model.load_state_dict(weights)
        scores = self.validation(self.model)
        self.model.load_state_dict(own)
        row = {"valid_loss": scores.loss}
        if scores.bleu is not None:
            row["valid_bleu"] = scores.bleu
        row |= {f"valid_{name}": accuracy for name, accuracy in scores.accuracies.items()}
        self._write(row)
        tqdm.write(f"update {self.progress.update}: validation {_in_words(scores)}", file=sys.stderr)
        return scores.value


def _in_words(scores: Scores) -> str:
    parts = [f"loss {scores.loss:.4f}"]
    if scores.bleu is not None:
        parts.append(f"BLEU {scores.bleu:.2f}")
    parts += [f"{name.upper()} {accuracy:.2f}" for name, accuracy in scores.accuracies.items()]
    return ", ".join(parts)


class Interval:
    """What happens between two reports."""

    def __init__(self) -> None:
        self.loss: torch.Tensor | float = 0.0  # a tensor on the device: reading it each time would wait for the GPU
        self.tokens = 0
        self.started = time.monotonic()

    def add(self, loss: torch.Tensor, tokens: int) -> None:
        self.loss = self.loss + loss
        self.tokens += tokens

    def row(self) -> dict[str, float]:
        """Loss in nats a target token, smoothing included, and target tokens a second."""
        loss = float(self.loss) / self.tokens
        return {"loss": loss, "tokens_per_second": self.tokens / (time.monotonic() - self.started)}
