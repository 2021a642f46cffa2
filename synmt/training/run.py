"""One training run of a translation model: from files of sentence pairs to a model folder."""

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from torch import nn

from synmt.data.bitext import Bitext, read_bitext
from synmt.data.corpus import Corpus
from synmt.data.preparation import encode_corpus, training_examples, unseen_relations
from synmt.data.prepared import PairsRead, PreparedPairs, fingerprint, make_folder, open_pairs, opened_pairs
from synmt.data.records import columns_of_pairs
from synmt.data.words import note_warnings, say_warnings, sides_of_model, words_of
from synmt.device import bf16_slowdown
from synmt.model.config import ModelConfig
from synmt.model.files import check_free
from synmt.model.fingerprint import differing, digest
from synmt.model.folder import ModelFolder
from synmt.nn.prefixes import PrefixPlan
from synmt.streams import (
    BadInput,
    BadLines,
    Line,
    Message,
    Notes,
    OnError,
    WrongUsage,
    counted,
    read_lines,
    read_parallel,
)
from synmt.streams.process import random_numbers_kept
from synmt.text.bpe import Bpe
from synmt.text.tokenization import Words, note_tokenizers
from synmt.text.vocabulary import Vocabulary
from synmt.training.checkpoint import Progress
from synmt.training.config import TrainingConfig
from synmt.training.distribution import joined_processes
from synmt.training.fit import NO_PAIRS, Recipe, fit
from synmt.training.log import check_installed
from synmt.training.presets import DEFAULT
from synmt.training.start import configs_of
from synmt.training.validation import Validation


@dataclass(frozen=True)
class PairFiles:
    """Sentence pairs in two files, or in one file with two columns (then `target` is None); `-` is standard input.

    given: yields the lines with two columns, as `lines_of_pairs` does for `on_error`, if they do not come from a file;
    `source` is then their name.
    """

    source: str
    target: str | None = None
    given: Callable[[OnError], Iterator[Line]] | None = None

    def read(self, bad: BadLines) -> Iterator[tuple[Line, ...]]:
        if self.given:
            return columns_of_pairs(self.given(bad.on_error), bad)
        if self.target is None:
            return columns_of_pairs(read_lines([self.source], bad.on_error), bad)
        return read_parallel([self.source, self.target], bad.on_error)

    def options(self) -> dict[str, str]:
        """Return each file by the option that names it; nothing for pairs that can be read only once."""
        if self.read_once:
            return {}
        return {"--tsv": self.source} if self.target is None else {"--source": self.source, "--target": self.target}

    @property
    def read_once(self) -> bool:
        """Whether the pairs can be read only once: from standard input, from a pipe, or from `given`."""
        files = [each for each in (self.source, self.target) if each is not None]
        return bool(self.given) or any(each == "-" or Path(each).is_fifo() for each in files)


def pair_files(source: str | None, target: str | None, tsv: str | None, prefix: str = "") -> PairFiles:
    """Return the files of a corpus. prefix: of the options. Raises WrongUsage unless there are two or one table."""
    if tsv and not (source or target):
        return PairFiles(tsv)
    if source and target and not tsv:
        return PairFiles(source, target)
    raise WrongUsage(Message("give both --{0}source and --{0}target, or one --{0}tsv", Message(prefix)))


@dataclass(frozen=True)
class TranslationData:
    """Training and validation data of translation models. A TrainingData."""

    pairs: PreparedPairs
    dev: Bitext | None
    notes: Notes

    def __len__(self) -> int:
        return self.pairs.count

    def fingerprint(self) -> dict[str, str]:
        return {"data": self.pairs.checksum, "dev": self.dev.checksum if self.dev else ""}

    def vocabularies(self, config: ModelConfig, recipe: Recipe[ModelConfig]) -> tuple[Bpe, tuple[Vocabulary]]:
        return self.pairs.bpe, (self.pairs.corpus.vocabulary,)

    def examples(self, folder: ModelFolder[ModelConfig], training: TrainingConfig) -> Corpus:
        pairs = self.pairs
        if folder.bpe.codes != pairs.bpe.codes or folder.vocabulary != pairs.corpus.vocabulary:
            raise BadInput(f"has other subwords than the model in {folder.path}", str(pairs.folder))
        return pairs.corpus

    def validation(self, folder: ModelFolder[ModelConfig], training: TrainingConfig) -> Validation | None:
        if self.dev is None:
            return None
        if not len(self.dev):
            raise BadInput("no sentence pairs to validate on")
        examples = training_examples(self.dev, folder.config, folder.bpe, ["translate"])
        plan = PrefixPlan(0, training.prefix_tokens)
        corpus = encode_corpus(examples, folder.config, folder.vocabulary, sys.maxsize, self.notes, plan)
        if not len(corpus):
            raise BadInput("no validation target has a tree that can be written as a string")
        if folder.config.target.linearization.trees and (
            unseen := unseen_relations(self.dev, folder.config.target, folder.vocabulary, folder.bpe)
        ):
            names = ", ".join(unseen)
            self.notes.add(f"relations of validation targets that do not occur in training: {names:.200}")
        return Validation(self.dev, corpus, folder, training)


