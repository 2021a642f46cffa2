"""An encoder–decoder Transformer with tied embeddings, short enough to read in one sitting (Vaswani et al. 2017).

It handles only tensors. Components change it through the hooks of a run (synmt.nn.hooks).
Shapes: B sentences, n source positions, t target positions, H heads, d width, V vocabulary, T target vocabulary.
"""

from collections.abc import Callable, Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.attention import PLAIN, CrossAttention, Edit, KeyCache, SelfAttention
from synmt.nn.config import TransformerConfig
from synmt.nn.dropout import add_dropped, dropout, dropped_relu
from synmt.nn.hooks import Hooks
from synmt.nn.positions import Sinusoids

LAYER_NORM_EPS = 1e-6


def reset_products(module: nn.Module) -> None:
    """Initialize each weight matrix, qkv included, from Xavier's normal distribution, and each bias to zero."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_normal_(part.weight)
            nn.init.zeros_(part.bias)


class Residual(nn.Module):
    """x + dropout(sublayer(norm(x))), or norm(x + dropout(sublayer(x))) with post-norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width, eps=LAYER_NORM_EPS)
        self.pre = config.norm == "pre"
        self.dropout = config.dropout

    def before(self, states: Tensor) -> Tensor:
        return self.norm(states) if self.pre else states

    def after(self, states: Tensor, output: Tensor) -> Tensor:
        states = add_dropped(states, output, self.dropout, self.training)
        return states if self.pre else self.norm(states)


def final_norm(config: TransformerConfig) -> nn.Module:
    """Return the norm after the last layer: a layer norm with pre-norm, else the identity."""
    return nn.LayerNorm(config.width, eps=LAYER_NORM_EPS) if config.norm == "pre" else nn.Identity()


def self_attention(config: TransformerConfig) -> SelfAttention:
    return SelfAttention(config.width, config.heads, config.attention_dropout, config.positions == "rotary")


class FeedForward(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.width, config.feedforward)
        self.outer = nn.Linear(config.feedforward, config.width)
        self.dropout = config.activation_dropout

    def forward(self, states: Tensor) -> Tensor:
        hidden = self.inner(states.flatten(0, -2))  # not a view, so dropped_relu can overwrite it
        outer: Tensor = self.outer(dropped_relu(hidden, self.dropout, self.training))
        return outer.view(states.shape)


