"""Decoders that write trees against `sequence`: training and translation of the same sentences."""

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle, islice

import numpy as np
import torch
from torch import Tensor

from synmt.decoding.beam import SearchConfig, beam_search
from synmt.decoding.hypotheses import Transitions
from synmt.systems.batches import Sources
from synmt.systems.source import SourceFeatures, source_side
from synmt.systems.target import TargetSide, numbered_labels, target_side
from synmt.systems.translation import TranslationModel
from synmt.text.vocabulary import END, END_TOKEN, UNKNOWN_TOKEN, Vocabulary
from synmt.training.corpus import Corpus
from synmt.training.distribution import Processes
from synmt.training.prefixes import PrefixPlan
from synmt.training.update import Updater
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.record import ParseRecord
from tests.bench.pairs import Comparison, compare
from tests.bench.training import CPU, NETWORK, TRAINING, WORDS

LABELS = [f"rel{number}" for number in range(45)]
VOCABULARY = Vocabulary(
    [END_TOKEN, UNKNOWN_TOKEN, *WORDS, *ArcStyle().entries(LABELS)], [f"s{i}" for i in range(2000)]
)
SYSTEMS = {name: target_side({name: {}}) for name in ("sequence", "linearized", "bitran", "parent", "gcn")}
SENTENCES = 200
BEAM = 5


def sentences() -> tuple[list[SourceFeatures], list[ParseRecord]]:
    """Sources and targets of about 20 words, as in tests.bench.training, with random projective trees."""
    random = np.random.default_rng(7)
    features, targets = [], []
    for _ in range(SENTENCES):
        source, target = np.clip(random.lognormal(np.log(20), 0.4, 2), 3, 60).astype(int)
        features.append(SourceFeatures([WORDS[i] for i in random.integers(0, len(WORDS), source)], int(source)))
        words = [WORDS[i] for i in np.minimum(random.zipf(1.3, target), len(WORDS)) - 1]
        heads = [0] * int(target)
        hang(heads, 1, int(target), 0, random)
        targets.append(ParseRecord(tokens=words, heads=heads, deprels=random.choice(LABELS, target).tolist()))
    return features, targets


def hang(heads: list[int], first: int, last: int, head: int, random: np.random.Generator) -> None:
    """Hangs the words first … last, a random one of which is above the others, on a word."""
    if first <= last:
        top = int(random.integers(first, last + 1))
        heads[top - 1] = head
        hang(heads, first, top - 1, top, random)
        hang(heads, top + 1, last, top, random)


def corpus(side: TargetSide, prefixes: int) -> Corpus:
    features, records = sentences()
    entries = [side.entries(record, lambda word: [word]) for record in records]
    labels = numbered_labels(VOCABULARY)
    return Corpus(
        Sources.encode(features, VOCABULARY),
        [np.array(VOCABULARY.encode_target(each), np.int32) for each in entries],
        PrefixPlan(prefixes, TRAINING.prefix_tokens) if side.reads_prefixes else None,
        [side.edges(each, labels) for each in entries] if side.reads_graphs else [],
    )


def model(side: TargetSide) -> TranslationModel:
    torch.manual_seed(0)
    return TranslationModel(NETWORK, source_side({"sequence": {}}), side, VOCABULARY)


def training(name: str, prefixes: int) -> Callable[[], int]:
    """One update with the next batch of the same sentences for all; gives how many words they have."""
    data = corpus(SYSTEMS[name], prefixes)
    words = [len(record.tokens) for record in sentences()[1]]
    updater = Updater(model(SYSTEMS[name]), data, VOCABULARY, TRAINING, Processes(0, 1, CPU))
    batches = cycle(corpus(SYSTEMS["sequence"], 0).shuffled_batches(TRAINING.batch_tokens, seed=1, epoch=0))

    def work() -> int:
        batch = next(batches)
        updater([batch], 1, 1e-4)
        return sum(words[index] for index in batch)

    return work


def saved_bytes(name: str, prefixes: int) -> int:
    """What an update's largest forward pass keeps for its gradients, parameters aside."""
    data, made = corpus(SYSTEMS[name], prefixes), model(SYSTEMS[name]).train()
    own = {parameter.untyped_storage().data_ptr() for parameter in made.parameters()}
    (batch, *_) = corpus(SYSTEMS["sequence"], 0).shuffled_batches(TRAINING.batch_tokens, seed=1, epoch=0)
    most = 0
    for part in data.parts(batch):
        kept: dict[int, int] = {}

        def keep(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in own:
                kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            loss = made.loss(*data.batch(part, VOCABULARY, CPU), smoothing=0.1)
        most = max(most, sum(kept.values()))
        del loss
    return most


def translating(name: str) -> Callable[[], int]:
    """A batch through a search whose hypotheses all have as many words as the source; gives how many."""
    side = SYSTEMS[name]
    searched = model(side).eval()
    searched.network.output_bias.data[END] = -50.0
    sources = Sources.encode(sentences()[0], VOCABULARY)
    batch = sorted(range(SENTENCES), key=lambda index: len(sources.ids[index]))[60:100]
    transitions = Transitions(side, VOCABULARY) if side.writes_arcs else None
    config = SearchConfig(beam=BEAM, extra_length=0)

    def work() -> int:
        found = beam_search(searched, sources.batch(batch, VOCABULARY.padding, CPU), config, transitions)
        return len(found)

    return work
