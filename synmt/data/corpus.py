"""Sentence pairs as columns, in memory or on disk, and their batches as tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from synmt.components.contract import Automaton
from synmt.data.batches import Batches, Ids, Sources, batch_links, pad, padded, shuffled_batches
from synmt.data.rows import Rows, add_row, as_row, as_square, counts_in, lengths_of, open_rows, without_prefix
from synmt.device import sent
from synmt.model.config import BatchBy
from synmt.model.source import SourceFeatures, SourceSide
from synmt.model.target import WORDS, TargetSide
from synmt.nn.decoders import TargetBatch
from synmt.nn.encoding import SourceBatch
from synmt.nn.prefixes import PrefixPlan
from synmt.text.vocabulary import UNKNOWN, Vocabulary, is_structural

SOURCE, BARE, TARGET, OF_TARGET = "source ", "bare ", "target", "target "  # in the names of rows


@dataclass
class Corpus:
    """Sentence pairs: the sources, and the ids of each target with its end of sentence, [t].

    plan: for a decoder that reads prefixes; unread: the number of entries at the end of the target vocabulary that the
    decoder never reads.
    side: of the target; automaton: of the decoder's states, if it has any; values: of the fields of its components, by
    name, each [t], from the begin of sentence on.
    links: between the tokens of a pair, (target, source), each [k,2], for a model that learns them.
    bare: the sources without their trees; a batch uses each of them with probability `tree_dropout`.
    segmentations: the number of consecutive rows per pair, each with other subwords of the same words.
    """

    vocabulary: Vocabulary
    sources: Sources
    targets: Sequence[Ids]
    side: TargetSide = WORDS
    plan: PrefixPlan | None = None
    unread: int = 0
    automaton: Automaton | None = None
    values: dict[str, Sequence[NDArray[Any]]] = field(default_factory=dict)
    links: Sequence[Ids] = field(default_factory=list)
    bare: Sources = field(default_factory=Sources)
    tree_dropout: float = 0.0
    segmentations: int = 1

    @classmethod
    def empty(
        cls, vocabulary: Vocabulary, side: TargetSide, plan: PrefixPlan | None = None, tree_dropout: float = 0.0
    ) -> "Corpus":
        """Return an empty corpus for a target side, with the plan if it reads prefixes."""
        plan = plan if side.reads_prefixes else None
        unread, automaton = side.spelling.unread(vocabulary), side.automaton(vocabulary) if side.fields else None
        return cls(vocabulary, Sources(), [], side, plan, unread, automaton, tree_dropout=tree_dropout)

    def append(
        self,
        source: SourceFeatures,
        target: Sequence[str],
        lessons: Mapping[str, Sequence[int]] | None = None,
        bare: SourceFeatures | None = None,
    ) -> None:
        """Add a pair: the input of the encoder, and the vocabulary entries that the decoder should write.

        lessons: fields of the target for training alone; bare: the source without its trees, for `tree_dropout`.
        """
        self.sources.append(source, self.vocabulary)
        if bare is not None:
            self.bare.append(bare, self.vocabulary)
        ids = np.array(self.vocabulary.encode_target(target), np.int32)
        add_row(self.targets, ids)
        found = {} if self.automaton is None else self.automaton.fields(self.side.spelling.read(target))
        for name, numbers in (found | dict(lessons or {})).items():
            add_row(self.values.setdefault(name, []), self.side.fields[name].array(name, numbers))

    def _are_read(self, ids: Ids) -> NDArray[np.bool_]:
        """Return which entries of a target the decoder reads."""
        return ids < len(self.vocabulary.target) - self.unread

    def rows(self) -> dict[str, Sequence[NDArray[Any]]]:
        """Return the rows of the pairs by name, without links, as `of_rows` reads them from disk."""
        found: dict[str, Sequence[NDArray[Any]]] = {
            **{SOURCE + name: rows for name, rows in self.sources.rows().items()},
            **{BARE + name: rows for name, rows in self.bare.rows().items()},
            TARGET: self.targets,
            **{OF_TARGET + name: rows for name, rows in self.values.items()},
        }
        return {name: rows for name, rows in found.items() if len(rows)}

    @classmethod
    def of_rows(
        cls,
        arrays: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
        vocabulary: Vocabulary,
        sides: tuple[SourceSide, TargetSide],
        plan: PrefixPlan | None = None,
        tree_dropout: float = 0.0,
        segmentations: int = 1,
    ) -> "Corpus":
        """Return the corpus of rows of both sides, given their numbers and ends by name.

        Raises ValueError or KeyError if they are not the rows of a corpus.
        """
        of_source, side = sides
        corpus = cls.empty(vocabulary, side, plan, tree_dropout)
        pairs = {
            start + name for name, each in of_source.fields.items() if each.shape == "pair" for start in (SOURCE, BARE)
        }
        corpus.segmentations = segmentations
        rows: dict[str, Rows[Any]] = {
            name: open_rows(*each, as_square if name in pairs else as_row) for name, each in arrays.items()
        }
        corpus.targets = targets = rows[TARGET]
        targets.check_inside(len(vocabulary.target))
        if wrong := [name for name, each in rows.items() if len(each) != len(targets)]:
            raise ValueError(f"{len(rows[wrong[0]])} rows of {wrong[0]}, but {len(targets)} targets")
        if len(targets) % segmentations:
            raise ValueError(f"{len(targets)} targets, but {segmentations} per pair")
        corpus.sources = Sources.of_rows(without_prefix(SOURCE, rows), of_source.fields, vocabulary)
        if tree_dropout:
            corpus.bare = Sources.of_rows(without_prefix(BARE, rows), of_source.fields, vocabulary)
        for name, each in side.fields.items():
            corpus.values[name] = own = rows[OF_TARGET + name]
            if own.values.dtype != np.dtype(each.dtype):
                raise ValueError(f"{name} are {own.values.dtype}, not {each.dtype}")
        return corpus

    def __len__(self) -> int:
        return len(self.targets) // self.segmentations

    def batch(
        self, indices: Sequence[int], device: torch.device, random: torch.Generator | None = None
    ) -> tuple[SourceBatch, TargetBatch]:
        """Return the tensors of pairs; random: draws trees to drop, and prefixes, on the CPU."""
        source, golds = self._source(indices, device, random), [self.targets[i] for i in indices]
        target = self._unread_apart(golds, device) if self.unread else self._target(golds, device, random)
        length = target.inputs.shape[1]
        for name, rows in self.values.items():
            own = padded(self.side.fields[name], [rows[i][:length] for i in indices], length)
            target.fields[name] = sent(own, device)
        if self.links:
            target.links = batch_links([self.links[i] for i in indices], device)
        return source, target

    def _target(self, golds: Sequence[Ids], device: torch.device, random: torch.Generator | None) -> TargetBatch:
        """Return targets all of whose entries the decoder reads; each is predicted from the entries before it."""
        vocabulary = self.vocabulary
        gold, lengths = pad(golds, vocabulary.padding)
        inputs = torch.empty_like(gold)
        inputs[:, 0] = vocabulary.begin
        inputs[:, 1:] = gold[:, :-1]
        if self.plan is None:
            real = torch.arange(gold.shape[1]).unsqueeze(0) < lengths.unsqueeze(1)
            positions = real.flatten().nonzero().squeeze(1)
            counts, prefixes = None, []
        else:
            sentences, ends, weights = self.plan.choose(lengths.numpy(), random)
            positions = torch.from_numpy(sentences * gold.shape[1] + ends - 1)
            counts = None if (weights == 1).all() else sent(torch.from_numpy(weights), device)
            prefixes = self.plan.packs(sentences, ends, gold.shape, device)
        return TargetBatch(
            sent(inputs, device),
            sent(positions, device),
            sent(gold.flatten()[positions], device),
            int(lengths.sum()),
            counts,
            prefixes=prefixes,
        )

    def _source(self, indices: Sequence[int], device: torch.device, random: torch.Generator | None) -> SourceBatch:
        """Return the sources. Each loses its trees with probability `tree_dropout`."""
        padding = self.vocabulary.padding
        if not self.tree_dropout:
            return self.sources.batch(indices, padding, device)
        drawn = (torch.rand(len(indices), generator=random) < self.tree_dropout).tolist()
        sources = Sources()
        for index, is_bare in zip(indices, drawn, strict=True):
            sources.copy(self.bare if is_bare else self.sources, index)
        return sources.batch(range(len(indices)), padding, device)

    def _unread_apart(self, golds: Sequence[Ids], device: torch.device) -> TargetBatch:
        """Return targets with entries that the decoder predicts from the tokens before them, but never reads."""
        vocabulary, are_read = self.vocabulary, [self._are_read(gold) for gold in golds]
        tokens = [gold[each] for gold, each in zip(golds, are_read, strict=True)]
        inputs, _ = pad([np.concatenate([[vocabulary.begin], each[:-1]]) for each in tokens], vocabulary.padding)
        before = [row * inputs.shape[1] + each.cumsum() - each for row, each in enumerate(are_read)]
        gold, read = np.concatenate(golds).astype(np.int64), np.concatenate(are_read)
        places = [sent(torch.from_numpy(each.nonzero()[0]), device) for each in (read, ~read)]
        return TargetBatch(
            sent(inputs, device),
            sent(torch.from_numpy(np.concatenate(before)), device),
            sent(torch.from_numpy(gold), device),
            len(gold),
            unread=(places[0], places[1]),
        )

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        """Split a batch into the parts that are computed one at a time; only a plan of prefixes needs several."""
        if self.plan is None:
            return [list(indices)]
        return self.plan.parts(indices, np.array([len(self.targets[i]) for i in indices]))

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int, by: BatchBy = "tokens") -> Batches:
        """Return one row per pair, in batches of similar lengths. The order depends only on the seed and the epoch.

        If pairs have several rows, the lengths of the first rows decide the batches, so that all epochs have the same
        number of batches. The other rows take turns: each epoch uses the next row of each pair.
        """
        every = self.segmentations
        source, target = (lengths[::every] for lengths in self._lengths(without_trees=by == "subwords"))
        batches = shuffled_batches(source, target, by, batch_tokens, seed, epoch)
        if every == 1:
            return batches
        return batches.renumbered(lambda pairs: pairs * every + 1 + (pairs + seed + epoch) % (every - 1))

    def _lengths(self, without_trees: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the lengths of all rows on both sides, [n]. The end of a target counts.

        without_trees: without tokens of trees, so that all systems have the same lengths.
        """
        if not without_trees:
            return lengths_of(self.sources.ids), lengths_of(self.targets)
        entries = enumerate(self.vocabulary.target)
        is_counted = np.array([number <= UNKNOWN or not is_structural(entry) for number, entry in entries])
        return np.asarray(self.sources.words, np.int64), counts_in(self.targets, is_counted)
