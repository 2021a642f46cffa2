"""The strengths of a model's masks as tables: figures 3 and 4 of McDonald & Chiang (NAACL SRW 2021).

A large strength hides tokens: head h adds −exp(s) to its logits for each pair of tokens in a mask of strength s. The
masks are the nine relations of a tree, or the user's own named masks.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch

from synmt.inspection.matrix import Legend, Matrix, decimals
from synmt.metrics.report import json_array, printable
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.translation import TranslationModel
from synmt.nn.hooks import Part
from synmt.streams import BadInput, readable
from synmt.text.vocabulary import Vocabulary

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Strengths:
    """The strengths of a model. name: the model's name; values: [1 or layers, heads, masks]."""

    name: str
    masks: Sequence[str]
    values: Array

    @property
    def least(self) -> float:
        return float(self.values.min())

    @property
    def most(self) -> float:
        return float(self.values.max())

    @property
    def range(self) -> float:
        return self.most - self.least

    @property
    def decimals(self) -> int:
        return decimals(self.least, self.most)

    def layers(self) -> Iterator[tuple[str, Array]]:
        """Yield each layer, or `all` if layers share strengths, with its strengths, [heads, masks]."""
        for number, values in enumerate(self.values, 1):
            yield "all" if len(self.values) == 1 else str(number), values


def open_strengths(folder: ModelFolder[ModelConfig]) -> Strengths:
    """Return the strengths of a model. Raises BadInput if it has no masks."""
    model = folder.load_model(torch.device("cpu"))
    found = mask_strengths(model, folder.vocabulary, readable(str(folder.path)))
    if found is None:
        raise BadInput(f"has no masks: it is {'+'.join(folder.config.source.components)}", str(folder.path))
    return found


def mask_strengths(model: TranslationModel, vocabulary: Vocabulary, name: str) -> Strengths | None:
    """Return the strengths of a model, or None if it has no masks."""
    parts = mask_parts(model)
    if not parts:
        return None
    masks = [mask for part in parts for mask in part.component.names_of_strengths(vocabulary.labels)]
    own: list[Any] = [part.strengths for part in parts]
    sets = [each.detach().float().reshape(-1, *each.shape[-2:]) for each in own]
    count = max(map(len, sets))
    values = torch.cat([each.expand(count, -1, -1) for each in sets], dim=-1).numpy()
    return Strengths(name, masks, values)


def mask_parts(model: TranslationModel) -> list[Part]:
    """Return the masks of a model's encoder: the components whose parameters are strengths."""
    parts: Iterable[Any] = model.source_parts.values()
    return [part for part in parts if hasattr(part, "strengths")]


def as_text(models: Sequence[Strengths]) -> Iterator[str]:
    """Yield a table of masks and heads for a single model; then minimum, maximum and range for each model."""
    if len(models) == 1:
        yield from _rows(models[0])
    width = max(len(name) for name in ("model", *(model.name for model in models)))
    yield f"{'model'.ljust(width)}      min      max    range"
    for model in models:
        numbers = (f"{each:z8.{model.decimals}f}" for each in (model.least, model.most, model.range))
        yield " ".join([model.name.ljust(width), *numbers])


def _rows(model: Strengths) -> Iterator[str]:
    width = max(map(len, model.masks))
    for layer, values in model.layers():
        heads = "".join(f"  head {head:<2}" for head in range(1, len(values) + 1))
        yield f"{'' if layer == 'all' else f'layer {layer}'}".ljust(width) + heads
        for name, row in zip(model.masks, values.T, strict=True):
            yield name.ljust(width) + "".join(f"{float(value):z9.{model.decimals}f}" for value in row)
        yield ""


def as_tsv(models: Sequence[Strengths]) -> Iterator[str]:
    """Yield a header and one row per strength."""
    yield "model\tlayer\thead\tmask\tstrength"
    for model in models:
        for layer, values in model.layers():
            for head, row in enumerate(values, 1):
                for name, value in zip(model.masks, row, strict=True):
                    yield f"{printable(model.name)}\t{layer}\t{head}\t{name}\t{value:.6g}"


def as_jsonl(models: Sequence[Strengths]) -> Iterator[str]:
    """Yield one JSON object per model; strengths are [1 or layers][heads][masks]."""
    for model in models:
        summary = {"min": model.least, "max": model.most, "range": model.range}
        fields = {"model": model.name, **summary, "masks": model.masks, "strengths": model.values.tolist()}
        yield msgspec.json.encode(fields).decode()


TABLES: dict[str, Callable[[Sequence[Strengths]], Iterator[str]]] = {
    "text": as_text,
    "tsv": as_tsv,
    "json": lambda models: json_array(as_jsonl(models)),
    "jsonl": as_jsonl,
}


def strengths_matrices(models: Sequence[Strengths]) -> tuple[list[Matrix], Legend]:
    """Return a heat map of masks and heads for each set of strengths."""
    matrices = []
    for model in models:
        for layer, values in model.layers():
            names = [model.name] * (len(models) > 1) + [f"layer {layer}"] * (layer != "all")
            heads = [str(head) for head in range(1, len(values) + 1)]
            matrices.append(Matrix(", ".join(names), model.masks, heads, values.T))
    return matrices, strengths_legend("relation of the key to the query", "head", models)


def strengths_legend(rows: str, columns: str, models: Sequence[Strengths]) -> Legend:
    """Return one scale for all strengths of the models. As in the paper, strong masks are light."""
    low, high = min(model.least for model in models), max(model.most for model in models)
    return Legend(rows, columns, "strength: lighter attends less", "cividis", low, high)
