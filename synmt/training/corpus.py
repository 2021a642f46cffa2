"""Training pairs in memory as arrays of ids, and their batches as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from synmt.nn.encoding import SourceBatch
from synmt.systems.batches import Ids, Sources, batch_links, pad, shuffled_batches
from synmt.systems.translation import TargetBatch
from synmt.text.vocabulary import Vocabulary


@dataclass
class Corpus:
    """Sentence pairs: sources, target ids each [t] with their end of sentence, and for a model that learns them
    links between their tokens, target and source, each [k,2]."""

    sources: Sources
    targets: list[Ids]
    links: list[Ids] | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def batch(
        self, indices: Sequence[int], vocabulary: Vocabulary, device: torch.device
    ) -> tuple[SourceBatch, TargetBatch]:
        targets = [self.targets[i] for i in indices]
        gold, lengths = pad(targets, vocabulary.padding)
        inputs = torch.empty_like(gold)
        inputs[:, 0] = vocabulary.begin
        inputs[:, 1:] = gold[:, :-1]
        real = torch.arange(gold.shape[1]).unsqueeze(0) < lengths.unsqueeze(1)
        positions = real.flatten().nonzero().squeeze(1)
        target = TargetBatch(
            inputs.to(device, non_blocking=True),
            positions.to(device, non_blocking=True),
            gold.flatten()[positions].to(device, non_blocking=True),
            None if self.links is None else batch_links([self.links[i] for i in indices], device),
        )
        return self.sources.batch(indices, vocabulary.padding, device), target

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Each pair once, in batches of similar lengths; the order is a function of seed and epoch alone."""
        source = np.array([len(ids) for ids in self.sources.ids])
        target = np.array([len(ids) for ids in self.targets])
        return shuffled_batches(source, target, batch_tokens, seed, epoch)
