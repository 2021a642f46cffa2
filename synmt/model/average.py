"""The mean of several models: of one run at several times, or of runs that began with the same parameters.

Wortsman et al. (2022), "Model soups: averaging weights of multiple fine-tuned models improves accuracy without
increasing inference time", ICML.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

from synmt import __version__
from synmt.model.config import ModelConfig
from synmt.model.files import check_new, save_tensors
from synmt.model.folder import ModelFolder
from synmt.model.made import differing
from synmt.streams import BadInput, Notes, readable

Folder = ModelFolder[ModelConfig]


def average(models: Sequence[Path], out: Path, notes: Notes) -> None:
    """Write the mean of the parameters of some models as a new one.

    Raises BadInput for models that are not of one config and one vocabulary; notes those whose mean is hardly a model.
    """
    check_new(out, resume=False)
    folders = [ModelFolder.open(path, ModelConfig) for path in models]
    first = folders[0]
    for other in folders[1:]:
        own, of_first = (
            {"config": each.config, "vocabulary": each.vocabulary, "codes": each.bpe.codes} for each in (other, first)
        )
        for what in differing(own, of_first):
            raise BadInput(f"has another {what} than {first.path}", str(other.path))
    for one, other in pairwise(folders):
        if not _beginnings(one) & _beginnings(other):
            notes.add(f"{one.path} and {other.path} began with other parameters: their mean is hardly a model")
    sums: dict[str, Tensor] = {}
    for folder in folders:
        for name, tensor in folder.load_model(torch.device("cpu")).state_dict().items():
            sums[name] = sums.get(name, 0) + tensor.double()
    mean = {name: (total / len(folders)).float() for name, total in sums.items()}
    made_by = {
        "synmt": __version__,
        "command": [*map(readable, sys.argv[1:])],
        "mean_of": [folder.checksum() for folder in folders],
    }
    replace(first, path=out, training=made_by).save()
    save_tensors(out / first.parameters.name, mean)


def _beginnings(folder: Folder) -> set[object]:
    """Return what tells that another model began with the same parameters, or with those that this one came to."""
    made = folder.training
    known = {folder.checksum(), *made.get("mean_of", [])}
    return known | ({made["init"]} if "init" in made else {made[name] for name in ("seed",) if name in made})
