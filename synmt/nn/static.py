"""A decoder that predicts every word of a sentence from all others at once, and shows what it attended to.

The tensors of Mask-Align (synmt.systems.mask_align). Shapes: B sentences, I target and J source positions, d width,
H heads, c = d/H, L layers.
"""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.attention import CrossAttention, SelfAttention, attend, attention_weights, merge_heads, split_heads
from synmt.nn.config import TransformerConfig
from synmt.nn.transformer import LAYER_NORM_EPS, FeedForward, Residual


class StaticAttention(nn.Module):
    """Attention of positions to the words of the others; keys and values come from the decoder, for all layers."""

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
    """What each position of a batch may see: all words but its own, or with `full` all words.

    bias [B,1,I,I]: −inf on a position's own word and on padding. alone [B,1,1,1]: sentences of one word, which see
    nothing: their attention gives zero. None where there are none.
    """

    def __init__(self, padding: Tensor | None, words: Tensor, full: bool = False) -> None:
        """padding [B,I]: True where there is no word, None if all sentences are full; words [B,I,d]."""
        (batch, length), device = words.shape[:2], words.device
        own = torch.eye(length, dtype=torch.bool, device=device) & (not full)
        hidden = own.expand(batch, 1, length, length)
        alone = torch.full((batch, 1, 1, 1), length == 1 and not full, device=device)
        if padding is not None:
            hidden = hidden | padding[:, None, None, :]
            alone = ((~padding).sum(dim=1) == 1)[:, None, None, None] & (not full)
        hidden = hidden & ~alone  # a softmax needs something to see
        self.bias = torch.zeros(hidden.shape, device=device).masked_fill_(hidden, float("-inf"))
        self.alone = alone if bool(alone.any()) else None


