"""One sentence as a model reads it, or writes it: its tokens, and what each head makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from synmt.inspection.strengths import Strengths, mask_parts, mask_strengths
from synmt.model.batches import Sources
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.records import source_records
from synmt.model.translation import TranslationModel
from synmt.nn.attention import Recorder
from synmt.nn.encoding import SourceBatch, combined
from synmt.streams import BadInput, Line
from synmt.systems.idea import Layout
from synmt.trees.record import ParseRecord

Weights = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A record of n tokens in the encoder, or the decoder, of L layers with H heads.

    weights [L,H,n,n]: what each token (row) attends to; mask: its strengths, and strengths [1 or L,H,n,n] on each
    pair of tokens, None in a model without masks; owners: of heads, by layer from 1 and head from 0.
    """

    record: ParseRecord
    layout: Layout
    weights: Weights
    owners: dict[tuple[int, int], str]
    mask: Strengths | None = None
    strengths: Weights | None = None

    def head_name(self, layer: int, head: int) -> str:
        """Return the name of a head in a layer, both counted from 0."""
        owner = self.owners.get((layer + 1, head))
        return f"head {head + 1}" + (f" ({owner})" if owner else "")


@torch.inference_mode()
def read_sentence(folder: ModelFolder[ModelConfig], line: Line) -> ReadSentence:
    """Return what the encoder makes of one line of text, parse record or mask record.

    Raises BadInput for a line without a sentence or without what the model needs, and for attention that is no
    number.
    """
    record, batch = source_of(folder, line)
    side = folder.config.source
    model = folder.load_model(torch.device("cpu"))
    with Recorder([layer.attention for layer in model.network.encoder.layers]) as recorder:
        model.encode(batch)
    weights = as_numbers(recorder.weights, folder)
    mask = mask_strengths(model, str(folder.path))
    return ReadSentence(
        record,
        side.layout(record, folder.bpe.segment),
        weights,
        side.owners(folder.config.network),
        mask,
        _of_pairs(model, batch) if mask else None,
    )


def source_of(folder: ModelFolder[ModelConfig], line: Line) -> tuple[ParseRecord, SourceBatch]:
    """Return the record of a line, and what the encoder reads of it. Raises BadInput."""
    side = folder.config.source
    ((_, record),) = source_records([line], side.needs(training=False), folder.config.sides()[0], strict=True)
    if not record.tokens:
        raise line.error("no sentence")
    with line.naming():
        features = side.features(record, folder.bpe.segment)
    sources = Sources.encode([features], folder.vocabulary)
    return record, sources.batch([0], folder.vocabulary.padding, torch.device("cpu"))


def as_numbers(weights: Sequence[Tensor], folder: ModelFolder[ModelConfig]) -> Weights:
    """Join what each layer has, [1,H,n,n] → [L,H,n,n]. Raises BadInput for what is no number."""
    numbers: Weights = torch.cat(list(weights)).float().numpy()
    if not np.isfinite(numbers).all():
        raise BadInput("the attention of some head is not a number", str(folder.path))
    return numbers


def _of_pairs(model: TranslationModel, batch: SourceBatch) -> Weights:
    """Return the strength that hides as much as all masks of a pair, nan where none hides: [1 or L,H,n,n]"""
    edits = combined([part(batch) for part in mask_parts(model)]).edits
    shared = all(edit is edits[0] for edit in edits)
    hidden = -torch.cat([edit.bias for edit in (edits[:1] if shared else edits) if edit.bias is not None])
    strengths: Weights = hidden.log().masked_fill(hidden == 0, float("nan")).float().numpy()
    return strengths
