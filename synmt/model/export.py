"""Export of plain Transformers to CTranslate2.

Klein et al. (2020), "The OpenNMT Neural Machine Translation Toolkit: 2020 Edition", AMTA.
"""

import math
import os
import struct
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from synmt.model.config import ModelConfig
from synmt.model.files import (
    CONFIG_FILE,
    EXPORTED_FOLDER,
    LARGEST_CONFIG,
    LARGEST_TEXT,
    check_empty,
    check_inside,
    naming,
)
from synmt.model.folder import ModelFolder
from synmt.model.translation import TranslationModel
from synmt.nn.positions import sinusoids
from synmt.nn.quantization import LARGEST
from synmt.nn.transformer import LAYER_NORM_EPS, Transformer
from synmt.parameters import Unset
from synmt.streams import BadInput
from synmt.streams.decoding import decoded
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary, structural

BEGIN_TOKEN = structural("<s>")
POSITIONS = 4096  # largest number of tokens of a sentence in CTranslate2
NEVER = -1e9  # the bias that excludes the begin of sentence from the output
WEIGHTS_FILE = "model.bin"
VOCABULARIES = "source_vocabulary.json", "target_vocabulary.json"
KINDS, SIZES = ("float32", "int8", "int16", "int32"), (4, 1, 2, 4)  # types of variables, with bytes per number
INT8 = 1
Variables = dict[str, tuple[list[int], int, bytes]]  # by name: the shape, the kind, and the bytes of a scalar


def export(path: Path, out: Path, precision: Literal["fp32", "int8"] = "fp32") -> None:
    """Export the model of a folder into a new folder, whole or not at all. Raises BadInput for a model that CTranslate2
    cannot run.

    precision: of the stored weights. The new folder holds the config, the codes and the vocabularies as the old one,
    and in `ctranslate2` the files that CTranslate2 reads.
    """
    check_empty(out)
    folder = ModelFolder.open(path, ModelConfig)
    model: TranslationModel = folder.load_model(torch.device("cpu"))
    if why := _obstacle(folder.config):
        raise BadInput(why, str(path))
    is_new = not out.exists()
    try:
        write_network(model.network, folder.vocabulary, out / EXPORTED_FOLDER, precision)
        replace(folder, path=out, training={**folder.training, "exported": precision}).save()
    except BaseException:  # the folder had no files before
        with suppress(OSError):
            for each in out.iterdir():
                rmtree(each) if each.is_dir() else each.unlink()
            if is_new:
                out.rmdir()
        raise


def write_network(
    network: Transformer, vocabulary: Vocabulary, out: Path, precision: Literal["fp32", "int8"] = "fp32"
) -> None:
    """Write the files of CTranslate2 into a folder. Raises BadInput.

    Tokens are those of the vocabulary; sources have no begin or end token.
    """
    spec = _spec(network, vocabulary)
    if precision == "int8":
        _quantize(spec)
    else:
        spec.optimize()
    with naming(out):
        out.mkdir(parents=True, exist_ok=True)
        spec.save(str(out))


def check_exported(folder: ModelFolder[ModelConfig]) -> None:
    """Raise BadInput unless the files of CTranslate2 fit the config and the vocabularies of an exported model.

    CTranslate2 trusts these files, which may come from a stranger. The check reads no weights.
    """
    if why := _obstacle(folder.config):
        raise BadInput(why, str(folder.path))
    inside = folder.path / EXPORTED_FOLDER
    with naming(inside):
        if unknown := {each.name for each in inside.iterdir()} - {CONFIG_FILE, WEIGHTS_FILE, *VOCABULARIES}:
            raise ValueError(f"has a file {min(unknown)!r:.40}, which `synmt export` does not write")
    for name, largest in {CONFIG_FILE: LARGEST_CONFIG, WEIGHTS_FILE: math.inf}.items():
        check_inside(folder.path, inside / name, largest)
    for name, tokens in zip(VOCABULARIES, _vocabularies(folder.vocabulary), strict=True):
        check_inside(folder.path, inside / name, LARGEST_TEXT)
        with naming(inside / name):
            if decoded((inside / name).read_bytes()) != tokens:
                raise ValueError("differs from the vocabulary of the model")
    with torch.device("meta"), Unset():
        network: Transformer = folder.new_model().network
    with naming(inside / WEIGHTS_FILE):
        found = _variables_in(inside / WEIGHTS_FILE)
        if sum(each.numel() for each in network.parameters()) > sum(math.prod(shape) for shape, *_ in found.values()):
            raise ValueError("is too small for this model")
        spec = _spec(network, folder.vocabulary)
        _check_variables(found, spec)
    with naming(inside / CONFIG_FILE):
        expected, fields = spec.config.to_dict(), dict(decoded((inside / CONFIG_FILE).read_bytes()))
        if wrong := [name for name in expected.keys() & fields.keys() if fields[name] != expected[name]]:
            raise ValueError(f"{min(wrong)} cannot be {fields[min(wrong)]!r:.80}")


