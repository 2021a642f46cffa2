"""The sizes of the network. Imports no torch, because `--help` reads this module."""

from dataclasses import dataclass
from typing import Literal

from synmt.options import check_settings, rate, setting

DECIDED = "--init"  # the initial model fixes all sizes
Positions = Literal["sinusoidal", "rotary"]


@dataclass(frozen=True)
class TransformerConfig:
    """The defaults are the settings of McDonald & Chiang (2021)."""

    width: int = setting(512, "channels of a state", 2, 2**16, unless=DECIDED)
    feedforward: int = setting(2048, "channels inside a feed-forward sublayer", 1, 2**20, unless=DECIDED)
    encoder_layers: int = setting(6, "layers of the encoder", 1, 256, unless=DECIDED)
    decoder_layers: int = setting(6, "layers of the decoder", 1, 256, unless=DECIDED)
    heads: int = setting(8, "attention heads of a layer", 1, unless=DECIDED, most=2**16)
    cross_attention: Literal["all", "last"] = setting("all", "decoder layers that attend to the source", unless=DECIDED)
    norm: Literal["pre", "post"] = setting(
        "pre", "layer norm before each sublayer, or after each residual", unless=DECIDED
    )
    positions: Positions = setting(
        "sinusoidal",
        "vectors added to the embeddings, or queries and keys of self-attention turned by their position",
        unless=DECIDED,
    )
    dropout: float = rate(0.3, "of embeddings and of each sublayer's output")
    attention_dropout: float = rate(0.3, "of attention weights")
    activation_dropout: float = rate(0.3, "inside feed-forward sublayers")

    def crosses(self, layer: int) -> bool:
        """Return whether a decoder layer, counted from 1, attends to the source."""
        return self.cross_attention == "all" or layer == self.decoder_layers

    def __post_init__(self) -> None:
        """Raise ValueError for sizes that cannot form a network."""
        check_settings(self)
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads of an even size")
