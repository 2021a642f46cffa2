"""The sizes of the network, the paper's defaults. Free of torch, so that `--help` is, too."""

import math
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args, get_type_hints


def setting(default: Any, help_text: str, least: float = 0, most: float = math.inf) -> Any:
    """A field of a config with the line of help that the command line shows, and the bounds of a number."""
    return field(default=default, metadata={"help": help_text, "least": least, "most": most})


def rate(default: float, help_text: str) -> Any:
    """A setting that is a probability below one."""
    return setting(default, help_text, most=math.nextafter(1, 0))


def check_settings(config: Any) -> None:
    """Raises ValueError for a value that is not of its field's kind, not among its choices or out of bounds."""
    kinds = get_type_hints(type(config))
    for each in fields(config):
        value, kind = getattr(config, each.name), kinds[each.name]
        if choices := get_args(kind):
            fits = value in choices
        elif kind is str:
            fits = type(value) is str
        else:
            is_number = type(value) is kind or (kind is float and type(value) is int)
            fits = is_number and each.metadata["least"] <= value <= each.metadata["most"]
        if not fits:
            raise ValueError(f"{each.name.replace('_', ' ')} cannot be {value!r}")


@dataclass(frozen=True)
class TransformerConfig:
    width: int = setting(512, "channels of a state", 2, 2**16)
    feedforward: int = setting(2048, "channels inside a feed-forward sublayer", 1, 2**20)
    encoder_layers: int = setting(6, "layers of the encoder", 1, 256)
    decoder_layers: int = setting(6, "layers of the decoder", 1, 256)
    heads: int = setting(8, "attention heads of a layer", 1)
    cross_attention: Literal["all", "last"] = setting("all", "decoder layers that attend to the source")
    norm: Literal["pre", "post"] = setting("pre", "layer norm before each sublayer, or after each residual")
    dropout: float = rate(0.3, "of embeddings and of each sublayer's output")
    attention_dropout: float = rate(0.3, "of attention weights")
    activation_dropout: float = rate(0.3, "inside feed-forward sublayers")

    def __post_init__(self) -> None:
        """Raises ValueError for sizes that make no network."""
        check_settings(self)
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads of an even size")
