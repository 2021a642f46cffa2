"""A decoder that predicts every word of a sentence from all others in one pass: static-KV attention (see aligner.py).

Shapes: B sentences, I target and J source positions, d width, H heads, c = d/H, L layers.
"""

from typing import cast

import torch
from torch import Tensor, nn

from synmt.nn.attention import CrossAttention, Edit, SelfAttention, attend, merge_heads, split_heads
from synmt.nn.config import TransformerConfig
from synmt.nn.transformer import FeedForward, Residual, final_norm


class StaticAttention(nn.Module):
    """Attention of each position to the other words. The decoder computes keys and values once for all layers."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, states: Tensor, memory: tuple[Tensor, Tensor], sight: "Sight") -> Tensor:
        """states [B,I,d], memory: keys and values [B,H,I,c] → [B,I,d]"""
        query = split_heads(self.query(states), self.heads)
        seen = attend(query, *memory, sight.bias, dropout=self.dropout if self.training else 0.0)
        return self.out(merge_heads(seen if sight.alone is None else seen * ~sight.alone))


class Sight:
    """What each position of a batch may see: all words except its own, or with `full` all words.

    bias [B,1,I,I]: −inf at a position's own word and at padding. alone [B,1,1,1]: marks sentences of one word, which
    see nothing, so their attention returns zero; None if there are none.
    """

    def __init__(self, padding: Tensor | None, words: Tensor, full: bool = False) -> None:
        """padding [B,I]: True at padding, None if there is none; words [B,I,d]."""
        (batch, length), device = words.shape[:2], words.device
        own = torch.eye(length, dtype=torch.bool, device=device) & (not full)
        hidden = own.expand(batch, 1, length, length)
        alone = torch.full((batch, 1, 1, 1), length == 1 and not full, device=device)
        if padding is not None:
            hidden = hidden | padding[:, None, None, :]
            alone = ((~padding).sum(dim=1) == 1)[:, None, None, None] & (not full)
        hidden = hidden & ~alone  # a softmax over nothing is undefined
        self.bias = torch.zeros(hidden.shape, device=device).masked_fill_(hidden, float("-inf"))
        self.alone = alone if bool(alone.any()) else None


class StaticLayer(nn.Module):
    def __init__(self, config: TransformerConfig, causal: bool, crosses: bool, leaky: bool) -> None:
        super().__init__()
        kind = SelfAttention if causal else StaticAttention
        self.attention = kind(config.width, config.heads, config.attention_dropout)
        self.cross = CrossAttention(config.width, config.heads, 0.0, leaky) if crosses else None
        self.feedforward = FeedForward(config)
        self.attention_residual = Residual(config)
        self.cross_residual = Residual(config) if crosses else None
        self.feedforward_residual = Residual(config)

    def forward(
        self,
        states: Tensor,
        memory: tuple[Tensor, Tensor] | None,
        sight: Sight | None,
        encoded: Tensor,
        bias: Tensor | None,
    ) -> Tensor:
        """states [B,I,d], memory: keys and values of the words, encoded [B,J,d], bias [B,1,1,J] → [B,I,d]"""
        residual = self.attention_residual
        inputs = residual.before(states)
        own = self.attention(inputs, causal=True) if memory is None else self.attention(inputs, memory, sight)
        states = residual.after(states, own)
        if self.cross is not None and self.cross_residual is not None:
            residual = self.cross_residual
            crossing = self.cross(residual.before(states), self.cross.memory(encoded), Edit(bias))
            states = residual.after(states, crossing)
        residual = self.feedforward_residual
        return residual.after(states, self.feedforward(residual.before(states)))


class StaticDecoder(nn.Module):
    """Predicts each word from the source and from the other words, or with `causal` from the previous words.

    Only the last layer attends to the source, or with `config.cross_attention` all do. All layers derive keys and
    values from the same word embeddings by projections of their own, so one product computes them all.
    """

    def __init__(self, config: TransformerConfig, causal: bool, leaky: bool) -> None:
        super().__init__()
        self.heads, self.causal = config.heads, causal
        last = config.decoder_layers - 1
        self.layers = nn.ModuleList(
            StaticLayer(config, causal, config.cross_attention == "all" or layer == last, leaky)
            for layer in range(config.decoder_layers)
        )
        self.kv = None if causal else nn.Linear(config.width, 2 * config.decoder_layers * config.width)
        self.norm = final_norm(config)

    @property
    def last_crossing(self) -> nn.Module:
        """Return the last layer's attention to the source. Its weights are the alignment."""
        crossing = cast(StaticLayer, self.layers[-1]).cross
        assert crossing is not None
        return crossing

    def reset_memories(self) -> None:
        """Initialize the projections of all layers, which are one matrix, as if each were on its own."""
        if self.kv is not None:
            for part in self.kv.weight.chunk(2 * len(self.layers)):
                nn.init.xavier_normal_(part, gain=0.5**0.5)

    def forward(
        self,
        queries: Tensor,
        words: Tensor,
        padding: Tensor | None,
        encoded: Tensor,
        bias: Tensor | None,
        full: bool = False,
    ) -> Tensor:
        """queries [B,I,d]: vectors of the positions (causal: of the previous words); words [B,I,d]: embedded words;
        padding [B,I] or None; encoded [B,J,d] and bias [B,1,1,J]: states of the source and a bias on its keys; full:
        whether positions also see their own words → states [B,I,d] from which to predict the words."""
        sight = None if self.causal else Sight(padding, words, full)
        states = queries
        for layer, memory in zip(self.layers, self._memories(words), strict=True):
            states = layer(states, memory, sight, encoded, bias)
        decoded: Tensor = self.norm(states)
        return decoded

    def _memories(self, words: Tensor) -> list[tuple[Tensor, Tensor] | None]:
        """Return keys and values [B,H,I,c] of each layer."""
        if self.kv is None:
            return [None] * len(self.layers)
        parts = [split_heads(part, self.heads) for part in self.kv(words).chunk(2 * len(self.layers), dim=-1)]
        return list(zip(parts[::2], parts[1::2], strict=True))
