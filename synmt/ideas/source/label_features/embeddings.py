"""The tensors of `label-features`: embeddings of labels, which are concatenated with the embeddings of subwords."""

from collections.abc import Mapping

import torch
from torch import nn

from synmt.nn.attention import PLAIN
from synmt.nn.encoding import EncoderPass, SourceBatch


class LabelEmbeddings(nn.Module):
    """One table per name; counts: the number of its labels, including 0 for none."""

    def __init__(self, layers: int, counts: Mapping[str, int], size: int) -> None:
        super().__init__()
        self.layers = layers
        self.tables = nn.ModuleDict({name: nn.Embedding(count, size) for name, count in counts.items()})
        for table in self.tables.parameters():
            nn.init.normal_(table, std=size**-0.5)

    def forward(self, batch: SourceBatch) -> EncoderPass:
        features = torch.cat([table(batch.columns[name]) for name, table in self.tables.items()], dim=-1)
        return EncoderPass([PLAIN] * self.layers, features)
