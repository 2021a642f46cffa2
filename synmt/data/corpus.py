"""Sentence pairs as numbers, in memory or on disk, and their batches as tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from synmt.components.contract import Automaton
from synmt.data.batches import Batches, Ids, Sources, batch_links, pad, padded, shuffled_batches, source_row
from synmt.data.rows import Row, add_row, lengths_of, words_of
from synmt.device import sent
from synmt.model.config import BatchBy
from synmt.model.source import SourceFeatures
from synmt.model.target import WORDS, TargetSide
from synmt.nn.decoders import TargetBatch
from synmt.nn.encoding import SourceBatch
from synmt.nn.prefixes import PrefixPlan
from synmt.text.vocabulary import Draft, Vocabulary, is_structural


@dataclass
class Corpus:
    """Sentence pairs: the sources, and a row for each target. The ids of a target include its end of sentence; its
    `words` count that, too, but no arcs. The values of its fields begin at the begin of sentence.

    side: of the target; automaton: of the decoder's states, if it has any; plan: for a decoder that reads prefixes.
    links: between the tokens of a pair, (target, source), each [k,2], for a model that learns them.
    bare: the sources without their trees; a batch uses each of them with probability `tree_dropout`.
    segmentations: the number of consecutive rows per pair, each with other subwords of the same words.
    """

    vocabulary: Vocabulary
    sources: Sources = field(default_factory=Sources)
    targets: Sequence[Row] = field(default_factory=list)
    side: TargetSide = WORDS
    plan: PrefixPlan | None = None
    automaton: Automaton | None = None
    links: list[Ids] = field(default_factory=list)
    bare: Sources = field(default_factory=Sources)
    tree_dropout: float = 0.0
    segmentations: int = 1

    @classmethod
    def empty(
        cls, vocabulary: Vocabulary, side: TargetSide, plan: PrefixPlan | None = None, tree_dropout: float = 0.0
    ) -> "Corpus":
        """Return an empty corpus for a target side, with the plan if it reads prefixes."""
        plan = plan if side.reads_prefixes else None
        automaton = side.automaton(vocabulary) if side.fields else None
        return cls(vocabulary, Sources(), [], side, plan, automaton, tree_dropout=tree_dropout)

    def append(
        self,
        source: SourceFeatures,
        target: Sequence[str],
        lessons: Mapping[str, Sequence[Any]] | None = None,
        bare: SourceFeatures | None = None,
    ) -> None:
        """Add a pair: the input of the encoder, and the tokens that the decoder should write.

        lessons: fields of the target for training alone; bare: the source without its trees, for `tree_dropout`.
        """
        self.sources.fields = source.fields
        add_row(self.sources.rows, source_row(source, self.vocabulary))
        if bare is not None:
            add_row(self.bare.rows, source_row(bare, self.vocabulary))
        add_row(self.targets, target_row(target, lessons or {}, self.side, self.vocabulary, self.automaton))

    def __len__(self) -> int:
        return len(self.targets) // self.segmentations

    def batch(
        self, indices: Sequence[int], device: torch.device, random: torch.Generator | None = None
    ) -> tuple[SourceBatch, TargetBatch]:
        """Return the tensors of pairs; random: draws trees to drop, and prefixes, on the CPU."""
        source = self._source(indices, device, random)
        target = self._target([self.targets[index] for index in indices], device, random)
        if self.links:
            target.links = batch_links([self.links[i] for i in indices], device)
        return source, target

    def _target(self, rows: Sequence[Row], device: torch.device, random: torch.Generator | None) -> TargetBatch:
        vocabulary = self.vocabulary
        gold, lengths = pad([row["ids"] for row in rows], vocabulary.padding)
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
        fields = {
            name: padded(own, [row[name] for row in rows], gold.shape[1])
            for name, own in self.side.fields.items()
            if name in rows[0]
        }
        labels, tokens = {}, int(lengths.sum())
        for name in self.side.labels.keys() & fields.keys():
            numbers = fields[name].flatten()[positions]
            places = numbers.nonzero().squeeze(1)
            labels[name] = sent(places, device), sent(numbers[places] - 1, device)
            tokens += int(fields[name].count_nonzero())
        return TargetBatch(
            sent(inputs, device),
            sent(positions, device),
            sent(gold.flatten()[positions], device),
            tokens,
            counts,
            {name: sent(each, device) for name, each in fields.items()},
            labels,
            prefixes,
        )

    def _source(self, indices: Sequence[int], device: torch.device, random: torch.Generator | None) -> SourceBatch:
        """Return the sources. Each loses its trees with probability `tree_dropout`."""
        padding = self.vocabulary.padding
        if not self.tree_dropout:
            return self.sources.batch(indices, padding, device)
        drawn = (torch.rand(len(indices), generator=random) < self.tree_dropout).tolist()
        sides = [self.bare if is_bare else self.sources for is_bare in drawn]
        rows = [side.rows[index] for side, index in zip(sides, indices, strict=True)]
        return Sources(self.sources.fields, rows).batch(range(len(rows)), padding, device)

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        """Split a batch into the parts that are computed one at a time; only a plan of prefixes needs several."""
        if self.plan is None:
            return [list(indices)]
        return self.plan.parts(indices, np.array([len(self.targets[index]["ids"]) for index in indices]))

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int, by: BatchBy = "tokens") -> Batches:
        """Return one row per pair, in batches of similar lengths. The order depends only on the seed and the epoch.

        If pairs have several rows, the lengths of the first rows decide the batches, so that all epochs have the same
        number of batches. The other rows take turns: each epoch uses the next row of each pair.
        """
        every, count = self.segmentations, words_of if by == "subwords" else lengths_of
        source, target = (count(rows)[::every] for rows in (self.sources.rows, self.targets))
        batches = shuffled_batches(source, target, by, batch_tokens, seed, epoch)
        if every == 1:
            return batches
        return batches.renumbered(lambda pairs: pairs * every + 1 + (pairs + seed + epoch) % (every - 1))


def target_row(
    target: Sequence[str],
    lessons: Mapping[str, Sequence[Any]],
    side: TargetSide,
    vocabulary: Vocabulary | Draft,
    automaton: Automaton | None = None,
) -> Row:
    """Return a target and its fields as numbers; lessons: the fields for training alone."""
    words = 1 + sum(not is_structural(token) for token in target)
    row: Row = {"ids": np.array(vocabulary.encode_target(target), np.int32), "words": words}
    fields = {
        name: np.array(vocabulary.encode_labels(name, values), np.int32)
        if name in side.labels
        else side.fields[name].array(name, values)
        for name, values in lessons.items()
    }
    return {**row, **fields, **(state_fields(target, side, automaton) if automaton else {})}


def state_fields(target: Sequence[str], side: TargetSide, automaton: Automaton) -> Row:
    """Return the fields of the decoder's state, from the begin of sentence on."""
    found = automaton.fields(target)
    return {name: side.fields[name].array(name, numbers) for name, numbers in found.items()}