def _spec(network: Transformer, vocabulary: Vocabulary) -> Any:
    """Return a network as a TransformerSpec; the weights of a network on the meta device are zeros. Raises BadInput."""
    try:
        from ctranslate2.specs import TransformerDecoderSpec, TransformerEncoderSpec, TransformerSpec
    except ImportError:
        raise BadInput("ctranslate2 is not installed: pip install ctranslate2") from None
    config = network.config
    rotary = {"rotary_dim": config.width // config.heads} if config.positions == "rotary" else {}
    common = {"pre_norm": config.norm == "pre", **rotary}
    spec = TransformerSpec(
        TransformerEncoderSpec(config.encoder_layers, config.heads, **common),
        TransformerDecoderSpec(config.decoder_layers, config.heads, **common),
    )
    if rotary:
        del spec.encoder.position_encodings
    _set_network(spec, network, len(vocabulary.ids), vocabulary.begin)
    source, target = _vocabularies(vocabulary)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.config.bos_token = spec.config.decoder_start_token = BEGIN_TOKEN
    spec.config.eos_token, spec.config.unk_token = END_TOKEN, UNKNOWN_TOKEN
    spec.config.layer_norm_epsilon = LAYER_NORM_EPS
    spec.validate()
    return spec


def _vocabularies(vocabulary: Vocabulary) -> tuple[list[str], list[str]]:
    """Return the vocabularies of source and target in CTranslate2."""
    return [*vocabulary.target, *vocabulary.source], [*vocabulary.target, BEGIN_TOKEN]


def _check_variables(found: Variables, spec: Any) -> None:
    """Raise ValueError unless a file has exactly the variables of a spec, in fp32 or in int8 with their scales.

    Scalars, such as the number of heads, must have the values of the spec.
    """
    in_int8 = any(kind == INT8 and shape for shape, kind, _ in found.values())
    expected: Variables = {}
    for name, each in spec.variables().items():
        is_rounded = in_int8 and len(each.shape) == 2 and name.endswith("/weight")
        kind = INT8 if is_rounded else KINDS.index(each.dtype)
        expected[name] = list(each.shape), kind, b"" if each.shape else bytes(each.to_bytes())
        if is_rounded:
            expected[f"{name}_scale"] = list(each.shape[:1]), KINDS.index("float32"), b""
    for name in sorted(expected.keys() | found.keys()):
        if found.get(name) != expected.get(name):
            raise ValueError(f"the variable {name!r:.80} does not fit this model")


def _variables_in(path: Path) -> Variables:
    """Return the variables in a file of CTranslate2, without reading their weights.

    Raises ValueError for a file that is damaged.
    """
    found: Variables = {}
    with path.open("rb") as stream:

        def number(form: str) -> int:
            value: int
            (value,) = struct.unpack(f"<{form}", stream.read(struct.calcsize(f"<{form}")))
            return value

        def text() -> str:
            return stream.read(number("H")).decode().removesuffix("\0")

        def add(name: str, each: tuple[list[int], int, bytes]) -> None:
            if found.setdefault(name, each) is not each:
                raise ValueError(f"the variable {name!r:.80} is a duplicate")

        try:
            number("I"), text(), number("I")  # the versions of the format and of the spec, which CTranslate2 checks
            for _ in range(number("I")):
                name = text()
                shape = [number("I") for _ in range(number("B"))]
                kind, size = number("B"), number("I")
                if size != math.prod(shape) * SIZES[kind]:
                    raise ValueError(f"the variable {name!r:.80} has {size} bytes")
                add(name, (shape, kind, b"" if shape else stream.read(size)))
                stream.seek(size if shape else 0, os.SEEK_CUR)
            for _ in range(number("I")):
                alias, name = text(), text()
                for end in ("", "_scale"):
                    if f"{name}{end}" in found:
                        add(f"{alias}{end}", found[f"{name}{end}"])
        except (struct.error, IndexError):
            raise ValueError("is damaged") from None
        if stream.tell() != path.stat().st_size:
            raise ValueError("is damaged")
    return found


def _quantize(spec: Any) -> None:
    """Round the weights of a spec to integers of at most LARGEST. CTranslate2 itself rounds to 127, so on CPUs without
    VNNI its sums of products overflow."""
    exact = {name: each.numpy().copy() for name, each in spec.variables().items()}
    spec.optimize("int8")
    rounded = {name: each.numpy() for name, each in spec.variables().items() if not isinstance(each, str)}
    for name in [each for each in rounded if f"{each}_scale" in rounded]:
        scale = rounded[f"{name}_scale"]
        scale *= LARGEST / 127
        rounded[name][...] = np.rint(exact[name] * scale[:, None])


def _obstacle(config: ModelConfig) -> str:
    """Return why CTranslate2 cannot run a model, because it differs from a plain Transformer in translation, or ""."""
    why = ""
    if parts := [name for name, each in config.source.for_translation().components.items() if each.hooks]:
        why = f"the encoder has {'+'.join(parts)}"
    elif not config.target.is_plain:
        why = f"the decoder has {'+'.join(config.target.components)}"
    elif config.network.cross_attention != "all":
        why = "some layers of the decoder do not attend to the source"
    return why and f"{why}, which CTranslate2 does not support"


def _set_network(spec: Any, network: Any, sources: int, begin: int) -> None:
    """Copy all parameters of a Transformer to a TransformerSpec; sources: the size of the source vocabulary."""
    embedding = _array(network.embedding)
    spec.encoder.embeddings[0].weight = embedding[:sources]
    target = np.concatenate([_array(network.output_weight), embedding[begin : begin + 1]])
    spec.decoder.embeddings.weight = spec.decoder.projection.weight = target
    bias = np.array([NEVER], np.float32)
    spec.decoder.projection.bias = np.concatenate([_array(network.output_bias), bias])
    for half, norm in ((spec.encoder, network.encoder_norm), (spec.decoder, network.decoder_norm)):
        if network.config.positions == "sinusoidal":
            half.position_encodings.encodings = _array(sinusoids(POSITIONS, network.config.width))
        if network.config.norm == "pre":
            _set_norm(half.layer_norm, norm)
    for theirs, ours in zip(spec.encoder.layer, network.encoder.layers, strict=True):
        _set_layer(theirs, ours)
    for theirs, ours in zip(spec.decoder.layer, network.decoder, strict=True):
        _set_layer(theirs, ours)
        _set_norm(theirs.attention.layer_norm, ours.cross_residual.norm)
        _set_products(theirs.attention.linear, [ours.cross.query, ours.cross.kv, ours.cross.out])


def _set_layer(theirs: Any, ours: Any) -> None:
    """Copy the parameters that encoder and decoder layers share."""
    _set_norm(theirs.self_attention.layer_norm, ours.attention_residual.norm)
    _set_products(theirs.self_attention.linear, [ours.attention.qkv, ours.attention.out])
    _set_norm(theirs.ffn.layer_norm, ours.feedforward_residual.norm)
    _set_products([theirs.ffn.linear_0, theirs.ffn.linear_1], [ours.feedforward.inner, ours.feedforward.outer])


def _set_norm(theirs: Any, ours: Any) -> None:
    theirs.gamma, theirs.beta = _array(ours.weight), _array(ours.bias)


def _set_products(theirs: list[Any], ours: list[nn.Linear]) -> None:
    for one, other in zip(theirs, ours, strict=True):
        one.weight, one.bias = _array(other.weight), _array(other.bias)


def _array(tensor: Tensor) -> "np.ndarray[Any, np.dtype[np.float32]]":
    if tensor.is_meta:
        return np.broadcast_to(np.float32(0), tensor.shape)
    array: np.ndarray[Any, np.dtype[np.float32]] = tensor.detach().float().contiguous().numpy()
    return array
