"""Sentence pairs as arrays of ids, and models that read both sides and predict the subwords of each."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from synmt.alignment.aligner import inputs_of
from synmt.alignment.extraction import HARMONIC_THRESHOLD, SoftLinks
from synmt.data.batches import Batches, Ids, Sources, batch_links, in_batches, pad, shuffled_batches
from synmt.data.bitext import Bitext
from synmt.data.preparation import Frequencies
from synmt.data.records import SentencePair
from synmt.data.rows import lengths_of
from synmt.device import autocast, local_device
from synmt.model.config import BatchBy
from synmt.model.folder import ModelFolder
from synmt.model.source import SourceFeatures, SourceSide
from synmt.model.target import WORDS
from synmt.nn.encoding import SourceBatch
from synmt.streams import Line, Notes
from synmt.text.bpe import Bpe
from synmt.text.links import Link
from synmt.text.vocabulary import Vocabulary
from synmt.training.config import TrainingConfig
from synmt.training.fit import Recipe
from synmt.training.validation import Validate

BATCH_TOKENS = 4096  # number of sentences × longest side
Vocabularies = tuple[Vocabulary, Vocabulary]
Features = tuple[SourceFeatures, SourceFeatures]
Config = TypeVar("Config", bound=Any)


@dataclass(slots=True)
class SideBatch:
    """One side of B pairs: the input of its encoder, and the subwords to predict from the other side.

    subwords [B,J]; words [B,J]: index of each subword's word; padding [B,J] bool, None if there is none; places [B,J]:
    position of each subword in the input, None if the input consists of the subwords alone.
    """

    read: SourceBatch
    subwords: Tensor
    words: Tensor
    padding: Tensor | None
    places: Tensor | None

    @property
    def real(self) -> Tensor:
        """Return which positions are subwords, not padding, [B,J]."""
        return torch.ones_like(self.subwords, dtype=torch.bool) if self.padding is None else ~self.padding


Read = Callable[[SideBatch, SideBatch], tuple[Tensor, Tensor]]


def subwords_of(sentence: SourceFeatures) -> list[str]:
    """Return the tokens without structure."""
    return [token for token, word in zip(sentence.tokens, sentence.word_of, strict=True) if word >= 0]


@dataclass
class EncodedSide:
    """One side of the pairs. read: the inputs of its encoder; subwords: their ids, [n] each; words: the index of each
    subword's word; places: the position of each subword in the input, None if the input consists of the subwords
    alone."""

    read: Sources
    subwords: Sequence[Ids]
    words: list[list[int]]
    places: list[Ids] | None

    @classmethod
    def encode(cls, sentences: Sequence[SourceFeatures], vocabulary: Vocabulary) -> "EncodedSide":
        read = Sources.encode(sentences, vocabulary)
        kept = [[place for place, word in enumerate(each.word_of) if word >= 0] for each in sentences]
        words = [[each.word_of[place] for place in places] for each, places in zip(sentences, kept, strict=True)]
        every = [row["ids"] for row in read.rows]
        if all(len(places) == len(ids) for places, ids in zip(kept, every, strict=True)):
            return cls(read, every, words, None)
        places = [np.array(each, np.int32) for each in kept]
        return cls(read, [ids[each] for ids, each in zip(every, places, strict=True)], words, places)

    def lengths(self) -> NDArray[np.int64]:
        """Return the length of each input of the encoder."""
        return lengths_of(self.read.rows)

    def batch(self, indices: Sequence[int], padding: int, device: torch.device) -> SideBatch:
        read = self.read.batch(indices, padding, device)
        words = [np.array(self.words[i], np.int32) for i in indices]
        longest = max(map(len, words))  # so that padding, longest − 1, is no word of a shorter sentence
        word_of = pad(words, longest - 1)[0].to(device)
        if self.places is None:
            return SideBatch(read, read.ids, word_of, read.padding, None)
        ids, lengths = pad([self.subwords[i] for i in indices], padding)
        places, _ = pad([self.places[i] for i in indices], 0)
        is_padding = torch.arange(ids.shape[1]).unsqueeze(0) >= lengths.unsqueeze(1)
        return SideBatch(read, ids.to(device), word_of, is_padding.to(device), places.to(device))


@dataclass
class AlignerCorpus:
    """Both sides, and links between their subwords to learn from, (target, source) [k,2] for each pair."""

    vocabularies: Vocabularies
    source: EncodedSide
    target: EncodedSide
    links: list[Ids] | None = None

    def __len__(self) -> int:
        return len(self.source.subwords)

    def batch(
        self, indices: Sequence[int], device: torch.device, random: torch.Generator | None = None
    ) -> tuple[SideBatch, SideBatch, torch.Tensor | None]:
        """Return the tensors of pairs, and of the links to learn from; random is ignored."""
        source = self.source.batch(indices, self.vocabularies[0].padding, device)
        target = self.target.batch(indices, self.vocabularies[1].padding, device)
        links = None if self.links is None else batch_links([self.links[i] for i in indices], device)
        return source, target, links

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        """Return the batch as the only part."""
        return [list(indices)]

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int, by: BatchBy = "tokens") -> Batches:
        """Return each pair once, in batches of similar lengths, in an order that depends only on seed and epoch."""
        sides = self.source, self.target
        source, target = (
            np.array(list(map(len, each.subwords))) if by == "subwords" else each.lengths() for each in sides
        )
        return shuffled_batches(source, target, by, batch_tokens, seed, epoch)

    def lengths(self) -> NDArray[np.int64]:
        """Return the length of the longer side of each pair, in input tokens."""
        return np.maximum(self.source.lengths(), self.target.lengths())


def features_of(pair: SentencePair, encoders: tuple[SourceSide, SourceSide], bpe: Bpe) -> Features:
    """Return the encoder inputs of both sides. Raises BadInput for a record that lacks something its side needs."""
    source, target = encoders
    with pair.lines[0].naming():
        return source.features(pair.source, bpe.segment), target.features(pair.target, bpe.segment)


def encode(features: Sequence[Features], vocabularies: tuple[Vocabulary, ...]) -> AlignerCorpus:
    """Return pairs as ids; vocabularies: one per side."""
    of_source, of_target = vocabularies
    source, target = (
        EncodedSide.encode([pair[side] for pair in features], vocabulary)
        for side, vocabulary in enumerate(vocabularies)
    )
    return AlignerCorpus((of_source, of_target), source, target)


def links_of_subwords(links: Set[Link], source_words: Sequence[int], target_words: Sequence[int]) -> Ids:
    """Return all pairs of subwords of linked words, (target, source) [k,2], given the word index of each subword."""
    linked = [(i, j) for i, v in enumerate(target_words) for j, u in enumerate(source_words) if (u, v) in links]
    return np.array(linked, np.int32).reshape(-1, 2)


@dataclass
class LearningBitext:
    """The training data of a model that reads both sides.

    guide: the links of each pair to learn from, if any; score: makes the function that validates a model. corpus: set
    by `examples` to all pairs with at most `max_length` subwords per side; the notes count longer pairs.
    """

    bitext: Bitext
    notes: Notes
    guide: Sequence[Set[Link]] | None = None
    score: Callable[[ModelFolder[Any], TrainingConfig], Validate] | None = None
    corpus: AlignerCorpus | None = field(init=False, default=None)

    def fingerprint(self) -> dict[str, str]:
        return inputs_of(self.bitext, self.guide)

    def __len__(self) -> int:
        return len(self.bitext)

    def vocabularies(self, config: Any, recipe: Recipe[Any]) -> tuple[Bpe, Vocabularies]:
        """Return the merges, and the vocabularies of both sides. Subwords can be predicted; structural tokens are only
        read.

        Raises BadInput for a record that lacks something its side needs.
        """
        bpe = recipe.merges(self.bitext.joint_bpe)
        source, target, encoders = Frequencies(), Frequencies(), config.encoders
        for pair in self.bitext:
            for side, features in zip((source, target), features_of(pair, encoders, bpe), strict=True):
                side.count(features, subwords_of(features))
        return bpe, (source.vocabulary(WORDS), target.vocabulary(WORDS))

    def examples(self, folder: ModelFolder[Any], training: TrainingConfig) -> AlignerCorpus:
        kept: list[Features] = []
        links: list[Ids] = []
        longer: list[Line] = []
        encoders = folder.config.encoders
        for number, pair in enumerate(self.bitext):
            features = features_of(pair, encoders, folder.bpe)
            if max(side.words for side in features) > training.max_length:
                longer.append(pair.lines[0])
                continue
            kept.append(features)
            if self.guide is not None:
                source, target = ([word for word in side.word_of if word >= 0] for side in features)
                links.append(links_of_subwords(self.guide[number], source, target))
        self.notes.left_out(f"over {training.max_length} subwords", longer)
        self.corpus = encode(kept, folder.vocabularies)
        self.corpus.links = links if self.guide is not None else None
        return self.corpus

    def validation(self, folder: ModelFolder[Any], training: TrainingConfig) -> Validate | None:
        return self.score(folder, training) if self.score else None


@dataclass(frozen=True)
class Opened(Generic[Config]):
    """A loaded model that reads both sides."""

    folder: ModelFolder[Config]
    model: Any
    device: torch.device

    @classmethod
    def open(cls, folder: Path, kind: type[Config], device: str) -> Self:
        """Load the model of a folder. Raises BadInput, naming the file."""
        opened, place = ModelFolder.open(folder, kind), local_device(device)
        return cls(opened, opened.load_model(place), place)

    def encode(self, pairs: Sequence[SentencePair]) -> AlignerCorpus:
        encoders = self.folder.config.encoders
        features = [features_of(pair, encoders, self.folder.bpe) for pair in pairs]
        return encode(features, self.folder.vocabularies)

    def links(
        self, pairs: Sequence[SentencePair], read: Read, threshold: float = HARMONIC_THRESHOLD, batch_tokens: int = 0
    ) -> list[SoftLinks]:
        """Return the weights of each pair in order. Raises BadInput for a record that lacks something its side needs.

        read: computes weights [B,I,J] and [B,J,I] from both sides of a batch; batch_tokens: 0 stands for BATCH_TOKENS.
        """
        corpus = self.encode(pairs)

        def of_batch(batch: list[int]) -> list[SoftLinks]:
            x, y, _ = corpus.batch(batch, self.device)
            with autocast(self.device):
                forward, backward = read(x, y)
            of_targets, of_sources = forward.transpose(1, 2).float().cpu().numpy(), backward.float().cpu().numpy()
            links = []
            for row, number in enumerate(batch):
                words = corpus.source.words[number], corpus.target.words[number]
                cells = row, slice(len(words[0])), slice(len(words[1]))
                links.append(SoftLinks(of_targets[cells], of_sources[cells], *words, threshold))
            return links

        return in_batches(corpus.lengths().tolist(), batch_tokens or BATCH_TOKENS, of_batch)
