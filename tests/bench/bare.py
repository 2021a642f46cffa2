"""Plain PyTorch loops: torch.nn.Transformer on padded batches, with PyTorch's own optimizations."""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.device import autocast
from synmt.nn.config import TransformerConfig
from synmt.nn.positions import sinusoids
from synmt.nn.transformer import LAYER_NORM_EPS


class BareTransformer(nn.Module):
    """PyTorch's encoder and decoder. Source, target and output share one embedding matrix; its first rows are the
    output's."""

    positions: Tensor

    def __init__(self, config: TransformerConfig, vocabulary: int, outputs: int, padding: int) -> None:
        super().__init__()
        self.heads, self.outputs, self.padding = config.heads, outputs, padding
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
        self.output_bias = nn.Parameter(torch.zeros(outputs))
        self.scale = config.width**0.5
        self.register_buffer("positions", sinusoids(256, config.width))

    def embed(self, ids: Tensor, start: int = 0) -> Tensor:
        vectors: Tensor = self.dropout(self.embedding(ids) * self.scale + self.positions[start : start + ids.shape[1]])
        return vectors

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """source [B,n], target [B,t] → logits of the next token after each token except padding, [N,T]"""
        padded = source == self.padding
        states = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device),
            src_key_padding_mask=padded,
            memory_key_padding_mask=padded,
            tgt_is_causal=True,
        )
        return self.logits(states[target != self.padding])

    def logits(self, states: Tensor) -> Tensor:
        return F.linear(states, self.embedding.weight[: self.outputs], self.output_bias)


class BareTraining:
    """Training by Adam with clipping and label smoothing. Each call is one update."""

    def __init__(self, model: BareTransformer, smoothing: float, clip: float) -> None:
        self.model, self.clip = model, clip
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
        self.loss = nn.CrossEntropyLoss(label_smoothing=smoothing)

    def __call__(self, source: Tensor, inputs: Tensor, gold: Tensor) -> None:
        self.optimizer.zero_grad()
        with autocast(source.device):
            loss = self.loss(self.model(source, inputs), gold)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()


class BareSearch:
    """Beam search with a cache: at each step, the keys and values of the hypotheses are extended and reordered."""

    def __init__(self, model: BareTransformer, beam: int) -> None:
        self.model, self.beam, self.heads = model, beam, model.heads
        self.layers = [cast(nn.TransformerDecoderLayer, layer) for layer in model.transformer.decoder.layers]

    @torch.inference_mode()
    def __call__(self, source: Tensor, begin: int, length: int) -> Tensor:
        """source [B,n] → the best `length` tokens of each sentence, [B,length]"""
        batch, model = len(source), self.model
        encoded = model.transformer.encoder(model.embed(source), src_key_padding_mask=source == model.padding)
        seen = (source != model.padding).repeat_interleave(self.beam, dim=0)[:, None, None]
        sources = [
            self._keys(layer.multihead_attn, encoded.repeat_interleave(self.beam, dim=0)) for layer in self.layers
        ]
        targets: list[tuple[Tensor, Tensor]] = []
        tokens = source.new_full((batch * self.beam, 1), begin)
        scores = torch.full((batch, self.beam), float("-inf"), device=source.device)
        scores[:, 0] = 0.0
        first = torch.arange(batch, device=source.device).unsqueeze(1) * self.beam
        for step in range(length):
            states, grown = model.embed(tokens[:, -1:], step), []
            for number, layer in enumerate(self.layers):
                own = layer.norm1(states)
                new = self._keys(layer.self_attn, own)
                if targets:
                    old = targets[number]
                    new = torch.cat([old[0], new[0]], dim=2), torch.cat([old[1], new[1]], dim=2)
                grown.append(new)
                states = states + self._attend(layer.self_attn, own, *new)
                states = states + self._attend(layer.multihead_attn, layer.norm2(states), *sources[number], seen)
                states = states + layer.linear2(F.relu(layer.linear1(layer.norm3(states))))
            logits = model.logits(model.transformer.decoder.norm(states[:, 0])).view(batch, self.beam, -1)
            totals = (logits.log_softmax(dim=2) + scores.unsqueeze(2)).flatten(1)
            scores, best = totals.topk(self.beam, dim=1)
            origins = (first + best // model.outputs).flatten()
            tokens = torch.cat([tokens[origins], (best % model.outputs).view(-1, 1)], dim=1)
            targets = [(keys[origins], values[origins]) for keys, values in grown]
        return tokens[first.squeeze(1), 1:]

    def _keys(self, attention: nn.MultiheadAttention, states: Tensor) -> tuple[Tensor, Tensor]:
        """[R,n,d] → keys and values [R,H,n,c]"""
        width = states.shape[2]
        both = F.linear(states, attention.in_proj_weight[width:], attention.in_proj_bias[width:])
        keys, values = both.view(*states.shape[:2], 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        return keys, values

    def _attend(
        self, attention: nn.MultiheadAttention, states: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None = None
    ) -> Tensor:
        """[R,1,d] → [R,1,d]"""
        width = states.shape[2]
        query = F.linear(states, attention.in_proj_weight[:width], attention.in_proj_bias[:width])
        query = query.view(len(states), self.heads, 1, -1)
        mixed = F.scaled_dot_product_attention(query, keys, values, attn_mask=seen)
        return cast(Tensor, attention.out_proj(mixed.reshape(states.shape)))
