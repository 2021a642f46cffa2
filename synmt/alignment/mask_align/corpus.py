"""Sentence pairs in memory as arrays of ids, for a model that reads and predicts both sides."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from synmt.alignment.mask_align.model import SideBatch
from synmt.model.batches import Batches, Ids, Sources, batch_links, pad, shuffled_batches
from synmt.model.config import BatchBy
from synmt.model.corpus import counted_by
from synmt.model.source import SourceFeatures
from synmt.text.vocabulary import Vocabulary
from synmt.training.preparation import count_labels

Vocabularies = tuple[Vocabulary, Vocabulary]


def subwords_of(sentence: SourceFeatures) -> list[str]:
    """Return what is left of the tokens without structure."""
    return [token for token, word in zip(sentence.tokens, sentence.word_of, strict=True) if word >= 0]


def build_vocabulary(sentences: Iterable[SourceFeatures]) -> Vocabulary:
    """Return a vocabulary whose subwords can be predicted; structure is only read."""
    predicted: Counter[str] = Counter()
    read: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    for sentence in sentences:
        predicted.update(subwords_of(sentence))
        read.update(sentence.tokens)
        count_labels(labels, sentence)
    return Vocabulary.build(read, predicted, labels)


@dataclass
class EncodedSide:
    """One side of the pairs: what its encoder reads; ids of the subwords each [n]; the word that each is of; and
    where it stands in what the encoder reads, None if there is nothing else."""

    read: Sources
    subwords: Sequence[Ids]
    words: list[list[int]]
    places: list[Ids] | None

    @classmethod
    def encode(cls, sentences: Sequence[SourceFeatures], vocabulary: Vocabulary) -> "EncodedSide":
        read = Sources.encode(sentences, vocabulary)
        kept = [[place for place, word in enumerate(each.word_of) if word >= 0] for each in sentences]
        words = [[each.word_of[place] for place in places] for each, places in zip(sentences, kept, strict=True)]
        if all(len(places) == len(ids) for places, ids in zip(kept, read.ids, strict=True)):
            return cls(read, read.ids, words, None)
        places = [np.array(each, np.int32) for each in kept]
        return cls(read, [ids[each] for ids, each in zip(read.ids, places, strict=True)], words, places)

    def lengths(self) -> NDArray[np.int64]:
        """Return those of what the encoder reads."""
        return np.array([len(ids) for ids in self.read.ids])

    def batch(self, indices: Sequence[int], padding: int, device: torch.device) -> SideBatch:
        read = self.read.batch(indices, padding, device)
        words = [np.array(self.words[i], np.int32) for i in indices]
        longest = max(map(len, words))  # where padded, a word that no subword is of
        word_of = pad(words, longest - 1)[0].to(device)
        if self.places is None:
            return SideBatch(read, read.ids, word_of, read.padding, None)
        ids, lengths = pad([self.subwords[i] for i in indices], padding)
        places, _ = pad([self.places[i] for i in indices], 0)
        is_padding = torch.arange(ids.shape[1]).unsqueeze(0) >= lengths.unsqueeze(1)
        return SideBatch(read, ids.to(device), word_of, is_padding.to(device), places.to(device))


@dataclass
class AlignerCorpus:
    """Both sides, and links between their subwords to learn, (target, source) each [k,2]."""

    vocabularies: Vocabularies
    source: EncodedSide
    target: EncodedSide
    links: list[Ids] | None = None

    def __len__(self) -> int:
        return len(self.source.subwords)

    def batch(self, indices: Sequence[int], device: torch.device) -> tuple[SideBatch, SideBatch, torch.Tensor | None]:
        source = self.source.batch(indices, self.vocabularies[0].padding, device)
        target = self.target.batch(indices, self.vocabularies[1].padding, device)
        links = None if self.links is None else batch_links([self.links[i] for i in indices], device)
        return source, target, links

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        """Return the batch, which is computed at once."""
        return [list(indices)]

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int, by: BatchBy = "tokens") -> Batches:
        """Return each pair once, in batches of similar lengths, in an order by seed and epoch alone."""
        source, target = self.source.lengths(), self.target.lengths()
        counted = counted_by(by, source, target, self.source.read.words)
        return shuffled_batches(source, target, counted, batch_tokens, seed, epoch)

    def lengths(self) -> NDArray[np.int64]:
        """Return the longer side of each pair, in tokens that its encoder reads."""
        return np.maximum(self.source.lengths(), self.target.lengths())
