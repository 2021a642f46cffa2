"""Training speed: `sequence` against the bare loop, `mask` against `sequence`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import cycle, islice

import numpy as np
import torch
from torch import Tensor

from synmt.nn.config import TransformerConfig
from synmt.systems.batches import Sources
from synmt.systems.source import SourceFeatures, source_side
from synmt.systems.target import target_side
from synmt.systems.translation import TranslationModel
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary
from synmt.training.config import TrainingConfig
from synmt.training.corpus import Corpus
from synmt.training.distribution import Processes
from synmt.training.presets import PAPER
from synmt.training.update import Updater
from synmt.trees.constituency import subtree_ends
from tests.bench.bare import BareTraining, BareTransformer
from tests.bench.pairs import Comparison, compare

CPU = torch.device("cpu")
# 4+4 layers of width 256 and a joint vocabulary of 8000, of which the target uses three quarters.
NETWORK = TransformerConfig(256, 1024, 4, 4, 8, dropout=0.1, attention_dropout=0.1, activation_dropout=0.1)
TRAINING: TrainingConfig = replace(PAPER.training, batch_tokens=2048, word_dropout=0.0, label_smoothing=0.1)
WORDS = [f"t{i}" for i in range(6000)]
LABELS = [f"l{i}" for i in range(40)]
VOCABULARY = Vocabulary([END_TOKEN, UNKNOWN_TOKEN, *WORDS], [f"s{i}" for i in range(2000)], {"deprels": LABELS})
UPDATES = 3  # of one timed round


def random_corpus(mean: int, sentences: int = 2000) -> Corpus:
    """Sentences with lengths spread as in captions and news (log-normal), words by Zipf's law, random trees."""
    random = np.random.default_rng(7)
    source_lengths = np.clip(random.lognormal(np.log(mean), 0.4, sentences), 3, 4 * mean).astype(int)
    target_lengths = np.clip(random.lognormal(np.log(20), 0.4, sentences), 3, 80).astype(int)
    every = np.array([*WORDS, *VOCABULARY.source])
    features = []
    for length in source_lengths:
        words = every[np.minimum(random.zipf(1.3, length), len(every)) - 1].tolist()
        parents = [-1, *(int(random.integers(max(0, i - 4), i)) for i in range(1, length))]
        heads = random.integers(0, length, length).tolist()
        vectors = {
            "parents": parents,
            "ends": subtree_ends(parents),
            "parent_positions": [2 * head for head in heads],
            "parent_pieces": heads,
        }
        labels = {"deprels": random.choice(LABELS, length).tolist()}
        features.append(SourceFeatures(words, int(length), vectors, labels))
    targets = [
        np.append(np.minimum(random.zipf(1.3, length), len(WORDS)) + 1, 0).astype(np.int32)
        for length in target_lengths
    ]
    return Corpus(Sources.encode(features, VOCABULARY), targets)


@dataclass
class Ours:
    """`UPDATES` updates of a system a call; gives the target tokens they read."""

    updater: Updater
    batches: Callable[[], list[list[int]]]
    update: int = 0

    def __call__(self) -> int:
        tokens = 0
        for batch in self.batches():
            self.update += 1
            tokens += self.updater([batch], self.update, 1e-4)[1]
        return tokens


def same_batches(corpus: Corpus) -> Callable[[], list[list[int]]]:
    """The next few batches at each call, from the same beginning for all who ask."""
    stream = cycle(corpus.shuffled_batches(TRAINING.batch_tokens, seed=1, epoch=0))
    return lambda: list(islice(stream, UPDATES))


def system(name: str, corpus: Corpus) -> Ours:
    torch.manual_seed(0)
    model = TranslationModel(NETWORK, source_side({name: {}}), target_side({"sequence": {}}), VOCABULARY)
    return Ours(Updater(model, corpus, VOCABULARY, TRAINING, Processes(0, 1, CPU)), same_batches(corpus))


def bare(corpus: Corpus) -> Callable[[], int]:
    torch.manual_seed(0)
    padding = VOCABULARY.padding
    training = BareTraining(BareTransformer(NETWORK, len(VOCABULARY), padding), 0.1, TRAINING.clip)
    batches = same_batches(corpus)

    def padded(rows: list[list[int]]) -> Tensor:
        return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, padding)

    def work() -> int:
        tokens = 0
        for batch in batches():
            source = padded([corpus.sources.ids[i].tolist() for i in batch])
            targets = [corpus.targets[i].tolist() for i in batch]
            inputs = padded([[VOCABULARY.begin, *target[:-1]] for target in targets])
            training(source, inputs, padded(targets))
            tokens += sum(map(len, targets))
        return tokens

    return work


def compare_training(rounds: int) -> list[Comparison]:
    words, nodes = random_corpus(20), random_corpus(50)
    pairs = {"mask": nodes, "pascal": words, "lisa": words, "label-features": words}
    return [
        compare("train: sequence / bare loop", "tokens", system("sequence", words), bare(words), rounds),
        *(
            compare(f"train: {name} / sequence", "tokens", system(name, corpus), system("sequence", corpus), rounds)
            for name, corpus in pairs.items()
        ),
    ]
