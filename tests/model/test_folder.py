"""Model folders: safe to load from a stranger, with an error that names the broken file."""

import json
import pickle
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from safetensors.torch import load, load_file, save_file
from torch import Tensor

from synmt.model.config import ModelConfig
from synmt.model.files import naming, save_tensors
from synmt.model.folder import ModelFolder
from synmt.model.source import source_side
from synmt.model.target import target_side
from synmt.parameters import load_parameters
from synmt.streams import BadInput
from synmt.text.bpe import Bpe
from synmt.training.checkpoint import TrainingState, checkpoints, checksum, read_checkpoint
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.update import Updater
from tests import tiny
from tests.cli.commands import CODES

CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path) -> ModelFolder[ModelConfig]:
    """Return an untrained mask model."""
    _, vocabulary = tiny.sources_and_vocabulary("mask")
    made = ModelFolder(
        tmp_path / "model",
        ModelConfig(source_side({"mask": {}}), target_side({"sequence": {}}), ("en", "de"), "moses", tiny.CONFIG),
        Bpe(CODES),
        (vocabulary,),
        {"seed": 1},
    )
    made.save()
    save_tensors(made.parameters, tiny.model("mask", vocabulary).state_dict())
    return made


def edit_config(folder: ModelFolder[ModelConfig], part: str, **changes: Any) -> None:
    path = folder.path / "config.json"
    fields = msgspec.json.decode(path.read_bytes())
    place = fields["model"]["network"] if part == "network" else fields["model"] if part == "model" else fields
    place.update(changes)
    path.write_bytes(msgspec.json.encode(fields))


def test_a_folder_survives_saving_and_opening(folder: ModelFolder[ModelConfig]) -> None:
    opened = ModelFolder.open(folder.path, ModelConfig)
    assert opened.config == folder.config
    assert opened.vocabulary == folder.vocabulary
    assert opened.bpe.codes == CODES
    assert opened.training == {"seed": 1}
    weights = load_file(folder.parameters)
    for name, tensor in opened.load_model(CPU).state_dict().items():
        assert torch.equal(tensor, weights[name])


def test_nothing_is_pickled(folder: ModelFolder[ModelConfig]) -> None:
    assert {path.name for path in folder.path.iterdir()} == tiny.MODEL_FILES


@pytest.mark.parametrize(
    "name", ["config.json", "codes.bpe", "vocab.labels.txt", "vocab.source.txt", "vocab.target.txt"]
)
def test_each_missing_or_broken_file_is_named(folder: ModelFolder[ModelConfig], name: str) -> None:
    path = folder.path / name
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(BadInput, match=rf"model/{name}: No such file"):
        ModelFolder.open(folder.path, ModelConfig)
    path.write_bytes(b"\xff\xfe" + whole)
    with pytest.raises(BadInput, match=r"model/(config|codes|vocab)"):
        ModelFolder.open(folder.path, ModelConfig)


def test_paths_that_are_not_model_folders(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere/config\.json: No such file"):
        ModelFolder.open(tmp_path / "nowhere", ModelConfig)


HOSTILE: list[tuple[str, dict[str, Any], str]] = [
    ("top", {"format": 1}, "written in format 1, but"),
    ("top", {"model": []}, ""),
    ("top", {"model": [["source", {"mask": {}}]]}, ""),
    ("model", {"source": {"../mask": {}}}, "unknown component"),
    ("model", {"source": ["mask"]}, ""),
    ("model", {"source": {"mask": {}, "linearized": {}}}, "cannot be combined"),
    ("model", {"source": {"mask": {"per_layer": "yes"}}}, "per_layer cannot be 'yes'"),
    ("model", {"source": {"pascal": {"heads": 0}}}, "heads cannot be 0"),
    ("model", {"source": {}}, "the encoder needs a component"),
    ("model", {"source": {"pascal": {"layer": 200}}}, "takes 2 heads of layer 200"),
    ("model", {"tokenizer": "shell"}, "unknown tokenizer"),
    ("model", {"languages": ["../../etc/passwd", "de"]}, "not a code"),
    ("model", {"languages": 7}, ""),
    ("model", {"words": {"tokenizer": "shell"}}, "unknown tokenizer"),
    ("model", {"words": {"tokenizer": "moses", "share": 2}}, "the share cannot be 2"),
    ("model", {"words": ["moses"]}, ""),
    ("model", {"target": {"components": 5}}, ""),
    ("model", {"surprise": 1}, "unknown field 'surprise'; if another version of synmt wrote it, train the model again"),
    ("network", {"surprise": 1}, "surprise"),
    ("network", {"width": "16"}, "width cannot be '16'"),
    ("network", {"width": 2**60}, "width cannot be"),
    ("network", {"heads": 0}, "heads cannot be 0"),
    ("network", {"encoder_layers": 10**9}, "encoder_layers cannot be"),
    ("network", {"dropout": -1}, "dropout cannot be -1"),
    ("network", {"norm": "both"}, "norm cannot be 'both'"),
]


@pytest.mark.parametrize(("part", "changes", "cause"), HOSTILE)
def test_configs_from_strangers(
    folder: ModelFolder[ModelConfig], part: str, changes: dict[str, Any], cause: str
) -> None:
    edit_config(folder, part, **changes)
    with pytest.raises(BadInput, match=rf"model/config\.json: .*{cause}"):
        ModelFolder.open(folder.path, ModelConfig)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"[" * 100_000, b"{}"])
