"""The encoder's input, and the changes that ideas make to one run of the encoder. Tensors only.

Shapes: B sentences, n positions, d width.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from synmt.nn.attention import AttentionEdit, hiding, one_or_both, per_layer
from synmt.nn.losses import joined_accuracies


@dataclass(slots=True)
class SourceBatch:
    """B sentences padded on the right to n positions, on the device.

    ids [B,n] int64.
    padding [B,n] bool: True where there is no token; None if no sentence is padded.
    words [B] int64: how many tokens are subwords.
    columns: by name, each [B,n] int64, 0 where padded.
    matrices: by name, each [B,n,n] bool, False where padded.
    """

    ids: Tensor
    padding: Tensor | None
    words: Tensor
    columns: dict[str, Tensor]
    matrices: dict[str, Tensor] = field(default_factory=dict)


@dataclass(slots=True)
class EncoderPass:
    """The changes that ideas make to one run of the encoder.

    edits: one per layer. Layers with the same edit share the object.
    features: replace the last channels of the embeddings, [B,n,f].
    losses: functions to call after the encoder has run; each returns a loss summed over the batch.
    accuracies: by name, functions to call after the run; each returns the numbers of correct predictions and of
    predictions.
    """

    edits: list[AttentionEdit]
    features: Tensor | None = None
    losses: list[Callable[[], Tensor]] = field(default_factory=list)
    accuracies: dict[str, Callable[[], tuple[int, int]]] = field(default_factory=dict)


def combined(passes: Sequence[EncoderPass]) -> EncoderPass:
    """Combine the passes of several ideas: edits add up, features are concatenated, and all losses are kept.

    Raises ValueError if two ideas edit the same head, and if two accuracies have the same name.
    """
    first, *rest = passes
    for other in rest:
        first = EncoderPass(
            _sums(first.edits, other.edits),
            one_or_both(first.features, other.features, lambda one, another: torch.cat([one, another], dim=-1)),
            [*first.losses, *other.losses],
            joined_accuracies(first.accuracies, other.accuracies),
        )
    return replace(first, edits=per_layer(first.edits, AttentionEdit.settled))


def _sums(first: Sequence[AttentionEdit], second: Sequence[AttentionEdit]) -> list[AttentionEdit]:
    """Return the sum of each layer's two edits. Layers that share both share the sum."""
    distinct = {(id(one), id(other)): (one, other) for one, other in zip(first, second, strict=True)}
    sums = {key: one + other for key, (one, other) in distinct.items()}
    return [sums[id(one), id(other)] for one, other in zip(first, second, strict=True)]


def with_hidden_keys(edits: Sequence[AttentionEdit], padding: Tensor | None) -> list[AttentionEdit]:
    """Return the edits with −inf on padded keys. Layers that share an edit still do."""
    if padding is None:
        return list(edits)
    padded = padding[:, None, None, :]

    def hidden(edit: AttentionEdit) -> AttentionEdit:
        bias = hiding(padded) if edit.bias is None else edit.bias.masked_fill(padded, float("-inf"))
        return replace(edit, bias=bias)

    return per_layer(edits, hidden)


def hiding_bias(padding: Tensor | None) -> Tensor | None:
    """Return a bias of −inf on padded keys, [B,1,1,n]; padding [B,n] is True where there is no token."""
    return None if padding is None else hiding(padding)[:, None, None, :]
