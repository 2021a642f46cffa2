"""One training run: from files of sentence pairs to a model folder."""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile

import torch

from synmt import __version__
from synmt.streams import BadInput, Line, read_parallel
from synmt.systems.model_folder import ModelConfig, ModelFolder, naming
from synmt.text.bpe import Bpe
from synmt.training.bitext import Bitext, read_bitext, read_tsv
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes, join_processes
from synmt.training.loop import Trainer
from synmt.training.prefixes import PrefixPlan
from synmt.training.preparation import (
    build_vocabulary,
    encode_corpus,
    joint_bpe,
    training_examples,
)
from synmt.training.validation import Validation


@dataclass(frozen=True)
class PairFiles:
    """Sentence pairs in two files, or in one with two columns (`target` is None); `-` is standard input."""

    source: str
    target: str | None = None

    def read(self) -> Iterator[tuple[Line, ...]]:
        return read_tsv(self.source) if self.target is None else read_parallel([self.source, self.target])


def pair_files(source: str | None, target: str | None, tsv: str | None) -> PairFiles:
    """Raises BadInput unless there are two files or one table."""
    if tsv and not (source or target):
        return PairFiles(tsv)
    if source and target and not tsv:
        return PairFiles(source, target)
    raise BadInput("sentence pairs come as a source and a target file, or as one --tsv")


def train(
    path: Path,
    data: PairFiles,
    dev: PairFiles | None,
    model: ModelConfig,
    config: TrainingConfig,
    codes: str | None,
    resume: bool,
    device: str,
) -> None:
    """Trains into the folder `path`, or goes on with what it holds. Raises BadInput."""
    if resume != (path / "config.json").exists():
        raise BadInput("holds no run to resume" if resume else "holds a model; --resume goes on with it", str(path))
    with naming(path):  # before hours of parsing, not after
        path.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=path).close()
    processes = join_processes(device)
    if processes.size > 1 and "-" in (data.source, data.target):
        raise BadInput("standard input cannot be shared by several processes; name a file", "--source")
    try:
        trainer = _prepare(path, data, dev, model, config, codes, resume, processes)
        if resume:
            trainer.resume()
        trainer.run()
    finally:
        processes.close()


def new_folder(
    path: Path,
    model: ModelConfig,
    config: TrainingConfig,
    codes: str | None,
    bitext: Bitext,
    processes: Processes,
) -> ModelFolder:
    """A folder with all but the weights, and the pieces of `codes`, or learned ones. Raises BadInput."""
    if not len(bitext):
        raise BadInput("no sentence pairs to train on")
    bpe = Bpe.load(codes) if codes else joint_bpe(bitext, config.merges)
    made_by = {
        "synmt": __version__,
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "command": sys.argv[1:],
        "processes": processes.size,
        "pairs": len(bitext),
        "data": bitext.checksum,
        **asdict(config),
    }
    folder = ModelFolder(path, model, bpe, build_vocabulary(bitext, model, bpe), made_by)
    if processes.first:
        folder.save()
    return folder


def matching_folder(path: Path, model: ModelConfig, bitext: Bitext) -> ModelFolder:
    """The folder of a run that is to go on. Raises BadInput if it was of another model or other data."""
    folder = ModelFolder.open(path)
    if folder.config != model:
        raise BadInput("was trained with another model or other sizes than this command asks for", str(path))
    if folder.training.get("data") != bitext.checksum:
        raise BadInput("was trained on other data than this command names", str(path))
    return folder


def _prepare(
    path: Path,
    data: PairFiles,
    dev: PairFiles | None,
    model: ModelConfig,
    config: TrainingConfig,
    codes: str | None,
    resume: bool,
    processes: Processes,
) -> Trainer:
    """Reads the pairs, of which only ids stay, and those of the validation. Raises BadInput."""
    bitext = read_bitext(data.read(), model)
    dev_bitext = read_bitext(dev.read(), model) if dev else None
    if resume:
        folder = matching_folder(path, model, bitext)
    else:
        folder = new_folder(path, model, config, codes, bitext, processes)
    bpe, vocabulary = folder.bpe, folder.vocabulary
    plan = PrefixPlan(config.prefixes, config.prefix_tokens)
    corpus = encode_corpus(training_examples(bitext, model, bpe), model, vocabulary, config.max_length, plan)
    validation = None
    if dev_bitext is not None:
        examples = training_examples(dev_bitext, model, bpe, ["translate"])
        dev_corpus = encode_corpus(examples, model, vocabulary, sys.maxsize, replace(plan, sampled=0))
        validation = Validation(
            dev_bitext, dev_corpus, folder, config.select, config.validation_beam, config.batch_tokens
        )
    return Trainer(folder, corpus, validation, config, processes)
