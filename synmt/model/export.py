"""Export of plain Transformers to CTranslate2.

Klein et al. (2020), "The OpenNMT Neural Machine Translation Toolkit: 2020 Edition", AMTA.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from synmt.model.config import ModelConfig
from synmt.model.files import check_empty, naming
from synmt.model.folder import ModelFolder
from synmt.model.translation import TranslationModel
from synmt.nn.positions import sinusoids
from synmt.nn.quantization import LARGEST
from synmt.nn.transformer import LAYER_NORM_EPS, Transformer
from synmt.streams import BadInput
from synmt.streams.process import temporary_folder
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary, structural

BEGIN_TOKEN = structural("<s>")
POSITIONS = 4096  # largest number of tokens of a sentence in CTranslate2
NEVER = -1e9  # the bias that excludes the begin of sentence from the output


def export(path: Path, out: Path, precision: Literal["fp32", "int8"] = "fp32") -> None:
    """Convert the model of a folder for CTranslate2, into a new folder. Raises BadInput for a model it cannot run.

    precision: of the stored weights. Tokens are those of the vocabulary; sources have no begin or end token.
    """
    check_empty(out)
    folder = ModelFolder.open(path, ModelConfig)
    model: TranslationModel = folder.load_model(torch.device("cpu"))
    if why := _obstacle(folder.config):
        raise BadInput(f"{why}, which CTranslate2 does not support", str(path))
    write_network(model.network, folder.vocabulary, out, precision)


def write_network(
    network: Transformer, vocabulary: Vocabulary, out: Path, precision: Literal["fp32", "int8"] = "fp32"
) -> None:
    """Write a network into a folder, whole or not at all. Raises BadInput."""
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
    spec.register_source_vocabulary([*vocabulary.target, *vocabulary.source])
    spec.register_target_vocabulary([*vocabulary.target, BEGIN_TOKEN])
    spec.config.bos_token = spec.config.decoder_start_token = BEGIN_TOKEN
    spec.config.eos_token, spec.config.unk_token = END_TOKEN, UNKNOWN_TOKEN
    spec.config.layer_norm_epsilon = LAYER_NORM_EPS
    spec.validate()
    if precision == "int8":
        _quantize(spec)
    else:
        spec.optimize()
    is_new = not out.exists()
    try:
        with naming(out):
            out.mkdir(parents=True, exist_ok=True)
            with temporary_folder(parent=out) as aside:
                spec.save(str(aside))
                for file in sorted(aside.iterdir()):
                    file.replace(out / file.name)
    except BaseException:  # the folder had no files before
        with suppress(OSError):
            for file in out.iterdir():
                file.unlink()
            if is_new:
                out.rmdir()
        raise


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
    """Return how a model differs from a plain Transformer in translation, "" if it does not differ."""
    if parts := [name for name, each in config.source.for_translation().components.items() if each.hooks]:
        return f"the encoder has {'+'.join(parts)}"
    if not config.target.is_plain:
        return f"the decoder has {'+'.join(config.target.components)}"
    if config.network.cross_attention != "all":
        return "some layers of the decoder do not attend to the source"
    return ""


def _set_network(spec: Any, network: Any, sources: int, begin: int) -> None:
    """Copy all parameters of a Transformer to a TransformerSpec; sources: the size of the source vocabulary."""
    embedding, bias = network.embedding.detach(), network.output_bias.detach()
    spec.encoder.embeddings[0].weight = _array(embedding[:sources])
    target = torch.cat([network.output_weight.detach(), embedding[begin : begin + 1]])
    spec.decoder.embeddings.weight = spec.decoder.projection.weight = _array(target)
    spec.decoder.projection.bias = _array(torch.cat([bias, torch.tensor([NEVER])]))
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
    array: np.ndarray[Any, np.dtype[np.float32]] = tensor.detach().float().contiguous().numpy()
    return array
