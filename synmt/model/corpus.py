"""Sentence pairs as arrays of ids, in memory or on a disk, and their batches as tensors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from synmt.device import sent
from synmt.model.batches import MATRIX, Batches, Ids, Sources, batch_links, pad, shuffled_batches
from synmt.model.config import BatchBy
from synmt.model.rows import Rows, add_row, as_row, as_square, lengths_of, open_rows
from synmt.model.source import SourceFeatures
from synmt.model.target import TargetSide
from synmt.nn.decoders import TargetBatch
from synmt.nn.encoding import SourceBatch
from synmt.nn.prefixes import Prefixes, PrefixPlan
from synmt.text.vocabulary import Vocabulary
from synmt.trees.record import ParseRecord

SOURCE, BARE, TARGET, OF_TARGET = "source ", "bare ", "target", "target "  # in the names of rows


@dataclass
class Corpus:
    """Sentence pairs: sources, and target ids each [t] with their end of sentence.

    plan: for a decoder that reads prefixes; unread: how many entries at the end of the target vocabulary are never
    read.
    readings: what the decoder reads besides; columns: their numbers, and those that losses know, by name, each [c].
    links: between the tokens of a pair, target and source, each [k,2], for a model that learns them.
    bare: the sources without their trees, one of which a batch has with probability `tree_dropout`.
    segmentations: how many rows stand for each pair, one after another: its subwords, and others of the same words.
    """

    vocabulary: Vocabulary
    sources: Sources
    targets: Sequence[Ids]
    plan: PrefixPlan | None = None
    unread: int = 0
    readings: Sequence[Any] = ()
    columns: dict[str, Sequence[Ids]] = field(default_factory=dict)
    links: Sequence[Ids] = field(default_factory=list)
    bare: Sources = field(default_factory=Sources)
    tree_dropout: float = 0.0
    segmentations: int = 1

    @classmethod
    def empty(
        cls, vocabulary: Vocabulary, side: TargetSide, plan: PrefixPlan | None = None, tree_dropout: float = 0.0
    ) -> "Corpus":
        """Return a corpus of pairs for a target side, which takes the plan if it reads prefixes."""
        plan = plan if side.reads_prefixes else None
        unread, readings = side.spelling.unread(vocabulary), side.readings(vocabulary)
        return cls(vocabulary, Sources(), [], plan, unread, readings, tree_dropout=tree_dropout)

    def append(
        self,
        source: SourceFeatures,
        target: Sequence[str],
        columns: Mapping[str, Sequence[int]] | None = None,
        bare: SourceFeatures | None = None,
    ) -> None:
        """Add a pair: what the encoder reads, and what the decoder should say, as vocabulary entries.

        columns: what losses know of the target; bare: what the encoder reads where the sentence is without its trees,
        needed for `tree_dropout`.
        """
        self.sources.append(source, self.vocabulary)
        if bare is not None:
            self.bare.append(bare, self.vocabulary)
        ids = np.array(self.vocabulary.encode_target(target), np.int32)
        add_row(self.targets, ids)
        if self.readings and self.unread:
            target = [entry for entry, is_read in zip(target, self._are_read(ids), strict=False) if is_read]
        for found in (*(reading.columns(target) for reading in self.readings), columns or {}):
            for name, numbers in found.items():
                add_row(self.columns.setdefault(name, []), np.asarray(numbers, np.int32))

    def _are_read(self, ids: Ids) -> NDArray[np.bool_]:
        """Return which entries of a target the decoder reads."""
        return ids < len(self.vocabulary.target) - self.unread

    def rows(self) -> dict[str, Sequence[NDArray[Any]]]:
        """Return what stands on a disk for the pairs, by name: a row a pair, as `of_rows` reads it. Links do not."""
        found: dict[str, Sequence[NDArray[Any]]] = {
            **{SOURCE + name: rows for name, rows in self.sources.rows().items()},
            **{BARE + name: rows for name, rows in self.bare.rows().items()},
            TARGET: self.targets,
            **{OF_TARGET + name: rows for name, rows in self.columns.items()},
        }
        return {name: rows for name, rows in found.items() if len(rows)}

    @classmethod
    def of_rows(
        cls,
        arrays: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
        vocabulary: Vocabulary,
        side: TargetSide,
        plan: PrefixPlan | None = None,
        tree_dropout: float = 0.0,
        segmentations: int = 1,
    ) -> "Corpus":
        """Return the corpus of rows, as numbers and where rows end, by name. Raises ValueError for what no corpus is,
        and KeyError."""
        corpus = cls.empty(vocabulary, side, plan, tree_dropout)
        corpus.segmentations = segmentations
        rows: dict[str, Rows[Any]] = {name: open_rows(*each, _reader(name)) for name, each in arrays.items()}
        corpus.targets = targets = rows[TARGET]
        targets.check_inside(len(vocabulary.target))
        if wrong := [name for name, each in rows.items() if len(each) != len(targets)]:
            raise ValueError(f"{len(rows[wrong[0]])} rows of {wrong[0]}, and {len(targets)} targets")
        if len(targets) % segmentations:
            raise ValueError(f"{len(targets)} targets, which are not {segmentations} of each pair")
        corpus.sources = Sources.of_rows(_named(SOURCE, rows), vocabulary)
        if tree_dropout:
            corpus.bare = Sources.of_rows(_named(BARE, rows), vocabulary)
        of_losses = side.columns(ParseRecord(), [])
        names = [name for found in (*(each.columns([]) for each in corpus.readings), of_losses) for name in found]
        corpus.columns = {name: rows[OF_TARGET + name] for name in names}
        return corpus

    def __len__(self) -> int:
        return len(self.targets) // self.segmentations

    def batch(self, indices: Sequence[int], device: torch.device) -> tuple[SourceBatch, TargetBatch]:
        source, golds = self._source(indices, device), [self.targets[i] for i in indices]
        target = self._unread_apart(golds, device) if self.unread else self._target(golds, device)
        target.columns = {
            name: sent(pad([rows[i] for i in indices], 0)[0], device) for name, rows in self.columns.items()
        }
        if self.links:
            target.links = batch_links([self.links[i] for i in indices], device)
        return source, target

    def _target(self, golds: Sequence[Ids], device: torch.device) -> TargetBatch:
        """Return targets whose entries are all read, each after those before it."""
        vocabulary = self.vocabulary
        gold, lengths = pad(golds, vocabulary.padding)
        inputs = torch.empty_like(gold)
        inputs[:, 0] = vocabulary.begin
        inputs[:, 1:] = gold[:, :-1]
        if self.plan is None:
            real = torch.arange(gold.shape[1]).unsqueeze(0) < lengths.unsqueeze(1)
            positions = real.flatten().nonzero().squeeze(1)
            counts = prefixes = None
        else:
            sentences, ends, weights = self.plan.choose(lengths.numpy())
            positions = torch.from_numpy(sentences * gold.shape[1] + ends - 1)
            counts = None if (weights == 1).all() else sent(torch.from_numpy(weights), device)
            prefixes = Prefixes.pack(sentences, ends, gold.shape, device)
        return TargetBatch(
            sent(inputs, device),
            sent(positions, device),
            sent(gold.flatten()[positions], device),
            int(lengths.sum()),
            counts,
            prefixes=prefixes,
        )

    def _source(self, indices: Sequence[int], device: torch.device) -> SourceBatch:
        """Return the sources, some without their trees: which ones, PyTorch's generator draws on the CPU."""
        padding = self.vocabulary.padding
        if not self.tree_dropout:
            return self.sources.batch(indices, padding, device)
        drawn = (torch.rand(len(indices)) < self.tree_dropout).tolist()
        sources = Sources()
        for index, is_bare in zip(indices, drawn, strict=True):
            sources.copy(self.bare if is_bare else self.sources, index)
        return sources.batch(range(len(indices)), padding, device)

    def _unread_apart(self, golds: Sequence[Ids], device: torch.device) -> TargetBatch:
        """Return targets some of whose entries are predicted after the tokens before them, and read nowhere."""
        vocabulary, are_read = self.vocabulary, [self._are_read(gold) for gold in golds]
        tokens = [gold[each] for gold, each in zip(golds, are_read, strict=True)]
        inputs, _ = pad([np.concatenate([[vocabulary.begin], each[:-1]]) for each in tokens], vocabulary.padding)
        before = [row * inputs.shape[1] + each.cumsum() - each for row, each in enumerate(are_read)]
        gold = np.concatenate(golds).astype(np.int64)
        return TargetBatch(
            sent(inputs, device),
            sent(torch.from_numpy(np.concatenate(before)), device),
            sent(torch.from_numpy(gold), device),
            len(gold),
        )

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        """Cut a batch into what is computed at a time: all at once, but for what a plan of prefixes cuts."""
        if self.plan is None:
            return [list(indices)]
        return self.plan.parts(indices, np.array([len(self.targets[i]) for i in indices]))

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int, by: BatchBy = "tokens") -> Batches:
        """Return the row of each pair once, in batches of similar lengths, in an order by seed and epoch alone.

        Where pairs have several rows, the first one decides about the batches, so that each epoch has as many; the
        others take turns in the epochs.
        """
        every = self.segmentations
        source, target = lengths_of(self.sources.ids)[::every], lengths_of(self.targets)[::every]
        counted = counted_by(by, source, target, np.array(self.sources.words, np.int64)[::every])
        batches = shuffled_batches(source, target, counted, batch_tokens, seed, epoch)
        if every == 1:
            return batches
        return batches.renumbered(lambda pairs: pairs * every + 1 + (pairs + seed + epoch) % (every - 1))


def is_matrix(name: str) -> bool:
    """Return whether rows of this name are of truth values."""
    return name.startswith((SOURCE + MATRIX, BARE + MATRIX))


def _named(prefix: str, rows: Mapping[str, Rows[Any]]) -> dict[str, Rows[Any]]:
    return {name.removeprefix(prefix): each for name, each in rows.items() if name.startswith(prefix)}


def _reader(name: str) -> Callable[[NDArray[Any]], Any]:
    """Return what makes a row of its numbers."""
    return as_square if is_matrix(name) else as_row


def counted_by(
    by: BatchBy, source: NDArray[np.int64], target: NDArray[np.int64], words: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return what counts of each pair where batches are made: lengths [n] in tokens, words of sources as subwords."""
    counted: dict[BatchBy, NDArray[np.int64]] = {
        "tokens": np.maximum(source, target),
        "target-tokens": target,
        "source-words": np.asarray(words, np.int64),
        "sentences": np.ones_like(source),
    }
    return counted[by]
