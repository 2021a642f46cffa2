"""The tiny corpus as pairs for models that read both sides."""

import torch

from synmt.alignment.corpus import AlignerCorpus, EncodedSide, subwords_of
from synmt.data.preparation import Frequencies
from synmt.model.source import SourceFeatures, source_side
from synmt.model.target import WORDS
from synmt.text.vocabulary import Vocabulary
from synmt.trees.record import ParseRecord
from tests import tiny

CPU = torch.device("cpu")


def sides(system: str) -> tuple[list[SourceFeatures], list[SourceFeatures]]:
    source, plain = source_side(tiny.SYSTEMS[system]), source_side({"sequence": {}})
    targets = [ParseRecord(tokens=words) for words in tiny.TARGETS]
    return (
        [source.features(record, tiny.segment) for record in tiny.records()],
        [plain.features(record, tiny.segment) for record in targets],
    )


def vocabulary_of(sentences: list[SourceFeatures]) -> Vocabulary:
    seen = Frequencies()
    for each in sentences:
        seen.count(each, subwords_of(each))
    return seen.vocabulary(WORDS)


def corpus_of(system: str = "sequence") -> AlignerCorpus:
    """Return four pairs, one of which has a single word on either side, for an encoder of the source."""
    read = sides(system)
    vocabularies = vocabulary_of(read[0]), vocabulary_of(read[1])
    source, target = (EncodedSide.encode(each, vocabulary) for each, vocabulary in zip(read, vocabularies, strict=True))
    return AlignerCorpus(vocabularies, source, target)
