"""Training speed: `sequence` compared with the bare loop, and every other encoder compared with `sequence`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice

import torch
from torch import Tensor, nn

from synmt.alignment.corpus import AlignerCorpus, EncodedSide
from synmt.alignment.published.mask_align.config import MaskAlignConfig
from synmt.alignment.published.mask_align.model import MaskAlignModel
from synmt.data.corpus import Corpus
from synmt.data.rows import lengths_of
from synmt.model.source import SourceSide, source_side
from synmt.model.target import target_side
from synmt.model.translation import TranslationModel
from synmt.nn.config import Positions, TransformerConfig
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.update import Examples, Updater
from synmt.trees.record import ParseRecord
from tests.bench.bare import BareTraining, BareTransformer
from tests.bench.corpus import MASKS, VOCABULARY, Sentences, random_sentences
from tests.bench.flops import data_sheet, product_of_matrices, training_flops
from tests.bench.pairs import Comparison, Measure, clock_of, compare

# 4+4 layers of width 256, which two CPU cores can train.
NETWORK = TransformerConfig(256, 1024, 4, 4, 8, dropout=0.1, attention_dropout=0.1, activation_dropout=0.1)
TRAINING = TrainingConfig(batch_tokens=2048, word_dropout=0.0, label_smoothing=0.1)
SYSTEMS: dict[str, SourceSide] = {
    name: source_side({name.partition(",")[0]: options})
    for name, options in {
        "sequence": {},
        "linearized": {},
        "mask": {},
        "mask, dependency": {"tree": "dependency"},
        "named-masks": {"names": "+".join(MASKS)},
        "pascal": {},
        "lisa": {},
        "label-features": {},
        "multitask": {},
    }.items()
}


@dataclass(frozen=True)
class Sizes:
    """Sizes of networks and batches; on a GPU, the papers' sizes. updates: number of updates per timed round."""

    network: TransformerConfig
    training: TrainingConfig
    updates: int

    @classmethod
    def of(cls, device: torch.device) -> "Sizes":
        if device.type == "cpu":
            return cls(NETWORK, TRAINING, 1)
        return cls(TransformerConfig(), replace(TRAINING, batch_tokens=16384), 10)


Batches = Callable[[], list[list[int]]]


@dataclass
class Training:
    """Each call makes some updates of a model and returns the total worth of their examples. worth: of each example, in
    units of the rate."""

    updater: Updater
    batches: Batches
    worth: Sequence[float]
    update: int = 0

    def __call__(self) -> float:
        done = 0.0
        for batch in self.batches():
            self.update += 1
            self.updater(self.updater.step([batch], self.update), 1e-4)
            done += sum(self.worth[index] for index in batch)
        return done


