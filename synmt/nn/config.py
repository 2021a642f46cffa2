"""The sizes of the network, the paper's defaults. Free of torch, so that `--help` is, too."""

from dataclasses import dataclass, field
from typing import Any, Literal


def setting(default: Any, help_text: str) -> Any:
    """A field of a config with the line of help that the command line shows."""
    return field(default=default, metadata={"help": help_text})


@dataclass(frozen=True)
class TransformerConfig:
    width: int = setting(512, "channels of a state")
    feedforward: int = setting(2048, "channels inside a feed-forward sublayer")
    encoder_layers: int = setting(6, "layers of the encoder")
    decoder_layers: int = setting(6, "layers of the decoder")
    heads: int = setting(8, "attention heads of a layer")
    norm: Literal["pre", "post"] = setting("pre", "layer norm before each sublayer, or after each residual")
    dropout: float = setting(0.3, "of embeddings and of each sublayer's output")
    attention_dropout: float = setting(0.3, "of attention weights")
    activation_dropout: float = setting(0.3, "inside feed-forward sublayers")

    def __post_init__(self) -> None:
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads of an even size")