@dataclass(frozen=True)
class TrainingText:
    """The text of a training run, read by `jobs` processes. model: extends the config of the recipe's start."""

    files: PairFiles
    model: ModelConfig
    recipe: Recipe[ModelConfig]
    jobs: int = 1

    def read(self, notes: Notes, bad: BadLines) -> tuple[Bitext, Words]:
        """Return the pairs and how their source words were made, and note warnings about them. Raises BadInput."""
        model, sides = self.model, sides_of_model(self.model)
        bitext = read_bitext(self.files.read(bad), model, notes, bad, sides, self.jobs)
        for name, count in sides[0].missing.items():
            if count == sides[0].sentences:
                names = "+".join(model.source.components)
                raise BadInput(f"no sentence has any {name}, and {names} reads them", self.files.source)
        if not len(bitext):
            raise BadInput(NO_PAIRS, self.files.source)
        words = model.words or words_of((pair.source for pair in bitext), model.languages[0], model.tokenizer)
        note_tokenizers(notes, model.tokenizer, {side.side: side.language for side in sides if side.looks.lines})
        note_warnings(notes, *sides)
        return bitext, words

    def fingerprint(self, on_error: OnError) -> dict[str, str]:
        """Return everything that the columns depend on; nothing for pairs that can be read only once."""
        files, recipe = self.files.options(), self.recipe
        if not files:
            return {}
        return fingerprint(files, self.model, recipe.training, recipe.codes, recipe.start, on_error)

    @contextmanager
    def prepared(self, place: Path | None, notes: Notes, bad: BadLines) -> Iterator[PreparedPairs]:
        """Yield the columns of the pairs, as `opened_pairs` does; add the notes and counts from when they were made.

        Raises BadInput, and WrongUsage for pairs that can be read only once and should be saved in `place`.
        """
        training, start, known = self.recipe.training, self.recipe.start, self.fingerprint(bad.on_error)
        if place and not known:
            cause = "--prepared: standard input, pipes and pairs without a file cannot be found again; name a file"
            raise WrongUsage(Message(cause))

        @cache  # if the columns cannot be saved, they are made again elsewhere
        def read() -> PairsRead:
            own_notes, own_bad = Notes(), BadLines(bad.on_error)
            bitext, words = self.read(own_notes, own_bad)
            for option in differing(known, self.fingerprint(bad.on_error)):
                raise BadInput("has changed while it was read", self.files.options().get(option, option))
            bpe = self.recipe.merges(lambda merges: bitext.joint_bpe(merges, self.jobs, self.model.marks))
            return PairsRead(bitext, words, bpe, own_notes, own_bad)

        def make(folder: Path) -> None:
            vocabulary = start.vocabulary if start else None
            make_folder(folder, read(), known, self.model, training, self.jobs, vocabulary)

        def open_(folder: Path) -> PreparedPairs:
            return open_pairs(folder, known, self.model, training)

        with opened_pairs(place, digest(known) if known else "", make, open_, notes) as pairs:
            for note in pairs.notes:
                notes.add(note)
            bad.counts.update(pairs.bad)
            yield pairs


