"""A training loop as one writes it first: torch.nn.Transformer, padded batches, the loss over the vocabulary."""

import torch
from torch import Tensor, nn

from synmt.device import autocast
from synmt.nn.config import TransformerConfig
from synmt.nn.positions import sinusoids
from synmt.nn.transformer import LAYER_NORM_EPS


class BareTransformer(nn.Module):
    """PyTorch's own encoder and decoder, with one tied embedding matrix for all three uses."""

    positions: Tensor

    def __init__(self, config: TransformerConfig, vocabulary: int, padding: int) -> None:
        super().__init__()
        self.padding = padding
        self.embedding = nn.Embedding(vocabulary, config.width, padding_idx=padding)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            config.width,
            config.heads,
            config.encoder_layers,
            config.decoder_layers,
            config.feedforward,
            config.dropout,
            batch_first=True,
            norm_first=config.norm == "pre",
            layer_norm_eps=LAYER_NORM_EPS,
        )
        self.output = nn.Linear(config.width, vocabulary)
        self.output.weight = self.embedding.weight
        self.scale = config.width**0.5
        self.register_buffer("positions", sinusoids(256, config.width))

    def embed(self, ids: Tensor) -> Tensor:
        vectors: Tensor = self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.shape[1]])
        return vectors

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """source [B,n], target [B,t] → logits [B,t,V]"""
        padded = source == self.padding
        states = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device),
            src_key_padding_mask=padded,
            memory_key_padding_mask=padded,
            tgt_is_causal=True,
        )
        logits: Tensor = self.output(states)
        return logits


class BareTraining:
    """Adam, clipping, label smoothing; one call is one update."""

    def __init__(self, model: BareTransformer, smoothing: float, clip: float) -> None:
        self.model, self.clip = model, clip
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
        self.loss = nn.CrossEntropyLoss(ignore_index=model.padding, label_smoothing=smoothing)

    def __call__(self, source: Tensor, inputs: Tensor, gold: Tensor) -> None:
        self.optimizer.zero_grad()
        with autocast(source.device):
            loss = self.loss(self.model(source, inputs).flatten(0, 1), gold.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