class EncoderLayer(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = self_attention(config)
        self.feedforward = FeedForward(config)
        self.attention_residual = Residual(config)
        self.feedforward_residual = Residual(config)

    def forward(self, states: Tensor, edit: Edit) -> Tensor:
        """states [B,n,d] → [B,n,d]"""
        residual = self.attention_residual
        states = residual.after(states, self.attention(residual.before(states), edit))
        residual = self.feedforward_residual
        return residual.after(states, self.feedforward(residual.before(states)))


class Encoder(nn.Module):
    """The encoder's layers, with the hooks of components."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))

    def forward(self, states: Tensor, hooks: Hooks) -> Tensor:
        """states [B,n,d] → [B,n,d]"""
        pairs = enumerate(zip(self.layers, hooks.edits, strict=True), 1)
        if not hooks.runs:
            for _, (layer, edit) in pairs:
                states = layer(states, edit)
            return states
        with hooks.recording([layer.attention for layer in self.layers]):
            states = hooks.after(0, states)
            for number, (layer, edit) in pairs:
                states = hooks.after(number, layer(states, edit))
        return states


class LayerCache:
    """The tensors that a decoder layer reuses between the steps of a search.

    memory: keys and values of the source, [B,H,n,c], shared by all hypotheses of a sentence.
    prefix: keys and values of the target.
    """

    def __init__(self, memory: tuple[Tensor, Tensor] | None) -> None:
        self.memory, self.prefix = memory, KeyCache()

    def select(self, sentences: Tensor) -> None:
        if self.memory is not None:
            self.memory = (self.memory[0][sentences], self.memory[1][sentences])
        self.prefix.select(sentences)


class DecoderLayer(nn.Module):
    """crosses: whether this layer attends to the source."""

    def __init__(self, config: TransformerConfig, crosses: bool = True) -> None:
        super().__init__()
        self.attention = self_attention(config)
        self.cross = CrossAttention(config.width, config.heads, config.attention_dropout) if crosses else None
        self.feedforward = FeedForward(config)
        self.attention_residual = Residual(config)
        self.cross_residual = Residual(config) if crosses else None
        self.feedforward_residual = Residual(config)

    def within(self, states: Tensor, edit: Edit = PLAIN) -> Tensor:
        """Run self-attention only, causal unless an edit sets what each position sees: states [B,t,d] → [B,t,d]"""
        residual = self.attention_residual
        return residual.after(states, self.attention(residual.before(states), edit, causal=edit is PLAIN))

    def memory(self, encoded: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return the keys and values that cross-attention computes from the encoder's output [B,n,d]."""
        return self.cross.memory(encoded) if self.cross else None

    def step(
        self, states: Tensor, cache: LayerCache, cross: Edit, position: int | Tensor, edit: Edit = PLAIN
    ) -> Tensor:
        """Compute one more target position of each hypothesis, and extend the cache: states [B,K,d] → [B,K,d]

        position, and edit of self-attention: as in SelfAttention.step.
        """
        residual = self.attention_residual
        states = residual.after(states, self.attention.step(residual.before(states), cache.prefix, position, edit))
        return self.across(states, cache.memory, cross)

    def across(self, states: Tensor, memory: tuple[Tensor, Tensor] | None, cross: Edit) -> Tensor:
        """Run cross-attention, if the layer has it, and the feed-forward sublayer: states [B,t,d] → [B,t,d]"""
        if self.cross and self.cross_residual:
            residual = self.cross_residual
            states = residual.after(states, self.cross(residual.before(states), memory, cross))
        residual = self.feedforward_residual
        return residual.after(states, self.feedforward(residual.before(states)))


class Transformer(nn.Module):
    """Encoder and decoder with one embedding matrix, whose first T rows are also the output projection.

    Target tokens therefore have the ids 0…T−1, and tokens that occur only in the source can never be generated.
    output: replaces the output projection once it is quantized.
    """

    def __init__(self, config: TransformerConfig, vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.target_vocabulary = target_vocabulary
        self.embedding = nn.Parameter(torch.empty(vocabulary, config.width))
        self.output_bias = nn.Parameter(torch.zeros(target_vocabulary))
        self.output: nn.Module | None = None
        self.encoder = Encoder(config)
        layers = range(1, config.decoder_layers + 1)
        self.decoder = nn.ModuleList(DecoderLayer(config, config.crosses(layer)) for layer in layers)
        self.encoder_norm, self.decoder_norm = final_norm(config), final_norm(config)
        self.positions = Sinusoids(config.width)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw embeddings from N(0, 1/d), and initialize the rest with `reset_products`."""
        reset_products(self)
        nn.init.normal_(self.embedding, std=self.config.width**-0.5)
        nn.init.zeros_(self.output_bias)

    @property
    def decoder_layers(self) -> list[DecoderLayer]:
        return [cast(DecoderLayer, layer) for layer in self.decoder]

    @property
    def output_weight(self) -> Tensor:
        """[T,d]"""
        return self.embedding[: self.target_vocabulary]

    def embed(self, ids: Tensor, start: int | Tensor = 0, change: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """Return dropout(√d · embedding + position), without the position if it is rotary: ids [B,n] → [B,n,d]

        start: the position of the first id, or the positions [B,n] of all.
        change: of the vectors [B,n,d], before positions are added.
        """
        vectors = F.embedding(ids, self.embedding) * self.config.width**0.5
        if change is not None:
            vectors = change(vectors)
        if self.config.positions == "sinusoidal":
            if isinstance(start, Tensor):
                vectors = vectors + self.positions.at(start)
            else:
                vectors = vectors + self.positions(start + ids.shape[1], start)
        return dropout(vectors, self.config.dropout, self.training)

    def encode(self, ids: Tensor, hooks: Hooks) -> Tensor:
        """ids [B,n] → [B,n,d]"""
        encoded: Tensor = self.encoder_norm(
            self.encoder(self.embed(ids, change=hooks.embed if hooks.runs else None), hooks)
        )
        return encoded

    def decode(
        self,
        states: Tensor,
        encoded: Tensor,
        cross: Sequence[Edit],
        edits: Sequence[Edit] | None = None,
        after: Callable[[int, Tensor], Tensor] | None = None,
    ) -> Tensor:
        """Run the decoder over a whole target. Each position sees itself and the ones before it, unless the layer's
        edit says otherwise.

        states [B,t,d]: the embedded target, shifted right.
        encoded [B,n,d]; cross: the edit of each layer's attention to it.
        after: changes the output of a layer, counted from 1 → [B,t,d]
        """
        edits = edits or [PLAIN] * len(self.decoder)
        for number, layer in enumerate(self.decoder_layers):
            states = layer.across(layer.within(states, edits[number]), layer.memory(encoded), cross[number])
            states = states if after is None else after(number + 1, states)
        decoded: Tensor = self.decoder_norm(states)
        return decoded

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of target tokens in fp32: [..,d] → [..,T]

        In bf16 they would be too coarse to tell the best translations apart.
        """
        with torch.autocast(states.device.type, enabled=False):
            if self.output is not None:
                return cast(Tensor, self.output(states.float()))
            return F.linear(states.float(), self.output_weight.float(), self.output_bias.float())

    def start(self, encoded: Tensor) -> list[LayerCache]:
        """Return the caches for a search over the encoder's output [B,n,d]."""
        return [LayerCache(layer.memory(encoded)) for layer in self.decoder_layers]

    def step(
        self,
        states: Tensor,
        caches: list[LayerCache],
        cross: Sequence[Edit],
        position: int | Tensor,
        edits: Sequence[Edit] | None = None,
        after: Callable[[int, Tensor], Tensor] | None = None,
    ) -> Tensor:
        """Run the decoder over one more position of all hypotheses, given its embedded tokens: [B,K,d] → [B,K,d]

        position, and the edits of the layers: as in SelfAttention.step; cross, after: as in `decode`.
        """
        edits = edits or [PLAIN] * len(self.decoder)
        for number, (layer, cache) in enumerate(zip(self.decoder_layers, caches, strict=True)):
            states = layer.step(states, cache, cross[number], position, edits[number])
            states = states if after is None else after(number + 1, states)
        decoded: Tensor = self.decoder_norm(states)
        return decoded
