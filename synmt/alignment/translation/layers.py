"""Which decoder layers to read, without gold links: those on which the two directions agree.

Chen, Liu, Chen, Jiang & Liu (2020), "Accurate Word Alignment Induction from Neural Machine Translation", EMNLP: of
all layers of one model with all of the other, the two with the lowest alignment error rate of one's links against
the other's. Both sides of that being sure, it is 1 − 2|F∩B| / (|F| + |B|).
"""

from collections.abc import Sequence, Set
from dataclasses import replace
from itertools import islice, product

from synmt.alignment.extraction import directions
from synmt.alignment.translation.aligner import Direction, TranslationAligner
from synmt.alignment.translation.idea import LinkIdea
from synmt.text.links import Link
from synmt.training.bitext import Bitext

SAMPLE = 1000  # pairs, the size of the paper's validation sets


def agreeing_layers(idea: LinkIdea, forward: Direction, backward: Direction, bitext: Bitext) -> tuple[int, int]:
    """Return the layers of both models, from 1; the lower ones of those that agree equally well."""
    sample = list(islice(bitext, 0, None, max(1, len(bitext) // SAMPLE)))[:SAMPLE]
    links = []
    for layer in range(1, forward.folder.config.network.decoder_layers + 1):
        aligner = TranslationAligner("", idea, replace(forward, layer=layer), replace(backward, layer=layer))
        links.append([directions(soft) for soft in aligner.align(sample)])
    layers = range(len(links))
    scores = {
        (first, second): disagreement([f for f, _ in links[first]], [b for _, b in links[second]])
        for first, second in product(layers, layers)
    }
    of_forward, of_backward = min(scores, key=lambda both: scores[both])
    return of_forward + 1, of_backward + 1


def disagreement(forward: Sequence[Set[Link]], backward: Sequence[Set[Link]]) -> float:
    """Return the error rate of either against the other."""
    common = sum(len(f & b) for f, b in zip(forward, backward, strict=True))
    return 1 - 2 * common / max(1, sum(map(len, forward)) + sum(map(len, backward)))
