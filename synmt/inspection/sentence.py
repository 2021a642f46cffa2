"""One sentence as a model's encoder reads it: its tokens, and what each head makes of them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from synmt.inspection.strengths import Strengths, mask_strengths
from synmt.nn.encoding import SourceBatch
from synmt.streams import BadInput, Line
from synmt.systems.batches import Sources
from synmt.systems.model_folder import ModelFolder
from synmt.systems.records import source_records
from synmt.systems.source import Layout, SourceSide
from synmt.systems.translation import TranslationModel
from synmt.trees.record import ParseRecord
from synmt.trees.relations import relation_matrix

Weights = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A record of n encoder tokens in a model of L layers with H heads.

    weights [L,H,n,n]: what each token (row) attends to; strengths [1 or L,H,n,n]: of the mask on each pair of
    tokens, None in a model without masks; owners: the ideas that heads belong to, by layer and head from 0.
    """

    record: ParseRecord
    layout: Layout
    weights: Weights
    mask: Strengths | None
    strengths: Weights | None
    owners: dict[tuple[int, int], str]

    def head_name(self, layer: int, head: int) -> str:
        """Of a head in a layer, both counted from 0."""
        owner = self.owners.get((layer, head))
        return f"head {head + 1}" + (f" ({owner})" if owner else "")


@torch.inference_mode()
def read_sentence(folder: ModelFolder, line: Line) -> ReadSentence:
    """What the model makes of one line of text, parse record or mask record.

    Raises BadInput for a line without a sentence or without what the model needs, and for attention that is no
    number.
    """
    side = folder.config.side
    tokenizer, _ = folder.config.open_tokenizers()
    needs, language = side.needs(training=False), folder.config.source_language
    ((_, record),) = source_records([line], needs, tokenizer, language)
    if not record.tokens:
        raise line.error("no sentence")
    try:
        features = side.features(record, folder.bpe.segment)
    except ValueError as error:
        raise line.error(error) from None
    model = folder.load_model(torch.device("cpu"))
    mask = mask_strengths(model, str(folder.path))
    batch = Sources.encode([features], folder.vocabulary).batch([0], folder.vocabulary.padding, torch.device("cpu"))
    weights = torch.cat(model.source_attention(batch)).numpy()
    if not np.isfinite(weights).all():
        raise BadInput("the attention of some head is not a number", str(folder.path))
    layout = side.layout(record, folder.bpe.segment)
    strengths = mask.values[:, :, relation_matrix(layout.parents)] if mask else None
    return ReadSentence(record, layout, weights, mask, strengths, _owners(side, model, batch))


def _owners(side: SourceSide, model: TranslationModel, batch: SourceBatch) -> dict[tuple[int, int], str]:
    """A head that is replaced is the first of its layer; other heads that an idea takes are the last."""
    owners: dict[tuple[int, int], str] = {}
    for name, idea in side.ideas.items():
        for layer, count in idea.heads_taken().items():
            replaces = model.source_parts[name](batch).edits[layer - 1].replace is not None
            first = 0 if replaces else model.network.config.heads - count
            owners |= {(layer - 1, head): name for head in range(first, first + count)}
    return owners
