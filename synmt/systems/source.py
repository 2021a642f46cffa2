"""The source side of a model: how a sentence becomes the encoder's tokens, and what it does to attention.

A published idea on the source side is one class with this interface, in a file of its own. Its features are
Python lists of O(n) numbers a sentence; whatever is n×n is expanded on the device, once a batch.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor, nn

from synmt.nn.config import TransformerConfig
from synmt.systems import SOURCE_SIDES
from synmt.trees.record import ParseRecord

Segment = Callable[[str], list[str]]


@dataclass(slots=True)
class SourceFeatures:
    """One sentence as the encoder sees it.

    tokens: vocabulary entries, [n].
    words: how many of them are pieces of words, which bounds the translation's length.
    vectors: named per-token numbers, each [n].
    """

    tokens: list[str]
    words: int
    vectors: dict[str, list[int]] = field(default_factory=dict)


@dataclass(slots=True)
class SourceBatch:
    """B sentences padded on the right to n positions, on the device.

    ids [B,n] int64; padding [B,n] bool, True where there is no token, or None if all sentences are full;
    words [B] int64, as in SourceFeatures; vectors: each [B,n] int64, zero where padded.
    """

    ids: Tensor
    padding: Tensor | None
    words: Tensor
    vectors: dict[str, Tensor]


class SourceSide(Protocol):
    """What a source-side idea provides. `needs_tree`: its records must hold a constituency tree."""

    needs_tree: bool

    def features(self, record: ParseRecord, segment: Segment) -> SourceFeatures:
        """The encoder's view of one record; raises ValueError if the record lacks what the idea needs."""

    def attention_bias(self, config: TransformerConfig) -> nn.Module | None:
        """A module from a SourceBatch to biases on the encoder's attention logits, or None.

        It gives one bias [B,H,n,n] for each encoder layer; layers that share one get the same tensor.
        """


def open_source_side(name: str) -> SourceSide:
    """Raises KeyError for a name that is not in SOURCE_SIDES."""
    module, maker = SOURCE_SIDES[name].split(":")
    side: SourceSide = getattr(importlib.import_module(module), maker)()
    return side
