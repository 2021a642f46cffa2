"""Forced decoding of the tiny corpus with a model for each direction."""

from collections.abc import Sequence

import torch

from synmt.alignment import ALIGNERS
from synmt.alignment.published.attention.method import AttentionMethod, Forced
from synmt.data.corpus import Corpus
from synmt.model.source import SourceFeatures, source_side
from synmt.model.target import target_side
from synmt.model.translation import TranslationModel
from synmt.nn.config import TransformerConfig
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary
from tests import tiny

METHODS = [name for name, method in ALIGNERS.items() if issubclass(method, AttentionMethod)]
PAIRS = [(record.tokens, target) for record, target in zip(tiny.records(), tiny.TARGETS, strict=True)]
WORDS = sorted({word for pair in PAIRS for side in pair for word in side})
VOCABULARY = Vocabulary([END_TOKEN, UNKNOWN_TOKEN, *WORDS], [])
Pair = tuple[list[str], list[str]]


def models(aligner: AttentionMethod, seed: int = 1) -> list[tuple[TranslationModel, torch.nn.Module | None]]:
    """Return a random model for each direction, with the aligner's module on top."""
    torch.manual_seed(seed)
    made = []
    for _ in range(2):
        model = TranslationModel(
            aligner.network(tiny.CONFIG), source_side({"sequence": {}}), target_side({"sequence": {}}), VOCABULARY
        )
        module = aligner.module(tiny.CONFIG) if aligner.has_module else None
        for each in (model, module or model):
            for name, parameter in each.named_parameters():
                if name.endswith("bias"):
                    torch.nn.init.normal_(parameter, std=0.7)
        made.append((model.eval(), module))
    return made


def force(
    aligner: AttentionMethod,
    made: Sequence[tuple[TranslationModel, torch.nn.Module | None]],
    pairs: Sequence[Pair] = PAIRS,
    layer: int = 0,
    config: TransformerConfig = tiny.CONFIG,
) -> tuple[Forced, Forced]:
    """Return the forced decoding of one batch of the pairs, source → target and target → source."""
    layer = layer or aligner.fixed_layer(config) or 1
    swapped = [(target, source) for source, target in pairs]
    both = []
    for (model, module), direction in zip(made, (pairs, swapped), strict=True):
        corpus = Corpus(VOCABULARY)
        for source, target in direction:
            corpus.append(SourceFeatures(source, len(source)), target)
        batch = corpus.batch(range(len(direction)), torch.device("cpu"))
        both.append(Forced(model, module, layer, *batch, model.encode(batch[0])))
    return both[0], both[1]
