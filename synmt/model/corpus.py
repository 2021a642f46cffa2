"""Sentence pairs as arrays of ids, in memory or on a disk, and their batches as tensors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from synmt.device import sent
from synmt.model.batches import MATRIX, Batches, Ids, Sources, batch_links, pad, shuffled_batches
from synmt.model.config import BatchBy
from synmt.model.prefixes import PrefixPlan
from synmt.model.rows import Rows, add_row, as_four, as_row, as_square, lengths_of, open_rows
from synmt.model.source import SourceFeatures
from synmt.model.target import TargetSide, numbered_labels
from synmt.nn.decoders import TargetBatch
from synmt.nn.encoding import SourceBatch
from synmt.nn.graphs import Graph
from synmt.nn.prefixes import Prefixes
from synmt.nn.stacks import Stacks
from synmt.text.vocabulary import Vocabulary
from synmt.trees.transition_graph import Edges

SOURCE, BARE, TARGET = "source ", "bare ", "target"  # in the names of rows


@dataclass
class Corpus:
    """Sentence pairs: sources, and target ids each [t] with their end of sentence.

    plan: for a decoder that reads prefixes; edges: the graph of each target, for one that reads graphs; stacks: the
    columns of each one's Stacks, [4,t], for one that reads them.
    tags: how many tags the target vocabulary ends with.
    links: between the tokens of a pair, target and source, each [k,2], for a model that learns them.
    bare: the sources without their trees, one of which a batch has with probability `tree_dropout`.
    segmentations: how many rows stand for each pair, one after another: its subwords, and others of the same words.
    """

    vocabulary: Vocabulary
    sources: Sources
    targets: Sequence[Ids]
    plan: PrefixPlan | None = None
    edges: Sequence[Edges] = field(default_factory=list)
    stacks: Sequence[Ids] = field(default_factory=list)
    tags: int = 0
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
        return cls(vocabulary, Sources(), [], plan, tags=side.tags(vocabulary), tree_dropout=tree_dropout)

    def append(
        self, source: SourceFeatures, target: Sequence[str], side: TargetSide, bare: SourceFeatures | None = None
    ) -> None:
        """Add a pair: what the encoder reads, and what the decoder should say, as vocabulary entries.

        bare: what the encoder reads where the sentence is without its trees, needed for `tree_dropout`.
        """
        self.sources.append(source, self.vocabulary)
        if bare is not None:
            self.bare.append(bare, self.vocabulary)
        add_row(self.targets, np.array(self.vocabulary.encode_target(target), np.int32))
        if side.reads_graphs:
            add_row(self.edges, side.edges(target, self._labels))
        if side.reads_stacks:
            add_row(self.stacks, side.stack(target))

    def rows(self) -> dict[str, Sequence[NDArray[Any]]]:
        """Return what stands on a disk for the pairs, by name: a row a pair, as `of_rows` reads it. Links do not."""
        found: dict[str, Sequence[NDArray[Any]]] = {
            **{SOURCE + name: rows for name, rows in self.sources.rows().items()},
            **{BARE + name: rows for name, rows in self.bare.rows().items()},
            TARGET: self.targets,
            "edges": [np.stack([each.parents, each.children, each.labels, each.births]) for each in self.edges],
            "stacks": self.stacks,
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
        if side.reads_graphs:
            corpus.edges = rows["edges"]
        if side.reads_stacks:
            corpus.stacks = rows["stacks"]
        return corpus

    @cached_property
    def _labels(self) -> dict[str, int]:
        return numbered_labels(self.vocabulary)

    def __len__(self) -> int:
        return len(self.targets) // self.segmentations

    def batch(self, indices: Sequence[int], device: torch.device) -> tuple[SourceBatch, TargetBatch]:
        vocabulary = self.vocabulary
        source = self._source(indices, device)
        if self.tags:
            return source, self._tagged(indices, device)
        gold, lengths = pad([self.targets[i] for i in indices], vocabulary.padding)
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
        target = TargetBatch(
            sent(inputs, device),
            sent(positions, device),
            sent(gold.flatten()[positions], device),
            int(lengths.sum()),
            counts,
            prefixes,
            self._graph(indices, gold.shape[1], device) if self.edges else None,
            self._stacks(indices, device) if self.stacks else None,
            batch_links([self.links[i] for i in indices], device) if self.links else None,
        )
        return source, target

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

    def _tagged(self, indices: Sequence[int], device: torch.device) -> TargetBatch:
        """Return targets whose tags are predicted after the tokens that have them, and read nowhere."""
        vocabulary, golds = self.vocabulary, [self.targets[i] for i in indices]
        are_tokens = [gold < len(vocabulary.target) - self.tags for gold in golds]
        tokens = [gold[each] for gold, each in zip(golds, are_tokens, strict=True)]
        inputs, _ = pad([np.concatenate([[vocabulary.begin], each[:-1]]) for each in tokens], vocabulary.padding)
        before = [row * inputs.shape[1] + each.cumsum() - each for row, each in enumerate(are_tokens)]
        gold = np.concatenate(golds).astype(np.int64)
        return TargetBatch(
            sent(inputs, device),
            sent(torch.from_numpy(np.concatenate(before)), device),
            sent(torch.from_numpy(gold), device),
            len(gold),
        )

    def _graph(self, indices: Sequence[int], length: int, device: torch.device) -> Graph:
        edges = [self.edges[i] for i in indices]
        rows = np.repeat(np.arange(len(indices)), [len(each) for each in edges])
        columns = (
            np.concatenate([getattr(each, name) for each in edges])
            for name in ("parents", "children", "labels", "births")
        )
        graph = Graph.empty(len(indices), length, device)
        graph.add(sent(torch.from_numpy(np.stack([rows, *columns], axis=1)), device))
        return graph

    def _stacks(self, indices: Sequence[int], device: torch.device) -> Stacks:
        columns = zip(*(self.stacks[i] for i in indices), strict=True)  # padded by what is no token of a word
        return Stacks(*(sent(pad(column, -1)[0], device) for column in columns))

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
    return as_square if is_matrix(name) else {"edges": _as_edges, "stacks": as_four}.get(name, as_row)


def _as_edges(row: NDArray[np.int32]) -> Edges:
    return Edges(*as_four(row))


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
