"""Sentence pairs in memory as arrays of ids, for models that read and predict both sides."""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from synmt.systems.batches import Ids, Sources, batch_links, pad, shuffled_batches, token_batches
from synmt.systems.mask_align_model import SideBatch
from synmt.systems.source import SourceFeatures, SourceSide
from synmt.text.bpe import Bpe
from synmt.text.links import Link
from synmt.text.vocabulary import Vocabulary
from synmt.trees.record import ParseRecord

Vocabularies = tuple[Vocabulary, Vocabulary]


def features(record: ParseRecord, side: SourceSide, bpe: Bpe) -> SourceFeatures:
    """What an encoder reads. Raises ValueError for a record that lacks what the side needs."""
    return side.features(record, bpe.segment)


def pieces(sentence: SourceFeatures) -> list[str]:
    """What is left of the tokens without structure."""
    return [token for token, word in zip(sentence.tokens, sentence.word_of, strict=True) if word >= 0]


def build_vocabulary(sentences: Sequence[SourceFeatures]) -> Vocabulary:
    """Pieces can be predicted, structure is only read."""
    predicted: Counter[str] = Counter()
    read: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    for sentence in sentences:
        predicted.update(pieces(sentence))
        read.update(sentence.tokens)
        for name, column in sentence.labels.items():
            labels.setdefault(name, Counter()).update(label for label in column if label)
    return Vocabulary.build(read, predicted, labels)


@dataclass
class Side:
    """One side of the pairs: what its encoder reads; ids of the pieces each [n]; the word that each is of; and
    where it stands in what the encoder reads, None if there is nothing else."""

    read: Sources
    pieces: list[Ids]
    words: list[list[int]]
    places: list[Ids] | None

    @classmethod
    def encode(cls, sentences: Sequence[SourceFeatures], vocabulary: Vocabulary) -> "Side":
        read = Sources.encode(sentences, vocabulary)
        kept = [[place for place, word in enumerate(each.word_of) if word >= 0] for each in sentences]
        words = [[each.word_of[place] for place in places] for each, places in zip(sentences, kept, strict=True)]
        if all(len(places) == len(ids) for places, ids in zip(kept, read.ids, strict=True)):
            return cls(read, read.ids, words, None)
        places = [np.array(each, np.int32) for each in kept]
        return cls(read, [ids[each] for ids, each in zip(read.ids, places, strict=True)], words, places)

    def lengths(self) -> NDArray[np.int64]:
        """Of what the encoder reads."""
        return np.array([len(ids) for ids in self.read.ids])

    def batch(self, indices: Sequence[int], padding: int, device: torch.device) -> SideBatch:
        read = self.read.batch(indices, padding, device)
        words = [np.array(self.words[i], np.int32) for i in indices]
        longest = max(map(len, words))  # where padded, a word that no piece is of
        word_of = pad(words, longest - 1)[0].to(device)
        if self.places is None:
            return SideBatch(read, read.ids, word_of, read.padding, None)
        ids, lengths = pad([self.pieces[i] for i in indices], padding)
        places, _ = pad([self.places[i] for i in indices], 0)
        is_padding = torch.arange(ids.shape[1]).unsqueeze(0) >= lengths.unsqueeze(1)
        return SideBatch(read, ids.to(device), word_of, is_padding.to(device), places.to(device))


@dataclass
class AlignerCorpus:
    """Both sides, and links between their pieces to learn, (target, source) each [k,2]."""

    source: Side
    target: Side
    links: list[Ids] | None = None

    def __len__(self) -> int:
        return len(self.source.pieces)

    def batch(
        self, indices: Sequence[int], vocabularies: Vocabularies, device: torch.device
    ) -> tuple[SideBatch, SideBatch, torch.Tensor | None]:
        source = self.source.batch(indices, vocabularies[0].padding, device)
        target = self.target.batch(indices, vocabularies[1].padding, device)
        links = None if self.links is None else batch_links([self.links[i] for i in indices], device)
        return source, target, links

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        """The batch as what is computed at a time: all of it."""
        return [list(indices)]

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Each pair once, in batches of similar lengths; the order is a function of seed and epoch alone."""
        return shuffled_batches(self.source.lengths(), self.target.lengths(), batch_tokens, seed, epoch)

    def batches_by_length(self, batch_tokens: int) -> list[list[int]]:
        """Each pair once, the longest first."""
        lengths = np.maximum(self.source.lengths(), self.target.lengths())
        return token_batches(lengths.argsort(kind="stable")[::-1].tolist(), lengths, batch_tokens)


def links_of_pieces(links: Set[Link], source_words: Sequence[int], target_words: Sequence[int]) -> Ids:
    """The pieces of linked words, (target, source), [k,2]."""
    linked = [(i, j) for i, v in enumerate(target_words) for j, u in enumerate(source_words) if (u, v) in links]
    return np.array(linked, np.int32).reshape(-1, 2)
