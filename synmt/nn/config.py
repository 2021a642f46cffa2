"""The sizes of the network. Imports no torch, because `--help` reads this module."""

from dataclasses import dataclass
from typing import Literal

from synmt.options import Checked, rate, setting

DROPOUTS = "dropout", "attention_dropout", "activation_dropout"  # all that may change when training continues
Positions = Literal["sinusoidal", "rotary"]


@dataclass(frozen=True)
class TransformerConfig(Checked):
    """The defaults are the settings of McDonald & Chiang (2021)."""

    width: int = setting(512, "size of the hidden states", 2, 2**16)
    feedforward: int = setting(2048, "size inside feed-forward sublayers", 1, 2**20)
    encoder_layers: int = setting(6, "encoder layers", 1, 256)
    decoder_layers: int = setting(6, "decoder layers", 1, 256)
    heads: int = setting(8, "attention heads per layer", 1, most=2**16)
    cross_attention: Literal["all", "last"] = setting("all", "decoder layers that attend to the source")
    norm: Literal["pre", "post"] = setting("pre", "layer norm before each sublayer, or after it")
    positions: Positions = setting("sinusoidal", "added position vectors, or rotated queries and keys")
    dropout: float = rate(0.3, "dropout after embeddings and sublayers")
    attention_dropout: float = rate(0.3, "dropout of attention weights")
    activation_dropout: float = rate(0.3, "dropout inside feed-forward sublayers")

    def crosses(self, layer: int) -> bool:
        """Return whether a decoder layer, counted from 1, attends to the source."""
        return self.cross_attention == "all" or layer == self.decoder_layers

    def __post_init__(self) -> None:
        """Raise ValueError for sizes that cannot form a network."""
        super().__post_init__()
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads of an even size")