class Bench:
    """Training of all systems on the same random sentences, on one device."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.sizes = device, Sizes.of(device)
        self.sentences = random_sentences(1000 if device.type == "cpu" else 5000)

    def corpus(self, system: str) -> Corpus:
        return encoded(SYSTEMS[system], self.sentences)

    def batches(self, corpus: Examples) -> Batches:
        """Return a function that returns the next few batches at each call; each such function starts with the first
        batch."""
        stream = cycle(corpus.shuffled_batches(self.sizes.training.batch_tokens, seed=1, epoch=0))
        return lambda: list(islice(stream, self.sizes.updates))

    def words(self, corpus: Corpus) -> list[float]:
        """Return the worth of each example: the target tokens of a translation, and 0 for other tasks. So the total is
        the same for all systems."""
        translations = len(self.sentences.targets)
        lengths = lengths_of(corpus.targets).tolist()
        return [length if index < translations else 0 for index, length in enumerate(lengths)]

    def flops(self, corpus: Corpus) -> list[float]:
        lengths = zip(lengths_of(corpus.sources.rows).tolist(), lengths_of(corpus.targets).tolist(), strict=True)
        vocabulary = len(VOCABULARY.target)
        return [training_flops(self.sizes.network, vocabulary, *both) for both in lengths]

    def updater(self, model: nn.Module, corpus: Examples) -> Updater:
        processes = Processes(0, 1, self.device)
        return Updater(model.to(self.device), corpus, self.sizes.training, processes)

    def training(
        self,
        system: str,
        corpus: Corpus,
        worth: Sequence[float],
        batches: Batches | None = None,
        positions: Positions = "sinusoidal",
    ) -> Training:
        torch.manual_seed(0)
        network = replace(self.sizes.network, positions=positions)
        model = TranslationModel(network, SYSTEMS[system], target_side({"sequence": {}}), VOCABULARY)
        return Training(self.updater(model, corpus), batches or self.batches(corpus), worth)

    def bare(self, corpus: Corpus) -> Callable[[], float]:
        torch.manual_seed(0)
        padding, batches, worth = VOCABULARY.padding, self.batches(corpus), self.words(corpus)
        model = BareTransformer(self.sizes.network, len(VOCABULARY), len(VOCABULARY.target), padding).to(self.device)
        training = BareTraining(model, self.sizes.training.label_smoothing, self.sizes.training.clip)

        def padded(rows: list[list[int]]) -> Tensor:
            return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, padding).to(self.device)

        def work() -> float:
            done = 0.0
            for batch in batches():
                source = padded([corpus.sources.rows[i]["ids"].tolist() for i in batch])
                targets = [corpus.targets[i]["ids"].tolist() for i in batch]
                inputs = padded([[VOCABULARY.begin, *target[:-1]] for target in targets])
                training(source, inputs, torch.tensor([*chain(*targets)], device=self.device))
                done += sum(worth[index] for index in batch)
            return done

        return work

    def mask_align(self) -> tuple[Training, Callable[[], float]]:
        """Return the training of mask-align on both directions, and of two `sequence` models, one per direction."""
        plain, words = SYSTEMS["sequence"], self.sentences.targets
        records = [ParseRecord(tokens=each) for each in words]
        forward, backward = Sentences(records, words[::-1]), Sentences(records[::-1], words)
        x, y = (
            EncodedSide.encode([plain.features(record, whole) for record in each.sources], VOCABULARY)
            for each in (forward, backward)
        )
        vocabularies = VOCABULARY, VOCABULARY
        corpus = AlignerCorpus(vocabularies, x, y)
        network = replace(self.sizes.network, norm="post", cross_attention="last")
        model = MaskAlignModel(network, MaskAlignConfig(), False, (plain, plain), vocabularies)
        lengths = [[float(len(ids)) for ids in side.subwords] for side in (x, y)]
        both = [sum(each) for each in zip(*lengths, strict=True)]
        ours = Training(self.updater(model, corpus), self.batches(corpus), both)
        others = [
            self.training("sequence", encoded(plain, each), worth, self.batches(corpus))
            for each, worth in ((forward, lengths[1]), (backward, lengths[0]))
        ]
        return ours, lambda: sum(other() for other in others)


def whole(word: str) -> list[str]:
    return [word]


def encoded(side: SourceSide, sentences: Sentences) -> Corpus:
    """Return a corpus of the translations of all sentences, then the examples of the side's other tasks."""
    corpus = Corpus(VOCABULARY)
    for task, component in side.tasks.items():
        for record, words in zip(sentences.sources, sentences.targets, strict=True):
            entries = words if task == "translate" else component.target(record, task)
            corpus.append(side.features(record, whole, task), entries)
    return corpus


def compare_training(rounds: int, device: torch.device) -> Iterator[Comparison | Measure]:
    bench, clock = Bench(device), clock_of(device)

    def against(name: str, one: Callable[[], float], other: Callable[[], float], unit: str = "tokens") -> Comparison:
        return compare(f"train: {name}", unit, one, other, rounds, clock=clock)

    plain = bench.corpus("sequence")

    def sequence() -> Training:
        return bench.training("sequence", plain, bench.words(plain))

    yield against("sequence / bare loop", sequence(), bench.bare(plain))
    rotary = bench.training("sequence", plain, bench.words(plain), positions="rotary")
    yield against("sequence with rotary positions / sequence", rotary, sequence())
    for system in SYSTEMS:
        if system != "sequence":
            corpus = bench.corpus(system)
            yield against(f"{system} / sequence", bench.training(system, corpus, bench.words(corpus)), sequence())
    trees = bench.corpus("mask")
    mask, as_long = (bench.training(system, trees, bench.words(trees)) for system in ("mask", "sequence"))
    yield against("mask / sequence of as many source tokens", mask, as_long)
    yield against("mask-align / sequence of both directions", *bench.mask_align())
    for system, corpus in (("sequence", plain), ("mask", trees)):
        training = bench.training(system, corpus, bench.flops(corpus))
        speed = against(f"{system} / product of matrices", training, product_of_matrices(device), "GFLOP")
        yield speed
        if promised := data_sheet(device):
            yield Measure(f"train: {system}, share of the card's data sheet", "", speed.rate / promised)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
            training()
            yield Measure(f"train: {system}, memory", "MiB", torch.cuda.max_memory_allocated(device) / 2**20)
