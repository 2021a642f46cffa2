import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from synmt.inspection.strengths import Strengths, as_jsonl, as_text, as_tsv, open_strengths, strengths_matrices
from synmt.model.folder import ModelFolder
from synmt.streams import BadInput
from synmt.trees.linearization import RELATIONS
from tests import tiny
from tests.inspection.models import write_model

NAME = "source_parts.mask.strengths"


@pytest.fixture
def shared(tmp_path: Path) -> ModelFolder:
    return write_model(tmp_path / "shared", "mask")


@pytest.fixture
def per_layer(tmp_path: Path) -> ModelFolder:
    return write_model(tmp_path / "per-layer", "mask per layer")


def test_the_tables_contain_the_parameters(shared: ModelFolder, per_layer: ModelFolder) -> None:
    for folder in (shared, per_layer):
        parameters = load_file(folder.parameters)[NAME]
        strengths = open_strengths(folder)
        (fields,) = map(json.loads, as_jsonl([strengths]))
        np.testing.assert_array_equal(np.array(fields["strengths"], np.float32), parameters)
        assert fields["masks"] == list(RELATIONS)
        assert fields["min"] == parameters.min() and fields["max"] == parameters.max()
        assert fields["range"] == pytest.approx(parameters.max() - parameters.min())
        header, *rows = (line.split("\t") for line in as_tsv([strengths]))
        assert header == ["model", "layer", "head", "mask", "strength"]
        assert len(rows) == parameters.size
        for name, layer, head, relation, value in rows:
            assert name == str(folder.path)
            place = 0 if layer == "all" else int(layer) - 1, int(head) - 1, RELATIONS.index(relation)
            assert float(value) == pytest.approx(parameters[place], rel=1e-5)


def test_label_masks_have_names(tmp_path: Path) -> None:
    strengths = open_strengths(write_model(tmp_path / "labels", "label masks"))
    labels = {"S", "NP", "VP", "NN", "PP"}  # that stand above two tokens
    expected = [f"{label} {side}" for label in ["unknown", *labels] for side in ("right", "left")]
    assert sorted(strengths.masks) == sorted(["self", *expected])


def test_the_text_has_one_row_per_relation_and_the_columns_of_the_paper(shared: ModelFolder) -> None:
    parameters = load_file(shared.parameters)[NAME]
    lines = list(as_text([open_strengths(shared)]))
    assert lines[0].split() == ["head", "1", "head", "2"]
    for number, name in enumerate(RELATIONS):
        assert lines[1 + number].split() == [name, *(f"{value:.2f}" for value in parameters[0, :, number])]
    assert lines[-2].split() == ["model", "min", "max", "range"]
    low, high = parameters.min(), parameters.max()
    assert lines[-1].split() == [str(shared.path), f"{low:.2f}", f"{high:.2f}", f"{high - low:.2f}"]


def test_several_models_share_one_scale(shared: ModelFolder, per_layer: ModelFolder) -> None:
    models = [open_strengths(shared), open_strengths(per_layer)]
    assert [line.split()[0] for line in as_text(models)] == ["model", str(shared.path), str(per_layer.path)]
    matrices, legend = strengths_matrices(models)
    assert [matrix.title for matrix in matrices] == [
        str(shared.path),
        f"{per_layer.path}, layer 1",
        f"{per_layer.path}, layer 2",
    ]
    assert matrices[2].values.tolist() == load_file(per_layer.parameters)[NAME][1].T.tolist()
    assert legend.low == min(matrix.values.min() for matrix in matrices)
    assert legend.high == max(matrix.values.max() for matrix in matrices)


def test_named_masks_are_shown_with_the_relations_of_a_tree(tmp_path: Path) -> None:
    strengths = open_strengths(write_model(tmp_path / "named", "named masks"))
    assert (strengths.masks, strengths.values.shape) == (["near", "left"], (1, tiny.CONFIG.heads, 2))
    folder = write_model(tmp_path / "both", "mask+named masks")
    strengths, parameters = open_strengths(folder), load_file(folder.parameters)
    assert strengths.masks == [*RELATIONS, "near"]
    np.testing.assert_array_equal(strengths.values[:, :, :9], parameters[NAME])
    np.testing.assert_array_equal(strengths.values[0, :, 9:], parameters["source_parts.named-masks.strengths"])


def test_a_small_negative_strength_is_not_minus_zero(shared: ModelFolder) -> None:
    change(shared, lambda strengths: strengths.fill(-0.001))
    assert "-0.00" not in "\n".join(as_text([open_strengths(shared)]))


def test_models_without_masks_have_no_strengths(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="pascal: has no masks: it is pascal"):
        open_strengths(write_model(tmp_path / "pascal", "pascal"))


def change(folder: ModelFolder, edit: Callable[[np.ndarray], object]) -> None:
    tensors = load_file(folder.parameters)
    edit(tensors[NAME])
    save_file(tensors, folder.parameters)


def test_small_strengths_have_more_digits() -> None:
    table = list(as_text([Strengths("model", ["P", "C"], np.array([[[0.0101, -0.0099], [0.0, 0.0062]]], np.float32))]))
    assert table[1].split() == ["P", "0.0101", "0.0000"] and table[2].split() == ["C", "-0.0099", "0.0062"]
    assert table[-1].split() == ["model", "-0.0099", "0.0101", "0.0200"]
