"""Decoders that write trees, compared with `sequence`: speed and memory of training, and speed of translation.

All decoders learn from the same sentences and write the same number of words. Rates count words only, so the cost of
arcs lowers them.
"""

from collections.abc import Callable
from functools import cache
from itertools import cycle
from typing import Any

import numpy as np
import torch
from torch import Tensor

from synmt.components import systems
from synmt.data.batches import Sources
from synmt.data.corpus import Corpus
from synmt.model.source import SourceFeatures, source_side
from synmt.model.target import TargetSide, target_side
from synmt.model.translation import TranslationModel
from synmt.nn.prefixes import PrefixPlan
from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig, SearchName
from synmt.search.tree_search import tree_search
from synmt.text.vocabulary import END, END_TOKEN, UNKNOWN_TOKEN, Vocabulary
from synmt.training.distribution import Processes
from synmt.training.update import Updater
from synmt.trees.arc_tokens import ArcStyle, is_arc
from synmt.trees.record import ParseRecord
from tests.bench.corpus import SHARED as WORDS
from tests.bench.pairs import Comparison, compare
from tests.bench.training import NETWORK, TRAINING

CPU = torch.device("cpu")
RELATIONS = [f"rel{number}" for number in range(45)]
READ_PREFIXES = ("bitran", "parent", "gcn")
SENTENCES = 200
TRANSLATED = 20
MAX_ROUNDS = 3  # a round over all prefixes takes half a minute


def compare_targets(rounds: int) -> list[Comparison]:
    sampled = [
        ("tags", 0, ""),
        ("transitions", 0, ""),
        ("compose", 0, ""),
        *((name, 4, ", 4 prefixes") for name in READ_PREFIXES),
    ]
    every = [(name, 0, ", all prefixes") for name in READ_PREFIXES]
    few = min(rounds, MAX_ROUNDS)
    return [
        *(compare_training(name, prefixes, how, rounds, warm_up=1) for name, prefixes, how in sampled),
        *(compare_training(name, prefixes, how, few, warm_up=0) for name, prefixes, how in every),
        *(compare_memory(name, prefixes, how) for name, prefixes, how in [*sampled, *every]),
        *(compare_translation(name, few) for name in ("tags", "transitions", "compose", *READ_PREFIXES)),
        compare_training("compose", 0, "", rounds, warm_up=1, other="transitions"),
        compare_translation("compose", rounds, other="transitions"),
        compare_searches("compose", "words", few),
    ]


def compare_training(
    name: str, prefixes: int, how: str, rounds: int, warm_up: int, other: str = "sequence"
) -> Comparison:
    ours, theirs = training(name, prefixes), training(other, 0)
    return compare(f"train: {name}{how} / {other}", "words", ours, theirs, rounds, warm_up)


def compare_memory(name: str, prefixes: int, how: str) -> Comparison:
    """Compare how many words of a batch fit into each GiB that an update stores for its gradients."""
    words = words_of(batches()[0])
    rate, other_rate = (words * 2**30 / kept_bytes(*each) for each in ((name, prefixes), ("sequence", 0)))
    ratio = rate / other_rate
    return Comparison(f"memory: {name}{how} / sequence", "words/GiB", rate, other_rate, ratio, ratio, ratio)


def compare_translation(name: str, rounds: int, other: str = "sequence") -> Comparison:
    return compare(f"translate: {name} / {other}", "words", translation(name), translation(other), rounds, 0)


def compare_searches(name: str, search: SearchName, rounds: int) -> Comparison:
    one, other = translation(name, search), translation(name)
    return compare(f"translate: {name}, {search} / tokens", "words", one, other, rounds, 0)


def training(name: str, prefixes: int) -> Callable[[], int]:
    """Return a function that makes an update with the next batch and returns the number of target words."""
    updater = Updater(model(name), corpus(name, prefixes), TRAINING, Processes(0, 1, CPU))
    stream = cycle(batches())

    def work() -> int:
        batch = next(stream)
        updater(updater.step([batch], 1), 1e-4)
        return words_of(batch)

    return work