def train(
    path: Path,
    text: TrainingText,
    dev: PairFiles | None,
    resume: bool,
    device: str,
    on_error: OnError = "fail",
    prepared: Path | None = None,
    notes: Notes | None = None,
) -> None:
    """Train into the folder `path`, or resume its training run. Raises BadInput and WrongUsage.

    on_error: with "blank", pairs with a bad line are left out and counted.
    prepared: the folder of all columns, None for the user's cache. notes: warnings to report at the beginning.
    """
    config = text.recipe.training
    if config.tensorboard:
        check_installed()
    check_free(path, resume)  # before hours of parsing, not after
    with ExitStack() as stack, joined_processes(device) as processes:
        if processes.size > 1 and text.files.read_once:
            raise WrongUsage("standard input and pipes cannot be shared by several processes; name a file")
        bad, notes = BadLines(on_error), notes or Notes()
        pairs = stack.enter_context(text.prepared(prepared, notes, bad))
        model = replace(text.model, words=pairs.words)
        dev_sides = sides_of_model(model)
        dev_bitext = read_bitext(dev.read(bad), model, notes, bad, dev_sides) if dev else None
        note_warnings(notes, *dev_sides)

        if config.prefixes and model.target.reads_prefixes:
            notes.add(f"each update learns from {counted(config.prefixes, 'token')} of each target, not from all")
        if config.precision == "bf16" and (times := bf16_slowdown(processes.device)) > 1.5:
            notes.add(f"on this CPU, layers take {times:.0f} times as long in bf16 as in fp32")

        def announce(folder: ModelFolder[ModelConfig], learner: nn.Module) -> None:
            say_warnings(bad, notes)
            print(f"synmt train: {_beginning(pairs.count, folder, learner)}", file=sys.stderr)

        def conclude(progress: Progress) -> None:
            print(f"synmt train: {_end(progress, config, path)}", file=sys.stderr)

        translation = TranslationData(pairs, dev_bitext, notes)
        if not len(pairs.corpus):
            left_out = [each for each in notes if each.startswith("left out")]
            raise BadInput(": ".join([NO_PAIRS, *left_out[:1]]), text.files.source)
        if processes.first:
            check_free(path, resume)  # again, since another process may have made the model meanwhile
        fit(path, model, translation, text.recipe, processes, announce=announce, conclude=conclude)


def train_with(
    options: Mapping[str, Any],
    pairs: PairFiles,
    dev: PairFiles | None,
    out: Path,
    resume: bool,
    device: str,
    on_error: OnError,
    prepared: Path | None,
    jobs: int,
) -> None:
    """Train as `train` with the given options of `synmt train`, by name with `_` for `-`; None is not given.

    jobs: processes that prepare the pairs. Raises BadInput and WrongUsage.
    """
    given = {name: value for name, value in options.items() if value is not None}
    start = ModelFolder.open(Path(given.pop("init")), ModelConfig) if "init" in given else None
    try:
        config, training = configs_of(given, start.config if start else None, pairs.source, pairs.target)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    notes = Notes()
    if "preset" not in given:
        notes.add(Message(f"--preset {DEFAULT}, which suits a CPU; --preset few-pairs suits fewer than 3,000 pairs"))
    text = TrainingText(pairs, config, Recipe(training, given.get("codes"), start), jobs)
    with random_numbers_kept():
        train(out, text, dev, resume, device, on_error, prepared, notes)


def _beginning(pairs: int, folder: ModelFolder[ModelConfig], learner: nn.Module) -> str:
    """Return a line about the data and the model."""
    parameters = sum(each.numel() for each in learner.parameters())
    vocabulary, words = folder.vocabulary, folder.config.words
    return (
        f"{counted(pairs, 'pair')}, {len(vocabulary.source)} source and {len(vocabulary.target)} target subwords,"
        f" {parameters / 1e6:.2f} million parameters, source words from {words.tokenizer if words else 'records'}"
    )


def _end(progress: Progress, config: TrainingConfig, path: Path) -> str:
    """Return a line about the best model and how to use it."""
    loss, scored = f"{progress.best_loss:.4f}", ""
    if progress.best > -math.inf:  # there is validation data
        score = f"loss {loss}" if config.select == "loss" else f"{config.select.upper()} {progress.best:.2f}"
        same = config.select != "loss" and progress.ties > 0
        scored = f" ({score} in all validations, so the loss decided: {loss})" if same else f" ({score}, the best)"
    kept = f"saved update {progress.best_update} of {progress.update}{scored} in {path}"
    return f"{kept}; synmt translate {path} < SOURCES"