class LinkingAttention(CrossAttention):
    """Cross-attention that shows its weights; with a leak, one more key and value can take what fits nowhere."""

    def __init__(self, width: int, heads: int, leaky: bool) -> None:
        super().__init__(width, heads, dropout=0.0)
        self.leak = nn.Parameter(torch.empty(2, width)) if leaky else None

    def link(self, states: Tensor, encoded: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        """states [B,I,d], encoded [B,J,d], bias [B,1,1,J] → output [B,I,d] and weights [B,I,J] as in `weights`."""
        key, value = self.memory(encoded)
        if self.leak is not None:
            value = torch.cat([self._leak(1, value), value], dim=2)
        weights = self._all_weights(states, key, bias)
        with torch.autocast(states.device.type, enabled=False):
            seen = merge_heads(weights @ value.float())
        return self.out(seen), self._shown(weights)

    def weights(self, states: Tensor, encoded: Tensor, bias: Tensor | None) -> Tensor:
        """The mean over heads of how much each position attends to the source, [B,I,J] in fp32; rows sum to 1, or
        with a leak to less."""
        width = encoded.shape[-1]
        key = F.linear(encoded, self.kv.weight[:width], self.kv.bias[:width])
        return self._shown(self._all_weights(states, split_heads(key, self.heads), bias))

    def _all_weights(self, states: Tensor, key: Tensor, bias: Tensor | None) -> Tensor:
        """[B,H,I,(1+)J], the leak first."""
        query = split_heads(self.query(states), self.heads)
        if self.leak is not None:
            key = torch.cat([self._leak(0, key), key], dim=2)
            bias = None if bias is None else F.pad(bias, (1, 0))
        return attention_weights(query, key, bias)

    def _leak(self, which: int, like: Tensor) -> Tensor:
        """The leak's key (0) or value (1) beside keys or values [B,H,J,c]: [B,H,1,c]"""
        assert self.leak is not None
        one = self.leak[which].view(1, self.heads, 1, -1).to(like.dtype)
        return one.expand(len(like), -1, -1, -1)

    def _shown(self, weights: Tensor) -> Tensor:
        return (weights if self.leak is None else weights[..., 1:]).mean(dim=1)


class LinkingLayer(nn.Module):
    def __init__(self, config: TransformerConfig, causal: bool, crosses: bool, leaky: bool) -> None:
        super().__init__()
        kind = SelfAttention if causal else StaticAttention
        self.attention = kind(config.width, config.heads, config.attention_dropout)
        self.cross = LinkingAttention(config.width, config.heads, leaky) if crosses else None
        self.feedforward = FeedForward(config)
        self.attention_residual = Residual(config)
        self.cross_residual = Residual(config) if crosses else None
        self.feedforward_residual = Residual(config)

    def within(self, states: Tensor, memory: tuple[Tensor, Tensor] | None, sight: Sight | None) -> Tensor:
        """Attention to the sentence itself: states [B,I,d] → [B,I,d]"""
        residual = self.attention_residual
        inputs = residual.before(states)
        if memory is None:
            return residual.after(states, self.attention(inputs, causal=True))
        return residual.after(states, self.attention(inputs, memory, sight))

    def across(self, states: Tensor, encoded: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Attention to the source and feed-forward: states [B,I,d] → [B,I,d], and the weights [B,I,J]."""
        weights = None
        if self.cross is not None and self.cross_residual is not None:
            residual = self.cross_residual
            output, weights = self.cross.link(residual.before(states), encoded, bias)
            states = residual.after(states, output)
        residual = self.feedforward_residual
        return residual.after(states, self.feedforward(residual.before(states))), weights

    def weights(self, states: Tensor, encoded: Tensor, bias: Tensor | None) -> Tensor:
        """Those of `across` alone."""
        assert self.cross is not None and self.cross_residual is not None
        return self.cross.weights(self.cross_residual.before(states), encoded, bias)


class LinkingDecoder(nn.Module):
    """Predicts each word from the other words, or with `causal` from those before it, and from the source.

    The last layer attends to the source, and with `config.cross_attention` all do. Keys and values of the words
    are the same from layer to layer but for their projections, so one product gives those of all layers.
    """

    def __init__(self, config: TransformerConfig, causal: bool, leaky: bool) -> None:
        super().__init__()
        self.heads, self.causal = config.heads, causal
        last = config.decoder_layers - 1
        self.layers = nn.ModuleList(
            LinkingLayer(config, causal, config.cross_attention == "all" or layer == last, leaky)
            for layer in range(config.decoder_layers)
        )
        self.kv = None if causal else nn.Linear(config.width, 2 * config.decoder_layers * config.width)
        self.norm = nn.LayerNorm(config.width, eps=LAYER_NORM_EPS) if config.norm == "pre" else nn.Identity()

    def reset_memories(self) -> None:
        """The projections of all layers are one matrix, but each begins as if on its own."""
        if self.kv is not None:
            for part in self.kv.weight.chunk(2 * len(self.layers)):
                nn.init.xavier_normal_(part, gain=0.5**0.5)

    def forward(
        self, queries: Tensor, words: Tensor, padding: Tensor | None, encoded: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """queries [B,I,d]: vectors of the positions (causal: of the words before them); words [B,I,d]: of the
        words; padding [B,I] or None; encoded [B,J,d] and bias [B,1,1,J] of the source
        → states [B,I,d] to predict the words from, and weights [B,I,J] in fp32."""
        states = self._below(queries, words, self._sight(padding, words), encoded, bias)
        states, weights = self._layers[-1].across(states, encoded, bias)
        assert weights is not None
        return self.norm(states), weights

    def weights(
        self, queries: Tensor, words: Tensor, padding: Tensor | None, encoded: Tensor, bias: Tensor | None
    ) -> Tensor:
        """The weights alone, which cost less."""
        sight = self._sight(padding, words)
        return self._layers[-1].weights(self._below(queries, words, sight, encoded, bias), encoded, bias)

    def full_context_weights(
        self, words: Tensor, padding: Tensor | None, encoded: Tensor, bias: Tensor | None
    ) -> Tensor:
        """The weights of a pass that predicts nothing: every position begins as its word and sees all words."""
        sight = Sight(padding, words, full=True)
        return self._layers[-1].weights(self._below(words, words, sight, encoded, bias), encoded, bias)

    @property
    def _layers(self) -> list[LinkingLayer]:
        return [cast(LinkingLayer, layer) for layer in self.layers]

    def _sight(self, padding: Tensor | None, words: Tensor) -> Sight | None:
        """None where attention is causal of itself."""
        return None if self.causal else Sight(padding, words)

    def _below(
        self, states: Tensor, words: Tensor, sight: Sight | None, encoded: Tensor, bias: Tensor | None
    ) -> Tensor:
        """Up to the last layer's attention to the source."""
        for number, (layer, memory) in enumerate(zip(self._layers, self._memories(words), strict=True), 1):
            states = layer.within(states, memory, sight)
            if number < len(self.layers):
                states, _ = layer.across(states, encoded, bias)
        return states

    def _memories(self, words: Tensor) -> list[tuple[Tensor, Tensor] | None]:
        """Keys and values [B,H,I,c] of each layer."""
        if self.kv is None:
            return [None] * len(self.layers)
        parts = [split_heads(part, self.heads) for part in self.kv(words).chunk(2 * len(self.layers), dim=-1)]
        return list(zip(parts[::2], parts[1::2], strict=True))