def test_invalid_configs(folder: ModelFolder[ModelConfig], content: bytes) -> None:
    (folder.path / "config.json").write_bytes(content)
    with pytest.raises(BadInput, match=r"model/config\.json: "):
        ModelFolder.open(folder.path, ModelConfig)


class Exploit:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (pytest.fail, ("the model folder ran code",))


def test_pickled_weights_run_no_code(folder: ModelFolder[ModelConfig]) -> None:
    folder.parameters.write_bytes(pickle.dumps(Exploit()))
    with pytest.raises(BadInput, match=r"model\.safetensors: "):
        ModelFolder.open(folder.path, ModelConfig).load_model(CPU)


@pytest.mark.parametrize("size", [0, 7, 100, -1])
def test_truncated_weights(folder: ModelFolder[ModelConfig], size: int) -> None:
    folder.parameters.write_bytes(folder.parameters.read_bytes()[:size])
    with pytest.raises(BadInput, match=r"model\.safetensors: "):
        ModelFolder.open(folder.path, ModelConfig).load_model(CPU)


def test_weights_of_another_model(folder: ModelFolder[ModelConfig]) -> None:
    weights = load(folder.parameters.read_bytes())
    save_file({**weights, "network.embedding": torch.zeros(3, 16)}, folder.parameters)
    with pytest.raises(BadInput, match=r"tensor network\.embedding has shape \[3, 16\], not \["):
        folder.load_model(CPU)
    save_file({**weights, "extra": torch.zeros(1)}, folder.parameters)
    with pytest.raises(BadInput, match="tensor extra is not part of this model"):
        folder.load_model(CPU)
    del weights["network.embedding"]
    save_file(weights, folder.parameters)
    with pytest.raises(BadInput, match=r"tensor network\.embedding is missing"):
        folder.load_model(CPU)


def test_wrong_sizes_are_refused_before_allocating_memory(folder: ModelFolder[ModelConfig]) -> None:
    """A config with terabytes of parameters is refused, because the weights do not fit it, before any allocation."""
    huge = replace(folder, config=replace(folder.config, network=replace(tiny.CONFIG, width=2**16)))
    with pytest.raises(BadInput, match=r"model\.safetensors: tensor "):
        huge.load_model(CPU)


def misfits(tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """Yield the name of a tensor of each component, or of the network, with tensors in which it does not fit."""
    owners = {name.partition("parts.")[2].partition(".")[0]: name for name in sorted(tensors)}
    for name in owners.values():
        own = tensors[name]
        yield name, {other: each for other, each in tensors.items() if other != name}
        for wrong in (own.new_zeros(7, *own.shape), own.new_zeros(0), own.to(torch.int32)):
            yield name, {**tensors, name: wrong}
        yield f"{name}.more", {**tensors, f"{name}.more": own.clone()}


COMBINED = [(name, "sequence") for name in tiny.SYSTEMS] + [("sequence", name) for name in tiny.TARGET_SYSTEMS]


@pytest.mark.parametrize(("source", "target"), COMBINED)
def test_tensors_that_do_not_fit_their_config_are_refused_in_one_line(source: str, target: str, tmp_path: Path) -> None:
    """This holds for the parameters of a model folder and for a checkpoint."""
    corpus, vocabulary = tiny.corpus(source, target)
    make = partial(tiny.model, source, vocabulary, target=target)
    model, path = make(), tmp_path / "parameters.safetensors"
    for name, tensors in misfits(model.state_dict()):
        save_tensors(path, tensors)
        with pytest.raises(BadInput, match=f"tensor {name} ") as refused, naming(path):
            load_parameters(make, path)
        assert "\n" not in str(refused.value) and refused.value.place == str(path)
    updater = Updater(model, corpus, TrainingConfig(), Processes(0, 1, CPU))
    updater(updater.step([[0, 1]], 1), 1e-3)
    state = TrainingState(model, updater.optimizer, deque())
    state.average()
    state.save(tmp_path / "checkpoint")
    (path,) = checkpoints(tmp_path / "checkpoint")
    progress, whole = read_checkpoint(path)
    for name, tensors in misfits(whole):
        if tensors.get(name) is None or tensors[name].is_floating_point():
            text = json.dumps(asdict(progress))
            save_tensors(path, tensors, {"progress": text, "crc32": str(checksum(text, tensors))})
            with pytest.raises(BadInput, match=r"^[^\n]*tensor [^\n]*$"):
                state.load_newest(path.parent)