def kept_bytes(name: str, prefixes: int) -> int:
    """Return the most bytes that an update stores at a time for its gradients, apart from parameters."""
    data, trained = corpus(name, prefixes), model(name).train()
    parameters = {parameter.untyped_storage().data_ptr() for parameter in trained.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()

    most = 0
    for part in data.parts(batches()[0]):
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            trained.loss(*data.batch(part, CPU), smoothing=0.1)
        most = max(most, sum(kept.values()))
    return most


def translation(name: str, search: SearchName = "tokens") -> Callable[[], int]:
    """Return a function that translates sentences of about average length with a beam of 5. Every hypothesis has as
    many words as its source."""
    searched = model(name).eval()
    searched.network.output_bias.data[END] = -50.0  # so that hypotheses end only at their limit
    known = vocabulary(name)
    sources, side = Sources.encode(sentences()[0], known), target(name)
    by_length = sorted(range(SENTENCES), key=lambda index: len(sources.rows[index]["ids"]))
    batch = sources.batch(by_length[SENTENCES // 2 :][:TRANSLATED], known.padding, CPU)
    transitions = side.output(known, 1)

    config = SearchConfig(beam=5, max_length_offset=0, search=search)
    run: Any = beam_search if search == "tokens" else tree_search

    def work() -> int:
        run(searched, batch, config, transitions)
        return int(batch.words.sum())

    return work


def target(name: str) -> TargetSide:
    return target_side({systems()[name][1]: {}})


@cache
def vocabulary(name: str) -> Vocabulary:
    side = target(name)
    tree = ArcStyle().tokens(RELATIONS)
    if side.linearization.trees == "apart":
        said = {entry for record in sentences()[1] for entry in side.tokens(record, lambda word: [word])}
        tree = sorted(filter(is_arc, said))
    return Vocabulary([END_TOKEN, UNKNOWN_TOKEN, *WORDS, *tree], [f"s{i}" for i in range(2000)])


def model(name: str) -> TranslationModel:
    torch.manual_seed(0)
    return TranslationModel(NETWORK, source_side({"sequence": {}}), target(name), vocabulary(name))


@cache
def sentences() -> tuple[list[SourceFeatures], list[ParseRecord]]:
    """Return sources, and targets with random projective trees, with lengths as in tests.bench.training."""
    random = np.random.default_rng(7)
    sources, targets = [], []
    for lengths in np.clip(random.lognormal(np.log(20), 0.4, (SENTENCES, 2)), 3, 80).astype(int).tolist():
        words, tokens = ([WORDS[i - 1] for i in np.minimum(random.zipf(1.3, n), len(WORDS))] for n in lengths)
        heads = [0] * len(tokens)
        hang(heads, 1, len(tokens), 0, random)
        sources.append(SourceFeatures(words, len(words)))
        relations = random.choice(RELATIONS, len(tokens)).tolist()
        targets.append(ParseRecord(tokens=tokens, heads=heads, deprels=relations))
    return sources, targets


def hang(heads: list[int], first: int, last: int, head: int, random: np.random.Generator) -> None:
    """Attach the words first … last to `head`: a random one of them directly, the others below it."""
    if first <= last:
        top = int(random.integers(first, last + 1))
        heads[top - 1] = head
        hang(heads, first, top - 1, top, random)
        hang(heads, top + 1, last, top, random)


def corpus(name: str, prefixes: int) -> Corpus:
    sources, targets = sentences()
    side = target(name)
    made = Corpus.empty(vocabulary(name), side, PrefixPlan(prefixes, TRAINING.prefix_tokens))
    for features, record in zip(sources, targets, strict=True):
        made.append(features, side.tokens(record, lambda word: [word]))
    return made


def batches() -> list[list[int]]:
    """Return the batches, which contain the same sentences for all decoders."""
    return list(corpus("sequence", 0).shuffled_batches(TRAINING.batch_tokens, seed=1, epoch=0))


def words_of(batch: list[int]) -> int:
    return sum(len(sentences()[1][index].tokens) for index in batch)
