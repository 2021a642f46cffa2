"""Averages of several models that started from the same parameters, or of updates of one training run.

Wortsman et al. (2022), "Model soups: averaging weights of multiple fine-tuned models improves accuracy without
increasing inference time", ICML.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import torch
from torch import Tensor

from synmt import __version__
from synmt.model.config import ModelConfig
from synmt.model.files import CONFIG_FILE, check_free, check_new, naming, save_tensors
from synmt.model.fingerprint import differing, flat
from synmt.model.folder import ModelFolder
from synmt.streams import BadInput, Notes, readable

Folder = ModelFolder[ModelConfig]


def average(models: Sequence[Path], out: Path, notes: Notes) -> None:
    """Write a new model with the average parameters of several models.

    Raises BadInput for models with different configs or vocabularies; adds a note if they started differently.
    """
    check_free(out)
    folders = [ModelFolder.open(path, ModelConfig) for path in models]
    first = folders[0]
    for other in folders[1:]:
        for what in differing(_shared(other), _shared(first)):
            raise BadInput(f"has a different {what} than {first.path}", str(other.path))
    for one, other in combinations(folders, 2):
        if not _beginnings(one) & _beginnings(other):
            notes.add(
                f"{one.path} and {other.path} did not start from the same parameters, so their average may be useless"
            )
    sums: dict[str, Tensor] = {}
    for folder in folders:
        for name, tensor in folder.load_model(torch.device("cpu")).state_dict().items():
            sums[name] = sums.get(name, 0) + tensor.double()
    mean = {name: (total / len(folders)).float() for name, total in sums.items()}
    made_by = {
        "synmt": __version__,
        "command": [*map(readable, sys.argv[1:])],
        "mean_of": [folder.checksum() for folder in folders],
        "begun_as": sorted(set.intersection(*map(_beginnings, folders)), key=str),
    }
    check_new(out)
    save_tensors(out / first.parameters.name, mean)
    replace(first, path=out, training=made_by).save()  # last, since a config shows that there is a model


def _shared(folder: Folder) -> dict[str, object]:
    """Return what models must share to be averaged, by name: everything but dropout, which only training has."""
    config = flat(replace(folder.config, words=None).fields())
    config = {name: value for name, value in config.items() if not name.endswith("dropout")}
    return {**config, "vocabulary": folder.vocabulary, "codes": folder.bpe.codes}


def _beginnings(folder: Folder) -> set[object]:
    """Return keys of the parameters that a model started from or has; models with a common key can be averaged.

    Raises BadInput.
    """
    made = folder.training
    with naming(folder.path / CONFIG_FILE):
        known = {folder.checksum(), *made.get("mean_of", []), *made.get("begun_as", [])}
        first = made.get("init", made.get("seed"))
        return known if first is None else {*known, first}
