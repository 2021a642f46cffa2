from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from synmt.data.batches import Sources
from synmt.inspection.sentence import head_matrices, read_sentence, read_translation, source_of
from synmt.inspection.strengths import mask_parts
from synmt.model.folder import ModelFolder
from synmt.nn.attention import Recorder
from synmt.nn.encoding import encoder_hooks
from synmt.streams import BadInput, Line
from synmt.trees.linearization import relation_matrix
from synmt.trees.record import read_record
from tests import tiny
from tests.inspection.models import SENTENCE, write_model

CPU = torch.device("cpu")


def model_attention(folder: ModelFolder) -> list[np.ndarray]:
    features = folder.config.source.features(read_record(SENTENCE.text), folder.bpe.segment)
    batch = Sources.encode([features], folder.vocabulary).batch([0], folder.vocabulary.padding, CPU)
    model = folder.load_model(CPU)
    attentions = [layer.attention for layer in model.network.encoder.layers]
    with torch.inference_mode(), Recorder(attentions) as recorder:
        model.encode(batch)
    return [layer[0].numpy() for layer in recorder.weights]


@pytest.mark.parametrize("system", ["sequence", "named masks", "pascal", "lisa", "multitask", "all but multitask"])
def test_the_weights_are_those_of_the_model(system: str, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", system)
    read = read_sentence(folder, SENTENCE)
    length = len(read.layout.tokens)
    assert read.weights.shape == (2, 2, length, length)
    np.testing.assert_allclose(read.weights, np.stack(model_attention(folder)), atol=1e-6)
    np.testing.assert_allclose(read.weights.sum(axis=-1), 1.0, atol=1e-5)


@pytest.mark.parametrize("system", [name for name in tiny.SYSTEMS if "mask" in name and "heads" not in name])
def test_strengths_hide_tokens_as_the_model_does(system: str, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", system)
    read, batch = read_sentence(folder, SENTENCE), source_of(folder, SENTENCE)[1]
    model = folder.load_model(CPU)
    parts = mask_parts(model)
    assert read.strengths is not None
    for layer in range(tiny.CONFIG.encoder_layers):
        with torch.inference_mode():
            edit = encoder_hooks(parts, batch, model.network.config).edits[layer]
        assert edit.bias is not None
        bias = edit.bias[0].numpy()
        strengths = read.strengths[min(layer, len(read.strengths) - 1)]
        np.testing.assert_allclose(-np.exp(np.nan_to_num(strengths, nan=-np.inf)), bias, rtol=1e-5)


def test_strengths_of_a_partition_equal_those_of_its_relations(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "mask")
    read = read_sentence(folder, SENTENCE)
    strengths = load_file(folder.parameters)["source_parts.mask.strengths"]
    assert read.strengths is not None
    wanted = strengths[:, :, relation_matrix(read.layout.parents)]
    np.testing.assert_allclose(read.strengths, wanted, rtol=1e-5, atol=1e-6)


def test_heads_of_components_are_labelled(tmp_path: Path) -> None:
    read = read_sentence(write_model(tmp_path / "model", "all but multitask"), SENTENCE)
    assert [read.head_name(0, 0), read.head_name(0, 1)] == ["head 1 (lisa)", "head 2 (pascal)"]
    assert read.head_name(1, 1) == "head 2"
    read = read_sentence(write_model(tmp_path / "density", "pascal, log density"), SENTENCE)
    assert [read.head_name(0, 0), read.head_name(0, 1)] == ["head 1", "head 2 (pascal)"]


def test_all_heads_of_a_layer_or_one(tmp_path: Path) -> None:
    read = read_sentence(write_model(tmp_path / "model", "mask+pascal"), SENTENCE)
    matrices, legend = head_matrices(read, "weights", 1, None, subwords=True)
    assert [matrix.title for matrix in matrices] == ["layer 1, head 1", "layer 1, head 2 (pascal)"]
    assert legend.low == 0 and legend.high == read.weights[0].max()
    matrices, _ = head_matrices(read, "weights", 2, 2, subwords=True)
    np.testing.assert_array_equal(matrices[0].values, read.weights[1, 1])
    matrices, legend = head_matrices(read, "strengths", 2, 1, subwords=True)
    assert matrices[0].title == "head 1"
    assert read.strengths is not None
    np.testing.assert_array_equal(matrices[0].values, read.strengths[0, 0])
    assert read.mask and (legend.low, legend.high) == (read.mask.least, read.mask.most)
    for layer, head in ((3, None), (1, 3)):
        with pytest.raises(BadInput, match=f"no head {head or 1} in layer {layer}: the model has 2 layers of 2 heads"):
            head_matrices(read, "weights", layer, head)


def test_words_have_the_values_of_their_subwords(tmp_path: Path) -> None:
    """Slow twin: each pair of words by itself."""
    read = read_sentence(write_model(tmp_path / "model", "mask"), SENTENCE)
    tokens, words = read.layout.tokens, read.layout.words
    groups = [[n for n, each in enumerate(words) if each == word] for word in dict.fromkeys(words) if word >= 0]
    singles = [[n] for n, word in enumerate(words) if word < 0]
    groups = sorted([*groups, *singles])
    assert read.strengths is not None
    for quantity, values in (("weights", read.weights[1, 0]), ("strengths", read.strengths[0, 0])):
        ((matrix,), _) = head_matrices(read, quantity, 2, 1)  # type: ignore[arg-type]
        assert matrix.rows == ["".join(tokens[n].removesuffix("@@") for n in group) for group in groups]
        assert "father" in matrix.rows
        for row, queries in enumerate(groups):
            for column, keys in enumerate(groups):
                cells = [values[i, j] for i in queries for j in keys if not np.isnan(values[i, j])]
                size = len(queries) if quantity == "weights" else len(cells)
                expected = sum(cells) / size if cells else np.nan
                np.testing.assert_allclose(matrix.values[row, column], expected, rtol=1e-5)
        if quantity == "weights":
            np.testing.assert_allclose(matrix.values.sum(axis=1), 1, rtol=1e-5)


def test_invalid_requests_are_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "pascal")
    with pytest.raises(BadInput, match="in:3: no sentence"):
        read_sentence(folder, Line("", "in", 3))
    with pytest.raises(BadInput, match="in:3: record has no dependency heads"):
        read_sentence(folder, Line('{"tokens": ["a"]}', "in", 3))
    with pytest.raises(BadInput, match="the model has no masks"):
        head_matrices(read_sentence(folder, SENTENCE), "strengths", 1, None)
    tensors = load_file(folder.parameters)
    tensors["network.encoder.layers.0.attention.qkv.bias"][:] = 3e38
    save_file(tensors, folder.parameters)
    with pytest.raises(BadInput, match="the attention of some head is not a number"):
        read_sentence(folder, SENTENCE)
    with pytest.raises(BadInput, match="this model computes NaN or infinite values"):
        read_translation(folder, SENTENCE)


def test_raw_text_is_read_as_by_the_model(tmp_path: Path) -> None:
    read = read_sentence(write_model(tmp_path / "model", "sequence"), Line("my  father .", "in", 1))
    assert read.layout.tokens == ["my", "fa@@", "ther", "."]
    assert tiny.CONFIG.heads == read.weights.shape[1]
