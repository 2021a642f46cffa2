"""The training loop, the same for a CPU, a GPU and many processes."""

import math
import signal
import sys
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import torch
from torch import nn
from tqdm import tqdm

from synmt.model.files import PARAMETERS_FILE, check_inside, naming, remove_unfinished, save_tensors, write_aside
from synmt.streams import BadInput, Message, bar, duration
from synmt.streams.process import Interrupted, Interruption
from synmt.training.checkpoint import Progress, TrainingState, checkpoints
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.log import Events, Log
from synmt.training.update import Examples, Update, Updater, learning_rate
from synmt.training.validation import Validate, ValidationScores

CHECKPOINTS = "checkpoint"
EARLIER_BEST = "best.safetensors"  # in CHECKPOINTS: the best model before a validation that only the end required
ORDERED = 100  # the checksum of this many first batches identifies the order of all
T = TypeVar("T")
FIRST_ESTIMATE = 30  # seconds of training
LEAST_ESTIMATE = 10  # seconds that are left
LARGEST_LOSS = 700  # nats per token; the perplexity of more overflows


class Trainer:
    """Trains a model, and writes its parameters, log and checkpoints into the folder `path`."""

    def __init__(
        self,
        path: Path,
        new_model: Callable[[], nn.Module],
        corpus: Examples,
        validation: Validate | None,
        config: TrainingConfig,
        processes: Processes,
        trained: bool = False,
    ) -> None:
        """trained: whether to validate the model before the first update."""
        if not len(corpus):
            raise BadInput("no sentence pairs to train on")
        self.path, self.corpus, self.validation = path, corpus, validation
        self.config, self.processes = config, processes
        torch.manual_seed(config.seed)
        self.model = new_model().to(processes.device)
        self.updater = Updater(self.model, corpus, config, processes)
        self.state = TrainingState(self.model, self.updater.optimizer, deque(maxlen=config.average))
        if trained:
            self.progress.validated = -1
        self.log = Log(path / "log.tsv")
        self.events: Events | None = None
        self._batches = lru_cache(1)(self._ordered)  # for millions of pairs, an order takes a second
        batches = self._batches(0)
        self.batches_an_epoch = len(batches)
        self.order = self.progress.order = zlib.crc32(repr(batches[:ORDERED]).encode())
        self.total = self._count_updates()
        self.interval = Interval(self.progress)
        self.started = self.saved = time.monotonic()

    @property
    def progress(self) -> Progress:
        return self.state.progress

    def resume(self) -> None:
        """Return to the last checkpoint, or to the beginning if there is none.

        Raises BadInput for a damaged checkpoint, if processes see different ones, and if the batches or the learning
        rates so far would differ.
        """
        path = self.path
        parameters, earlier = path / PARAMETERS_FILE, path / CHECKPOINTS / EARLIER_BEST
        for own in (parameters, earlier, self.log.path, *checkpoints(path / CHECKPOINTS)):
            if own.is_symlink() or own.exists():
                check_inside(path, own)
        self.state.load_newest(path / CHECKPOINTS)
        if self.processes.any(self.progress.update != self.processes.from_first(self.progress.update)):
            raise BadInput("differs between processes", str(path / CHECKPOINTS))
        if self.progress.order != self.order:
            raise BadInput("another version of synmt ordered the batches differently; train a new model", str(path))
        self.total = self._count_updates()
        self._check_length()
        if self.processes.first:
            if earlier.exists():
                with naming(earlier):
                    earlier.replace(parameters)
            self.log.truncate(self.progress.log_rows)
            remove_unfinished(path)
            remove_unfinished(path / CHECKPOINTS)

    def _check_length(self) -> None:
        """Raise BadInput if the run has another number of updates than before, on which its rates so far depended."""
        config, progress = self.config, self.progress
        if config.schedule != "cosine" or progress.update <= config.warmup or not progress.most_epochs:
            return
        before = self._count_updates(replace(config, epochs=progress.most_epochs, updates=progress.most_updates))
        if self.total != before:
            cause = f"a cosine schedule for {before} updates cannot become one for {self.total}"
            advice = "train a new model, with --init to start from this one"
            raise BadInput(f"{cause}, since earlier rates would have been others; {advice}", str(self.path))

    def run(self) -> None:
        """Train until the last update, or until patience or time has run out, and validate the last model.

        Raises Interrupted, after saving a checkpoint, when a signal asks one of the processes to stop.
        """
        self.started, self.saved = time.monotonic() - self.progress.seconds, time.monotonic()
        self.interval = Interval(self.progress)
        if self.config.tensorboard and self.processes.first:
            self.events = Events(self.path, self.progress.update)
        config, done, told = self.config, self.progress.update, not self.processes.first
        updates = bar("updates", quiet=told, total=self.total, initial=done)
        with Interruption() as interruption, updates as line, self._upcoming() as steps:
            self._validate_if_due(interruption)  # the last run may have been interrupted in a validation
            report_every = config.report_every or max(1, min(100, self.total // 30))
            while not self._has_ended() and (step := next(steps, None)):
                update = self.progress.update + 1
                rate = learning_rate(update, config.learning_rate, config.warmup, config.schedule, self.total)
                loss, tokens, norm = self.updater(step, rate)
                self.progress.count_update(self._batches_an_update, self.batches_an_epoch)
                self.progress.sentences += step.sentences
                self.progress.all_tokens += tokens
                self.interval.add(loss, tokens, norm)
                if config.minutes:
                    self.progress.seconds = self.processes.from_first(self._seconds())
                line.update()
                if not told and line.disable and self._seconds() > FIRST_ESTIMATE:
                    told = True
                    print(self._place(), file=sys.stderr, flush=True)
                if self.processes.device.type == "cpu":  # on a GPU, this would wait for it
                    self._check_finite()
                if self.progress.update % report_every == 0:
                    row = self.interval.row()
                    seen = {"sentences": self.progress.sentences, "tokens": self.progress.all_tokens}
                    self._write({"rate": rate, **row, **seen})
                    line.set_postfix_str(f"loss {row['loss']:.3f}, {row['tokens_per_second']:.0f} tokens/s")
                    self.interval = Interval()
                self._validate_if_due(interruption)
                if self.processes.any(interruption.signal is not None):
                    self._save()
                    raise self._interrupted(interruption, "after")
                if config.checkpoint_minutes and time.monotonic() - self.saved > 60 * config.checkpoint_minutes:
                    self._save()
            if self.progress.validated < self.progress.update:
                self._save()
                self._validate(interruption, at_end=True)

    @property
    def _batches_an_update(self) -> int:
        return self.config.accumulate * self.processes.size

    def _count_updates(self, config: TrainingConfig | None = None) -> int:
        """Return the number of updates of the whole run; earlier ones may have used another number of processes."""
        config, progress = config or self.config, self.progress
        rest = math.ceil((self.batches_an_epoch - progress.batches_of_epoch) / self._batches_an_update)
        epochs = config.epochs - progress.epoch - 1
        updates = progress.update + max(0, rest + epochs * math.ceil(self.batches_an_epoch / self._batches_an_update))
        return min(config.updates or sys.maxsize, updates)

    def _ordered(self, epoch: int) -> Sequence[list[int]]:
        config = self.config
        return self.corpus.shuffled_batches(config.batch_tokens, config.seed, epoch, config.batch_by)

    def _upcoming(self) -> AbstractContextManager[Iterator[Update]]:
        """Return all remaining updates. For a GPU, a thread prepares the next one; a CPU would gain nothing by that."""
        return nullcontext(self._steps()) if self.processes.device.type == "cpu" else ahead(self._steps())

    def _steps(self) -> Iterator[Update]:
        """Yield each remaining update; may run ahead of the progress."""
        if self.processes.device.type == "cuda":
            torch.cuda.set_device(self.processes.device)  # for this thread
        done = replace(self.progress)
        epoch, batches = done.epoch, self._batches(done.epoch)
        while done.update < self.total:
            if done.epoch != epoch:
                epoch, batches = done.epoch, self._batches(done.epoch)
            first = done.batches_of_epoch
            yield self.updater.step(batches[first : first + self._batches_an_update], done.update + 1)
            done.count_update(self._batches_an_update, self.batches_an_epoch)

    def _write(self, row: dict[str, float | int]) -> None:
        if self.processes.first:
            row = {"update": self.progress.update, "epoch": self.progress.epoch, "seconds": self._seconds(), **row}
            self.log.write(row)
            if self.events:
                self.events.write(row)

    def _seconds(self) -> float:
        """Return the training time so far, by the clock of this process."""
        return time.monotonic() - self.started

    def _has_ended(self) -> bool:
        """Return whether patience or time has run out."""
        config, progress = self.config, self.progress
        out_of_patience = bool(config.patience) and progress.stale >= config.patience
        out_of_time = bool(config.minutes) and progress.seconds > 60 * config.minutes
        return out_of_time or (out_of_patience and progress.validated == progress.update)

    def _validate_if_due(self, interruption: Interruption) -> None:
        """Validate after every so many updates, or after an epoch, and save a checkpoint."""
        progress, every = self.progress, self.config.validate_every
        due = progress.update % every == 0 if every else progress.batches_of_epoch == 0
        if progress.validated < progress.update and due:
            if self.validation is not None:
                self._save()  # since validation may take long
            self._validate(interruption)
            progress.seconds = self.processes.from_first(self._seconds())
            self.interval = Interval()  # without the time of validation
            self._save()

    def _validate(self, interruption: Interruption, at_end: bool = False) -> None:
        """Score the mean of the recent parameters, and save it as the model if it is the best.

        at_end: whether this is a validation besides those that are due, since the run ends here. No checkpoint then
        follows, and the best model before is kept, so that an extended run continues as if it had never ended.
        """
        self._check_finite(parameters=True)
        progress, parameters = self.progress, self.state.average()
        scores = self._scores(parameters, interruption)
        if scores is None or not scores.decides:
            progress.keep_latest()
        else:
            for value in (scores.score, scores.loss):
                if not math.isfinite(value):
                    raise self._diverged(f"the validation gives {value}")
            progress.keep_if_best(scores.score, scores.loss)
        file = self.path / PARAMETERS_FILE
        if self.processes.first and progress.best_update == progress.update:
            if at_end and file.exists():
                write_aside(self.path / CHECKPOINTS / EARLIER_BEST, file.read_bytes())
            save_tensors(file, parameters)

    def _check_finite(self, parameters: bool = False) -> None:
        """Raise BadInput if a loss since the last report, or a parameter, is not finite."""
        if not math.isfinite(float(self.interval.loss)):
            raise self._diverged("the loss is not finite")
        if parameters and not all(bool(each.isfinite().all()) for each in self.updater.parameters):
            raise self._diverged("a parameter is not finite")

    def _diverged(self, cause: str) -> BadInput:
        advice = "try a lower --learning-rate or a longer --warmup; the last checkpoint remains"
        return BadInput(Message("{} at update {}: {}", cause, self.progress.update, Message(advice)), str(self.path))

    def _save(self) -> None:
        """Write a checkpoint. Raises BadInput, and keeps the last one, if the run has diverged."""
        self._check_finite(parameters=True)
        if self.processes.first and self.progress.update:  # before the first update there is nothing to save
            self.progress.seconds = self._seconds()
            self.progress.most_epochs, self.progress.most_updates = self.config.epochs, self.config.updates
            self.progress.log_rows = self.log.rows()
            self.interval.note(self.progress)
            self.state.save(self.path / CHECKPOINTS)
        self.saved = time.monotonic()

    def _interrupted(self, interruption: Interruption, when: str) -> Interrupted:
        received = interruption.signal or signal.SIGTERM  # by another process
        cause = f"{received.name}: stopped {when} update {self.progress.update}"
        return Interrupted(f"{cause}; the same command with --resume continues from there", received)

    def _scores(self, parameters: dict[str, torch.Tensor], interruption: Interruption) -> ValidationScores | None:
        """Return the validation scores of these parameters, None without validation data.

        Each process computes its shard. Raises Interrupted if a signal stops one of them.
        """
        if self.validation is None:
            return None
        own, shard = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}, None
        self.model.load_state_dict(parameters)
        with suppress(Interrupted), interruption.at_once():
            shard = self.validation.shard(self.model, self.processes)
        shards = [each for each in self.processes.gathered(shard) if each is not None]
        if len(shards) < self.processes.size:
            raise self._interrupted(interruption, "in the validation after")
        self.model.load_state_dict(own)
        scores = self.validation.scores(shards)
        if self.processes.first:
            self._report(scores)
        return scores

    def _report(self, scores: ValidationScores) -> None:
        losses = {f"loss_{name}": loss for name, loss in scores.losses.items()}
        more = {"loss": scores.loss, **losses, **scores.metrics, **scores.measures}
        more["perplexity"] = math.exp(scores.loss) if scores.loss < LARGEST_LOSS else math.inf
        self._write({f"valid_{name}": value for name, value in more.items()})
        tqdm.write(f"{self._place()}: validation {_in_words(scores)}", file=sys.stderr)

    def _place(self) -> str:
        """Return the update that is done, and how long the rest will take at most."""
        update, seconds = self.progress.update, self._seconds()
        left = seconds / max(1, update) * (self.total - update)
        if self.config.minutes:
            left = min(left, 60 * self.config.minutes - seconds)
        end = f", about {duration(left)} left" if left > LEAST_ESTIMATE else ""
        return f"update {update} of {self.total}{end}"


def _in_words(scores: ValidationScores) -> str:
    losses = [f"of {name} {loss:.4f}" for name, loss in scores.losses.items()]
    metrics = [f"{name.upper()} {value:.2f}" for name, value in scores.metrics.items()]
    measures = [f"{name} {value:.2f}" for name, value in scores.measures.items()]
    return ", ".join([f"loss {scores.loss:.4f}", *losses, *metrics, *measures])


class Interval:
    """Sums between two reports; with `progress`, continued from a checkpoint."""

    def __init__(self, progress: Progress | None = None) -> None:
        before = progress or Progress()
        # a tensor on the device after the first update, since reading it would wait for a GPU
        self.loss: torch.Tensor | float = before.loss
        self.norms: torch.Tensor | float = before.norms
        self.tokens, self.updates = before.tokens, before.updates
        self.started = time.monotonic() - before.interval_seconds

    def add(self, loss: torch.Tensor, tokens: int, norm: torch.Tensor) -> None:
        self.loss, self.norms = self.loss + loss, self.norms + norm
        self.tokens, self.updates = self.tokens + tokens, self.updates + 1

    def row(self) -> dict[str, float]:
        """Return the loss in nats per target token, with label smoothing, the mean gradient norm before clipping, and
        target tokens per second."""
        speed = self.tokens / (time.monotonic() - self.started)
        means = {"loss": float(self.loss) / self.tokens, "gradient_norm": float(self.norms) / self.updates}
        return {**means, "tokens_per_second": speed}

    def note(self, progress: Progress) -> None:
        """Store the sums in the progress, for a resumed run."""
        progress.loss, progress.tokens = float(self.loss), self.tokens
        progress.norms, progress.updates = float(self.norms), self.updates
        progress.interval_seconds = time.monotonic() - self.started


@contextmanager
def ahead(items: Iterator[T]) -> Iterator[Iterator[T]]:
    """Yield an iterator over items; a thread makes each item while the one before it is used. Raises its errors."""
    with ThreadPoolExecutor(1) as thread:

        def results() -> Iterator[T]:
            upcoming = thread.submit(next, items, None)
            while (item := upcoming.result()) is not None:
                upcoming = thread.submit(next, items, None)
                yield item

        yield results()
