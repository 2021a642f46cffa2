"""What the encoder reads, and what syntax does to one run of it. Tensors only.

Shapes: B sentences, n positions, d width.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from synmt.nn.attention import PLAIN, AttentionEdit


@dataclass(slots=True)
class SourceBatch:
    """B sentences padded on the right to n positions, on the device.

    ids [B,n] int64; padding [B,n] bool, True where there is no token, or None if all sentences are full;
    words [B] int64: how many tokens are pieces of words; vectors: by name, each [B,n] int64, zero where padded;
    matrices: by name, each [B,n,n] bool, False where padded.
    """

    ids: Tensor
    padding: Tensor | None
    words: Tensor
    vectors: dict[str, Tensor]
    matrices: dict[str, Tensor] = field(default_factory=dict)


@dataclass(slots=True)
class EncoderPass:
    """One run of the encoder.

    edits: one for each layer; layers that share one get the same object.
    features: what stands in for the last channels of the embeddings, [B,n,f].
    losses: to be called once the encoder has run; each gives a loss summed over the batch.
    accuracies: the same, by name; how many predictions were right, and how many there were.
    """

    edits: list[AttentionEdit]
    features: Tensor | None = None
    losses: list[Callable[[], Tensor]] = field(default_factory=list)
    accuracies: dict[str, Callable[[], tuple[int, int]]] = field(default_factory=dict)


def plain_pass(layers: int) -> EncoderPass:
    return EncoderPass([PLAIN] * layers)


def combined(passes: Sequence[EncoderPass]) -> EncoderPass:
    """Several ideas at once: biases add up, everything else is one idea's alone."""
    first, *rest = passes
    for other in rest:
        pairs = zip(first.edits, other.edits, strict=True)
        first = EncoderPass(
            [_both(*pair) for pair in pairs],
            first.features if other.features is None else other.features,
            [*first.losses, *other.losses],
            first.accuracies | other.accuracies,
        )
    return first


def _both(one: AttentionEdit, other: AttentionEdit) -> AttentionEdit:
    if one is PLAIN or other is PLAIN:
        return one if other is PLAIN else other
    bias = one.bias if other.bias is None else other.bias if one.bias is None else one.bias + other.bias
    return AttentionEdit(one.scale if other.scale is None else other.scale, bias, one.replace or other.replace)


def with_hidden_keys(edits: Sequence[AttentionEdit], padding: Tensor | None) -> list[AttentionEdit]:
    """The edits with −inf on padded keys; layers that shared an edit still do."""
    if padding is None:
        return list(edits)
    padded = padding[:, None, None, :]
    hidden = {id(edit): _hide(edit, padded) for edit in edits}
    return [hidden[id(edit)] for edit in edits]


def _hide(edit: AttentionEdit, padded: Tensor) -> AttentionEdit:
    bias = torch.zeros(padded.shape, device=padded.device) if edit.bias is None else edit.bias
    return AttentionEdit(edit.scale, bias.masked_fill(padded, float("-inf")), edit.replace)
