"""What the encoder reads, and what ideas do to one run of it. Tensors only.

Shapes: B sentences, n positions, d width.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from synmt.nn.attention import PLAIN, AttentionEdit


@dataclass(slots=True)
class SourceBatch:
    """B sentences padded on the right to n positions, on the device.

    ids [B,n] int64; padding [B,n] bool, True where there is no token, or None if all sentences are full;
    words [B] int64: how many tokens are subwords; columns: by name, each [B,n] int64, zero where padded;
    matrices: by name, each [B,n,n] bool, False where padded.
    """

    ids: Tensor
    padding: Tensor | None
    words: Tensor
    columns: dict[str, Tensor]
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


def edit_of_layer(edit: AttentionEdit, layer: int, layers: int) -> list[AttentionEdit]:
    """Return the edits of all layers of an idea that edits one, counted from 1."""
    return [edit if each == layer else PLAIN for each in range(1, layers + 1)]


def combined(passes: Sequence[EncoderPass]) -> EncoderPass:
    """Join what several ideas do: edits add up, features stand side by side, losses are all there.

    Raises ValueError for a head that two ideas edit, and for two accuracies of one name.
    """
    first, *rest = passes
    for other in rest:
        if twice := first.accuracies.keys() & other.accuracies.keys():
            raise ValueError(f"two ideas use the same name for an accuracy: {', '.join(sorted(twice))}")
        features = [each for each in (first.features, other.features) if each is not None]
        first = EncoderPass(
            _sums(first.edits, other.edits),
            torch.cat(features, dim=-1) if features else None,
            [*first.losses, *other.losses],
            first.accuracies | other.accuracies,
        )
    settled = {id(edit): edit.settled() for edit in first.edits}
    return replace(first, edits=[settled[id(edit)] for edit in first.edits])


def _sums(first: Sequence[AttentionEdit], second: Sequence[AttentionEdit]) -> list[AttentionEdit]:
    """Return the sum of each layer's edits; layers that share both share it."""
    pairs = list(zip(first, second, strict=True))
    sums = {
        (id(one), id(other)): _sum(one, other) for one, other in {(id(a), id(b)): (a, b) for a, b in pairs}.values()
    }
    return [sums[id(one), id(other)] for one, other in pairs]


def _sum(first: AttentionEdit, second: AttentionEdit) -> AttentionEdit:
    if first is PLAIN or second is PLAIN:
        return first if second is PLAIN else second
    return first + second


def with_hidden_keys(edits: Sequence[AttentionEdit], padding: Tensor | None) -> list[AttentionEdit]:
    """Return the edits with −inf on padded keys; layers that shared an edit still do."""
    if padding is None:
        return list(edits)
    padded = padding[:, None, None, :]
    hidden = {id(edit): _hide(edit, padded) for edit in edits}
    return [hidden[id(edit)] for edit in edits]


def _hide(edit: AttentionEdit, padded: Tensor) -> AttentionEdit:
    bias = torch.zeros(padded.shape, device=padded.device) if edit.bias is None else edit.bias
    return replace(edit, bias=bias.masked_fill(padded, float("-inf")))


def hiding_bias(padding: Tensor | None) -> Tensor | None:
    """Return −inf on padded keys, [B,1,1,n]; padding [B,n] is True where there is no token."""
    if padding is None:
        return None
    zeros = torch.zeros(padding.shape, device=padding.device)
    return zeros.masked_fill(padding, float("-inf"))[:, None, None, :]
