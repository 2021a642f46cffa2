"""Which decoder layers to read, without gold links: those on which the two directions agree.

Chen, Liu, Chen, Jiang & Liu (2020), "Accurate Word Alignment Induction from Neural Machine Translation", EMNLP: of
all layers of one model with all of the other, the two with the lowest alignment error rate of one's links against
the other's. Both sides of that being sure, it is 1 − 2|F∩B| / (|F| + |B|).
"""

from collections.abc import Sequence, Set
from dataclasses import replace
from itertools import product

from synmt.alignment.aligner import Pair
from synmt.alignment.extraction import directions
from synmt.alignment.translation_models import Direction, TranslationAligner
from synmt.systems.linking import LinkIdea
from synmt.text.links import Link

SAMPLE = 1000  # pairs, the size of the paper's validation sets


def agreeing_layers(
    idea: LinkIdea, forward: Direction, backward: Direction, pairs: Sequence[Pair]
) -> tuple[int, int]:
    """The layers of both models, from 1; the lower ones of those that agree equally well."""
    sample = pairs[:: max(1, len(pairs) // SAMPLE)][:SAMPLE]
    links = []
    for layer in range(1, forward.folder.config.network.decoder_layers + 1):
        aligner = TranslationAligner("", idea, replace(forward, layer=layer), replace(backward, layer=layer))
        links.append([directions(found) for found in aligner.align(sample)])
    layers = range(len(links))
    scores = {
        (one, other): disagreement([f for f, _ in links[one]], [b for _, b in links[other]])
        for one, other in product(layers, layers)
    }
    one, other = min(scores, key=lambda both: scores[both])
    return one + 1, other + 1


def disagreement(forward: Sequence[Set[Link]], backward: Sequence[Set[Link]]) -> float:
    """The error rate of either against the other."""
    common = sum(len(f & b) for f, b in zip(forward, backward, strict=True))
    return 1 - 2 * common / max(1, sum(map(len, forward)) + sum(map(len, backward)))
