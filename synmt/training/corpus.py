"""Training pairs in memory as arrays of ids, and their batches as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from synmt.nn.encoding import SourceBatch
from synmt.systems.batches import Ids, Sources, pad, token_batches
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
            self._links(indices, device),
        )
        return self.sources.batch(indices, vocabulary.padding, device), target

    def _links(self, indices: Sequence[int], device: torch.device) -> torch.Tensor | None:
        """Place in the batch, target and source token of each link, [k,3]."""
        if self.links is None:
            return None
        rows = [self.links[i] for i in indices]
        places = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        links = np.column_stack([places, np.concatenate(rows)]).astype(np.int64)
        return torch.from_numpy(links).to(device, non_blocking=True)

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Each pair once, in batches of similar lengths; the order is a function of seed and epoch alone."""
        source = np.array([len(ids) for ids in self.sources.ids])
        target = np.array([len(ids) for ids in self.targets])
        random = np.random.default_rng([seed, epoch])
        order = random.permutation(len(self))
        order = order[np.lexsort((target[order], source[order]))]
        batches = token_batches(order.tolist(), np.maximum(source, target), batch_tokens)
        return [batches[i] for i in random.permutation(len(batches))]
