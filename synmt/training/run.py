"""One training run of a translation model: from files of sentence pairs to a model folder."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from synmt.model.config import ModelConfig
from synmt.model.corpus import Corpus
from synmt.model.files import check_new
from synmt.model.folder import ModelFolder
from synmt.model.prefixes import PrefixPlan
from synmt.model.records import columns_of_pairs
from synmt.model.words import note_doubts, words_of
from synmt.streams import BadInput, BadLines, Line, Notes, OnError, WrongUsage, read_lines, read_parallel
from synmt.text.bpe import Bpe
from synmt.text.tokenization import note_tokenizers
from synmt.text.vocabulary import Vocabulary
from synmt.training.bitext import Bitext, read_bitext
from synmt.training.config import TrainingConfig
from synmt.training.distribution import joined_processes
from synmt.training.fit import fit
from synmt.training.preparation import (
    build_vocabulary,
    encode_corpus,
    note_unknown,
    training_examples,
    unseen_relations,
)
from synmt.training.validation import Validation


@dataclass(frozen=True)
class PairFiles:
    """Sentence pairs in two files, or in one with two columns (`target` is None); `-` is standard input."""

    source: str
    target: str | None = None

    def read(self, bad: BadLines) -> Iterator[tuple[Line, ...]]:
        if self.target is None:
            return columns_of_pairs(read_lines([self.source], bad.on_error), bad)
        return read_parallel([self.source, self.target], bad.on_error)


def pair_files(source: str | None, target: str | None, tsv: str | None) -> PairFiles:
    """Return the files of one corpus. Raises WrongUsage unless there are two files or one table."""
    if tsv and not (source or target):
        return PairFiles(tsv)
    if source and target and not tsv:
        return PairFiles(source, target)
    raise WrongUsage("sentence pairs come as a source and a target file, or as one --tsv")


@dataclass(frozen=True)
class TranslationData:
    """What translation models learn from and are validated on. A TrainingData."""

    bitext: Bitext
    dev: Bitext | None
    notes: Notes

    def vocabularies(self, config: ModelConfig, bpe: Bpe) -> tuple[Vocabulary]:
        return (build_vocabulary(self.bitext, config, bpe),)

    def examples(self, folder: ModelFolder[ModelConfig], training: TrainingConfig) -> Corpus:
        rate = training.tree_dropout
        examples = training_examples(self.bitext, folder.config, folder.bpe, bare=rate > 0)
        plan = PrefixPlan(training.prefixes, training.prefix_tokens)
        corpus = encode_corpus(examples, folder.config, folder.vocabulary, training.max_length, self.notes, plan, rate)
        note_unknown(self.notes, corpus)
        return corpus

    def validation(self, folder: ModelFolder[ModelConfig], training: TrainingConfig) -> Validation | None:
        if self.dev is None:
            return None
        if not len(self.dev):
            raise BadInput("no sentence pairs to validate on")
        examples = training_examples(self.dev, folder.config, folder.bpe, ["translate"])
        plan = PrefixPlan(0, training.prefix_tokens)
        corpus = encode_corpus(examples, folder.config, folder.vocabulary, sys.maxsize, self.notes, plan)
        if not len(corpus):
            raise BadInput("no target to validate on has a tree that its string can spell")
        if corpus.plan:
            corpus.plan = PrefixPlan.of_all(training.prefix_tokens, max(map(len, corpus.targets)))
        if folder.config.target.writes_arcs and (
            unseen := unseen_relations(self.dev, folder.config.target, folder.vocabulary)
        ):
            names = ", ".join(unseen)
            self.notes.add(f"relations to validate on that training has none of: {names:.200}")
        return Validation(self.dev, corpus, folder, training)


def train(
    path: Path,
    data: PairFiles,
    dev: PairFiles | None,
    model: ModelConfig,
    config: TrainingConfig,
    codes: str | None,
    resume: bool,
    device: str,
    on_error: OnError = "fail",
    start: ModelFolder[ModelConfig] | None = None,
) -> None:
    """Train into the folder `path`, or go on with what it holds. Raises BadInput and WrongUsage.

    With `on_error="blank"` pairs with a bad line are left out, and the lines counted. start: a trained model to begin
    with, from whose config that of `model` is made.
    """
    if config.tree_dropout and not model.source.reads_trees:
        raise WrongUsage(f"--tree-dropout: {'+'.join(model.source.ideas)} reads sentences without trees")
    check_new(path, resume)  # before hours of parsing, not after
    with joined_processes(device) as processes:
        if processes.size > 1 and "-" in (data.source, data.target):
            raise WrongUsage("standard input cannot be shared by several processes; name a file")
        bad, notes, sides = BadLines(on_error), Notes("train"), model.sides()
        bitext = read_bitext(data.read(bad), model, notes, bad, sides)
        for name, count in sides[0].missing.items():
            if count == sides[0].sentences:
                raise BadInput(f"no sentence has {name}, and {'+'.join(model.source.ideas)} reads them", data.source)
        if model.words is None:
            words = words_of((pair.source for pair in bitext), model.languages[0], model.tokenizer)
            model = replace(model, words=words)
        dev_sides = model.sides()
        dev_bitext = read_bitext(dev.read(bad), model, notes, bad, dev_sides) if dev else None
        note_tokenizers(notes, model.tokenizer, model.languages)
        note_doubts(notes, *sides, *dev_sides)

        if config.prefixes and model.target.reads_prefixes:
            notes.add(f"an update learns from {config.prefixes} tokens of each target, not from all")

        def announce() -> None:
            bad.report("train")
            notes.say()

        translation = TranslationData(bitext, dev_bitext, notes)
        fit(path, model, translation, config, processes, codes, announce=announce, start=start)
